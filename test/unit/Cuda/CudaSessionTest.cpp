//===- CudaSessionTest.cpp - steps on GPUs and on the CPU -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sessions on the stub do what sessions on the CPU do: of small numbers every order of a sum gives the same bits.
//
//===----------------------------------------------------------------------===//

#include "StubPackages.h"
#include "StubRun.h"

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

/// The variables and outputs after each of several steps.
static std::vector<std::vector<std::byte>> runSteps(const LoadedPackage &package, const SessionOptions &options) {
  std::vector<std::vector<std::byte>> results;
  auto session = Session::create(package, options);
  EXPECT_TRUE(session.ok()) << session.status().message();
  if (!session.ok())
    return results;
  fillWithNumbers(**session, 1);
  for (int step = 0; step != 7; ++step) {
    Status status = (*session)->step();
    EXPECT_TRUE(status.ok()) << status.message();
    results.push_back(readEverything(**session));
  }
  return results;
}

class CudaSession : public testing::TestWithParam<NamedPackage> {};

TEST_P(CudaSession, HasTheBitsOfTheCpu) {
  Stub stub;
  TempFolder folder;
  ASSERT_TRUE(writePackage(GetParam().make(), folder / "p"));
  auto package = LoadedPackage::open(folder / "p");
  ASSERT_TRUE(package.ok()) << package.status().message();
  std::vector<std::vector<std::byte>> expected = runSteps(*package, {});
  for (StubMode mode : {StubMode::Issued, StubMode::Recorded, StubMode::OneGpu}) {
    SCOPED_TRACE(getName(mode));
    EXPECT_EQ(runSteps(*package, makeStubOptions(mode)), expected);
  }
  EXPECT_EQ(stub.countLive(), 0u);
}

/// The calls that make communicators, when a session on the stub is created.
static Trace recordGroups(const meshwright::Package &message) {
  Stub stub;
  TempFolder folder;
  EXPECT_TRUE(writePackage(message, folder / "p"));
  auto package = LoadedPackage::open(folder / "p");
  EXPECT_TRUE(package.ok()) << package.status().message();
  stub.record();
  EXPECT_TRUE(Session::create(*package, makeStubOptions(StubMode::Issued)).ok());
  Trace calls = stub.getTrace();
  std::erase_if(calls, [](const RecordedCall &call) { return call.function != "ncclCommInitRankConfig"; });
  return calls;
}

TEST(CudaGroups, SendsInBothDirectionsHaveOne) {
  schedule::OrderShape shape;
  shape.ranks = 3;
  shape.microBatches = 4;
  Trace calls = recordGroups(makePipelinePackage(getOrder(schedule::OrderKind::OneForwardOneBackward, shape)));
  // Two pairs of stages, each seen by two ranks.
  ASSERT_EQ(calls.size(), 4u);
  for (const RecordedCall &call : calls)
    EXPECT_EQ(call.get("size"), 2u);
}

TEST(CudaGroups, AreMadeInRounds) {
  // Two axes of two: each of the four ranks has a group along each, and one of all.
  for (int attempt = 0; attempt != 10; ++attempt) {
    Trace calls = recordGroups(makePackage());
    std::map<uint64_t, uint64_t> madeByThread;
    uint64_t begun = 0;
    for (const RecordedCall &call : calls) {
      uint64_t round = ++madeByThread[call.thread];
      EXPECT_GE(round, begun) << "a rank begins with a group when another has begun with one of the next round";
      begun = std::max(begun, round);
    }
    EXPECT_EQ(madeByThread.size(), 4u);
    EXPECT_EQ(calls.size() % 4, 0u) << calls.size();
    EXPECT_GT(begun, 1u);
  }
}

INSTANTIATE_TEST_SUITE_P(Packages, CudaSession, testing::ValuesIn(getStubPackages()),
                         [](const auto &info) { return info.param.name; });
