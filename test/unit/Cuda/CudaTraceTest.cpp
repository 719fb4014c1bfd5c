//===- CudaTraceTest.cpp - traces of the calls of steps -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The calls of a step are those of the schedule; nothing in them races; after the first step nothing is allocated and
// no host waits.
//
//===----------------------------------------------------------------------===//

#include "HappensBefore.h"
#include "StubPackages.h"
#include <set>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

namespace {

class CudaTrace : public testing::TestWithParam<NamedPackage> {
protected:
  void start(StubMode mode) {
    ASSERT_TRUE(writePackage(GetParam().make(), folder / "p"));
    package.emplace(std::move(*LoadedPackage::open(folder / "p")));
    stub.record();
    auto created = Session::create(*package, makeStubOptions(mode));
    ASSERT_TRUE(created.ok()) << created.status().message();
    session = std::move(*created);
    handles = findHandles(stub.getTrace(), *package);
    fillWithNumbers(*session, 2);
  }

  Trace step() {
    stub.record();
    Status status = session->step();
    EXPECT_TRUE(status.ok()) << status.message();
    return stub.getTrace();
  }

  Stub stub;
  TempFolder folder;
  std::optional<LoadedPackage> package;
  std::unique_ptr<Session> session;
  std::vector<RankHandles> handles;
};

void expectEqual(const std::vector<ExpectedCall> &actual, const std::vector<ExpectedCall> &expected) {
  for (size_t i = 0; i != std::min(actual.size(), expected.size()); ++i)
    ASSERT_EQ(describe(actual[i]), describe(expected[i])) << "call " << i;
  EXPECT_EQ(actual.size(), expected.size());
}

} // namespace

TEST_P(CudaTrace, IsTheSchedule) {
  start(StubMode::Issued);
  for (uint32_t stepNumber = 0; stepNumber != 2 * package->getAccumulationSteps(); ++stepNumber) {
    Trace trace = step();
    for (size_t rank = 0; rank != handles.size(); ++rank) {
      SCOPED_TRACE(fmt::format("step {}, rank {}", stepNumber, rank));
      expectEqual(readCalls(trace, handles[rank]).calls,
                  expectCalls(*package, static_cast<int64_t>(rank), stepNumber % package->getAccumulationSteps()));
    }
  }
}

TEST_P(CudaTrace, IsRecordedAsTheSchedule) {
  start(StubMode::Recorded);
  // Issued once and recorded once; from then on replayed.
  Trace first = step();
  for (size_t rank = 0; rank != handles.size(); ++rank) {
    std::vector<ExpectedCall> once = expectCalls(*package, static_cast<int64_t>(rank), 0), twice = once;
    for (ExpectedCall call : once) {
      call.record += once.size();
      if (call.kind != ExpectedCall::Wait)
        call.record = 0;
      twice.push_back(call);
    }
    expectEqual(readCalls(first, handles[rank]).calls, twice);
  }
  for (uint32_t position = 1; position != package->getAccumulationSteps(); ++position)
    step();
  Trace again = step();
  for (size_t rank = 0; rank != handles.size(); ++rank)
    EXPECT_TRUE(readCalls(again, handles[rank]).calls.empty());
  size_t launches = 0;
  for (const RecordedCall &call : again)
    launches += call.function == "cuGraphLaunch";
  EXPECT_EQ(launches, handles.size());
}

TEST_P(CudaTrace, HasNoRaces) {
  ASSERT_TRUE(writePackage(GetParam().make(), folder / "p"));
  package.emplace(std::move(*LoadedPackage::open(folder / "p")));
  for (int64_t rank = 0; rank != package->getMesh().getNumRanks(); ++rank) {
    // The calls of two rounds of an accumulation, which are those of the trace.
    std::vector<ExpectedCall> calls;
    for (uint32_t i = 0; i != 2 * package->getAccumulationSteps(); ++i) {
      size_t begin = calls.size();
      for (ExpectedCall &call : expectCalls(*package, rank, i % package->getAccumulationSteps())) {
        call.record += begin;
        calls.push_back(std::move(call));
      }
    }
    for (auto [first, second] : findRaces(calls))
      ADD_FAILURE() << "rank " << rank << ": " << describe(calls[first]) << " races " << describe(calls[second]);
  }
}

TEST_P(CudaTrace, MakesNothingAndWaitsForNothingAfterTheFirstSteps) {
  const std::set<std::string> allowed = {"cuCtxSetCurrent",  "cuGraphLaunch",  "cuMemcpyHtoDAsync", "cuEventRecord",
                                         "cuLaunchKernel",   "cublasLtMatmul", "cuStreamWaitEvent", "cuMemcpyAsync",
                                         "cuMemsetD32Async", "ncclGroupStart", "ncclGroupEnd",      "ncclAllReduce",
                                         "ncclBroadcast",    "ncclReduce",     "ncclSend",          "ncclRecv"};
  for (StubMode mode : {StubMode::Issued, StubMode::Recorded}) {
    start(mode);
    for (uint32_t position = 0; position != package->getAccumulationSteps(); ++position)
      step();
    for (int more = 0; more != 3; ++more)
      for (const RecordedCall &call : step())
        EXPECT_TRUE(allowed.contains(call.function)) << call.function;
    session.reset();
    EXPECT_EQ(stub.countLive(), 0u);
  }
}

TEST_P(CudaTrace, AllMemoryIsCounted) {
  start(StubMode::Issued);
  std::vector<uint64_t> bytes(handles.size());
  for (const RecordedCall &call : stub.getTrace())
    if (call.function == "cuMemAlloc")
      bytes[call.get("device")] += call.get("bytes");
  for (size_t rank = 0; rank != handles.size(); ++rank) {
    const RankMemory &memory = session->getMemory(static_cast<int64_t>(rank));
    EXPECT_EQ(memory.arena + memory.scratch, bytes[rank]);
    EXPECT_GE(memory.scratch, countScratchBytes(*package, static_cast<int64_t>(rank)));
  }
}

INSTANTIATE_TEST_SUITE_P(Packages, CudaTrace, testing::ValuesIn(getStubPackages()),
                         [](const auto &info) { return info.param.name; });

/// Without any one of its waits a step races with itself or one of its neighbours: the check finds what it is for.
TEST(CudaRaces, AreFoundWithoutAWait) {
  TempFolder folder;
  ASSERT_TRUE(writePackage(makeOffloadPackage(), folder / "p"));
  LoadedPackage package = std::move(*LoadedPackage::open(folder / "p"));
  std::vector<ExpectedCall> calls = expectCalls(package, 0, 0);
  const size_t size = calls.size();
  for (size_t i = 0; i != 2 * size; ++i) {
    calls.push_back(calls[i]);
    calls.back().record += size;
  }
  ASSERT_TRUE(findRaces(calls).empty());
  size_t waits = 0;
  for (size_t i = size; i != 2 * size; ++i) {
    if (calls[i].kind != ExpectedCall::Wait)
      continue;
    ++waits;
    std::vector<ExpectedCall> without = calls;
    without[i].kind = ExpectedCall::Record;
    EXPECT_FALSE(findRaces(without).empty()) << describe(calls[i]);
  }
  EXPECT_EQ(waits, 4u);
}

/// The partial sums of a kernel in scratch memory belong to one stream: a launch of the final sum on another stream is
/// a race, even if no other access conflicts.
TEST(CudaRaces, AreFoundInScratchMemory) {
  TempFolder folder;
  ASSERT_TRUE(writePackage(makePackage(), folder / "p"));
  LoadedPackage package = std::move(*LoadedPackage::open(folder / "p"));
  std::vector<ExpectedCall> calls;
  for (ExpectedCall &call : expectCalls(package, 0, 0)) {
    std::erase_if(call.accesses, [](const MemoryAccess &access) { return access.place != MemoryAccess::Scratch; });
    if (call.kind == ExpectedCall::Work && !call.accesses.empty())
      calls.push_back(std::move(call));
  }
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_TRUE(findRaces(calls).empty());
  for (ExpectedCall &call : calls) {
    call.stream = Communication;
    EXPECT_FALSE(findRaces(calls).empty()) << describe(call);
    call.stream = Compute;
  }
}
