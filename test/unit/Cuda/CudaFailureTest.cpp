//===- CudaFailureTest.cpp - every call fails once ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call that fails ends the run with an error that names it and, in a step, the rank and what the rank was doing;
// the other ranks are released, and nothing that was made is left.
//
//===----------------------------------------------------------------------===//

#include "StubPackages.h"
#include "StubRun.h"
#include <set>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

/// A short life of a session; the first error in it.
static Status live(const LoadedPackage &package, StubMode mode) {
  MW_TRY_ASSIGN(std::unique_ptr<Session> session, Session::create(package, makeStubOptions(mode)));
  MW_TRY(session->prepareReadings(listValues(package)));
  fillWithNumbers(*session, 3);
  for (int step = 0; step != 3; ++step) {
    MW_TRY(session->step());
    if (step != 0)
      MW_TRY(session->readStep().status());
  }
  MW_TRY(session->readStep().status());
  MW_TRY(session->synchronize());
  for (const ValueSet *set : {&session->getVariables(), &session->getOutputs()})
    for (size_t i = 0; i != set->size(); ++i) {
      std::vector<std::byte> value(set->getBytes(i));
      MW_TRY(session->gather(*set, i, value));
    }
  return {};
}

/// True for functions of the cleanup, whose errors cannot be reported.
static bool isOfTheEnd(const std::string &function) {
  for (const char *word : {"Destroy", "Free", "Release", "Unload", "Finalize", "Abort"})
    if (function.find(word) != std::string::npos)
      return true;
  // Before what it used is freed; nothing else waits for a whole stream here.
  return function == "cuStreamSynchronize";
}

/// The functions that a step calls, whose errors say what the rank was doing.
static bool isOfTheStep(const std::string &function) {
  const std::set<std::string> functions = {"cuLaunchKernel", "cublasLtMatmul", "cuStreamWaitEvent", "cuMemcpyAsync",
                                           "ncclGroupStart", "ncclGroupEnd",   "ncclAllReduce",     "ncclBroadcast",
                                           "ncclReduce",     "ncclSend",       "ncclRecv"};
  return functions.contains(function);
}

class CudaFailure : public testing::TestWithParam<NamedPackage> {};

TEST_P(CudaFailure, IsReportedAndLeavesNothing) {
  Stub stub;
  TempFolder folder;
  ASSERT_TRUE(writePackage(GetParam().make(), folder / "p"));
  LoadedPackage package = std::move(*LoadedPackage::open(folder / "p"));
  for (StubMode mode : {StubMode::Issued, StubMode::Recorded, StubMode::OneGpu}) {
    stub.record();
    Status good = live(package, mode);
    ASSERT_TRUE(good.ok()) << good.message();
    std::map<std::string, uint64_t> counts;
    for (const RecordedCall &call : stub.getTrace())
      ++counts[call.function];
    for (auto [function, count] : counts) {
      if (isOfTheEnd(function))
        continue;
      // The number of queries for completion differs from run to run.
      bool isLook = function == "cuStreamQuery" || function == "cuEventQuery";
      for (uint64_t call : std::set<uint64_t>{1, isLook ? 1 : count / 2 + 1}) {
        SCOPED_TRACE(fmt::format("{} of {} calls of {}, {}", call, count, function, getName(mode)));
        stub.fail(function, call);
        Status status = live(package, mode);
        EXPECT_FALSE(status.ok());
        EXPECT_EQ(status.code(), Code::Fault);
        EXPECT_NE(status.message().find(function + " fails with "), std::string::npos) << status.message();
        if (isOfTheStep(function)) {
          EXPECT_TRUE(status.message().starts_with("rank ")) << status.message();
          EXPECT_TRUE(status.message().find("hand.mlir:") != std::string::npos ||
                      status.message().find("reads of the step") != std::string::npos)
              << status.message();
        }
        EXPECT_EQ(stub.countLive(), 0u);
      }
    }
    stub.failNothing();
  }
}

INSTANTIATE_TEST_SUITE_P(Packages, CudaFailure, testing::ValuesIn(getStubPackages()),
                         [](const auto &info) { return info.param.name; });
