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

/// What variables and outputs are after each of some steps.
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

INSTANTIATE_TEST_SUITE_P(Packages, CudaSession, testing::ValuesIn(getStubPackages()),
                         [](const auto &info) { return info.param.name; });
