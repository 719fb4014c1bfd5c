//===- GpuKernelsTest.cpp - kernels of an emulated GPU --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels of random networks are compiled for the CPU and for an emulated GPU and run on the same memory.
// MESHWRIGHT_TEST_SEED says which networks, MESHWRIGHT_TEST_CASES how many, MESHWRIGHT_TEST_FIRST from which on.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Emit/Emit.h"
#include "meshwright/Rules/Rules.h"
#include "meshwright/Schedule/Passes.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "test/lib/EmulatedGpu/KernelComparison.h"
#include "test/unit/Partition/RandomNetwork.h"
#include "test/unit/Runtime/TempFolder.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::test;

namespace {

int64_t readNumber(const char *name, int64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

class GpuKernels : public ::testing::Test {
protected:
  GpuKernels() {
    DialectRegistry registry;
    registry.insert<func::FuncDialect, dist::DistDialect, net::NetDialect>();
    emit::registerKernelDialects(registry);
    registerNetCosts(registry);
    registerNetKernels(registry);
    registerNetSharding(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    // A thread that does all the work is expected here.
    context.getDiagEngine().registerHandler(
        [](Diagnostic &diagnostic) { return success(diagnostic.getSeverity() == DiagnosticSeverity::Warning); });
  }

  /// Schedules `module` and compares its kernels.
  void check(ModuleOp module, uint64_t seed) {
    PassManager manager(&context);
    schedule::buildPipeline(manager);
    ASSERT_TRUE(succeeded(manager.run(module)));
    TempFolder folder;
    KernelComparison comparison(module, folder / ".");
    for (const std::string &problem : comparison.run(seed))
      ADD_FAILURE() << problem;
    numCompared += comparison.numCompared;
    numExact += comparison.numExact;
    for (const auto &[mapping, number] : comparison.mappings)
      mappings[mapping] += number;
  }

  void check(StringRef text) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    check(*module, /*seed=*/1);
  }

  MLIRContext context;
  int64_t numCompared = 0, numExact = 0;
  std::map<std::string, int64_t> mappings;
};

} // namespace

TEST_F(GpuKernels, DoWhatTheCpuDoes) {
  constexpr int64_t kCases = 60;
  int64_t first = readNumber("MESHWRIGHT_TEST_FIRST", 0), cases = readNumber("MESHWRIGHT_TEST_CASES", kCases);
  const std::vector<Type> reals{Float64Type::get(&context), Float32Type::get(&context), BFloat16Type::get(&context)};
  for (int64_t round = first; round < first + cases; ++round) {
    Random random(70000 + round);
    SCOPED_TRACE(random.describe(round));
    OwningOpRef<ModuleOp> network = RandomNetwork(random, context, random.choose(reals)).build(random.pick(3, 14));
    ASSERT_NO_FATAL_FAILURE(check(*network, round));
  }
  llvm::outs() << numCompared << " kernels, " << numExact << " bit by bit";
  for (const auto &[mapping, number] : mappings)
    llvm::outs() << ", " << number << " " << mapping;
  llvm::outs() << "\n";
  if (cases < kCases)
    return;
  for (const char *mapping : {"elements", "rows", "sums", "copy", "scatter", "serial"})
    EXPECT_GT(mappings[mapping], 0) << mapping << " does not occur";
  EXPECT_GE(numExact * 2, numCompared);
}
