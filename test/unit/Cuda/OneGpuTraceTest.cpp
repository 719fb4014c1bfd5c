//===- OneGpuTraceTest.cpp - races of ranks on one GPU --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HappensBefore.h"
#include "SharedGpuTrace.h"
#include "StubPackages.h"
#include <set>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

namespace {

class OneGpuRaces : public testing::Test {
protected:
  void start(const Package &message) {
    ASSERT_TRUE(writePackage(message, folder / "p"));
    package.emplace(std::move(*LoadedPackage::open(folder / "p")));
    stub.record();
    auto created = Session::create(*package, makeStubOptions(StubMode::OneGpu));
    ASSERT_TRUE(created.ok()) << created.status().message();
    session = std::move(*created);
    ranks = findSharedHandles(stub.getTrace(), *package);
    fillWithNumbers(*session, 2);
  }

  /// The calls of some steps, one after the other.
  std::vector<ExpectedCall> run(uint32_t steps) {
    std::vector<ExpectedCall> calls;
    for (uint32_t step = 0; step != steps; ++step) {
      stub.record();
      Status status = session->step();
      EXPECT_TRUE(status.ok()) << status.message();
      size_t begin = calls.size();
      for (ExpectedCall &call :
           readSharedCalls(stub.getTrace(), ranks, *package, step % package->getAccumulationSteps())) {
        call.record += begin;
        calls.push_back(std::move(call));
      }
    }
    return calls;
  }

  Stub stub;
  TempFolder folder;
  std::optional<LoadedPackage> package;
  std::unique_ptr<Session> session;
  std::vector<RankHandles> ranks;
};

class OneGpuTrace : public OneGpuRaces, public testing::WithParamInterface<NamedPackage> {};

} // namespace

TEST_P(OneGpuTrace, HasNoRaces) {
  start(GetParam().make());
  std::vector<ExpectedCall> calls = run(2 * package->getAccumulationSteps());
  for (auto [first, second] : findRaces(calls))
    ADD_FAILURE() << "#" << first << " " << describe(calls[first]) << " races #" << second << " "
                  << describe(calls[second]);
}

TEST_P(OneGpuTrace, MakesNothingAndWaitsForNothing) {
  const std::set<std::string> allowed = {"cuCtxSetCurrent",  "cuEventRecord",    "cuLaunchKernel",
                                         "cublasLtMatmul",   "cuMemcpyAsync",    "cuStreamWaitEvent",
                                         "cuMemsetD32Async", "cuMemcpyHtoDAsync"};
  start(GetParam().make());
  // The values that it begins with go to the device with the first step.
  ASSERT_TRUE(session->step().ok());
  for (int step = 0; step != 3; ++step) {
    stub.record();
    ASSERT_TRUE(session->step().ok());
    for (const RecordedCall &call : stub.getTrace())
      EXPECT_TRUE(allowed.contains(call.function)) << call.function;
  }
  session.reset();
  EXPECT_EQ(stub.countLive(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Packages, OneGpuTrace, testing::ValuesIn(getStubPackages()),
                         [](const auto &info) { return info.param.name; });

/// True if a rank's stream for collectives accesses `memory` in the operations after call `i`, up to the next record,
/// or before it (`direction` is -1), back to the previous wait or record.
static bool touches(const std::vector<ExpectedCall> &calls, size_t i, int direction,
                    std::pair<uint64_t, uint64_t> memory) {
  for (size_t at = i + direction; at < calls.size(); at += direction) {
    if (calls[at].stream != calls[i].stream)
      continue;
    if (calls[at].kind != ExpectedCall::Work && direction < 0)
      return false;
    if (calls[at].kind == ExpectedCall::Record)
      return false;
    for (const MemoryAccess &access : calls[at].accesses)
      if (access.begin < memory.second && memory.first < access.end)
        return true;
  }
  return false;
}

/// A rank waits for another one before it touches that one's memory, and after that one has touched its own. Without
/// such a wait there is a race, but for the few where another wait orders the two
/// already.
TEST_F(OneGpuRaces, AreFoundWithoutAWait) {
  start(makePackage(Fault::None, Style::Overlapped));
  std::vector<ExpectedCall> calls = run(3);
  ASSERT_TRUE(findRaces(calls).empty());
  auto getMemory = [&](size_t rank) {
    int program = static_cast<int>(package->message().program_of_rank(static_cast<int>(rank)));
    return std::pair(ranks[rank].arena, ranks[rank].arena + package->message().programs(program).arena_bytes());
  };
  size_t waits = 0, found = 0;
  std::set<size_t> ranksBefore, ranksBehind;
  for (size_t i = calls.size() / 3; i != 2 * calls.size() / 3; ++i) {
    size_t rank = calls[i].stream / NumStreams, other = calls[calls[i].record].stream / NumStreams;
    if (calls[i].kind != ExpectedCall::Wait || rank == other)
      continue;
    bool isBefore = touches(calls, i, 1, getMemory(other));
    bool isBehind = touches(calls, calls[i].record, -1, getMemory(rank));
    if (!isBefore && !isBehind)
      continue;
    std::vector<ExpectedCall> without = calls;
    without[i].kind = ExpectedCall::Record;
    ++waits;
    if (findRaces(without).empty())
      continue;
    ++found;
    (isBefore ? ranksBefore : ranksBehind).insert(rank);
  }
  EXPECT_GT(4 * found, 3 * waits);
  // The works of small sums are those of the first member of a group alone.
  EXPECT_FALSE(ranksBefore.empty());
  EXPECT_FALSE(ranksBehind.empty());
}
