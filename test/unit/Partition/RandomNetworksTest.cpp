//===- RandomNetworksTest.cpp - distributed equals serial -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random small networks in random placements: partitioned, run on all ranks, and compared with the serial network; then
// optimized, and compared again; then with collectives on contiguous memory, and compared again.
// Then the same with special values in inputs and variables: NaN, infinities, zeros of both signs, denormals.
// MESHWRIGHT_TEST_CASES says how many (800 and 300 if it is not set), MESHWRIGHT_TEST_SEED from where,
// MESHWRIGHT_TEST_FIRST from which round on.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "meshwright/Optimize/Passes.h"
#include "meshwright/Partition/Passes.h"
#include "meshwright/Schedule/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "test/unit/Partition/CompareSteps.h"
#include "test/unit/Partition/RandomAnnotation.h"
#include "test/unit/Partition/RandomNetwork.h"
#include "test/unit/Partition/RandomPlacement.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::test;

static int64_t readNumber(const char *name, int64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

namespace {

class RandomNetworks : public StepsTest {
protected:
  void check(Random &random, bool special = false);

  Coverage coverage;
};

void RandomNetworks::check(Random &random, bool special) {
  Mesh mesh = makeMesh(random, 3, 8);
  OwningOpRef<ModuleOp> serial =
      RandomNetwork(random, context, {}, special).build(random.pick(3, 14), /*withLoops=*/true);
  ASSERT_TRUE(succeeded(verify(*serial))) << print(*serial);
  OwningOpRef<ModuleOp> module = serial->clone();
  RandomAnnotation annotation(random, mesh, coverage, /*withHolders=*/random.chance(50));
  annotation.annotate(*module);
  ++coverage.cases;
  coverage.unevenCases += annotation.isUneven();
  std::string annotated = print(*module);
  PassManager manager(&context);
  partition::buildPipeline(manager);
  ASSERT_TRUE(succeeded(manager.run(*module))) << annotated;
  module->walk([&](Operation *op) {
    if (isa<ConversionOpInterface, MaskOp>(op))
      ++coverage.conversions[op->getName().getStringRef().str()];
  });
  Random inputs = random;
  compareSteps(inputs, *serial, *module, special);
  // After Optimize, and with collectives on contiguous memory as Schedule makes them.
  for (auto build : {+[](OpPassManager &manager) { optimize::buildPipeline(manager); },
                     +[](OpPassManager &manager) { manager.addPass(schedule::createLowerConversionsPass()); }}) {
    PassManager next(&context);
    build(next);
    std::string before = print(*module);
    ASSERT_TRUE(succeeded(next.run(*module))) << before;
    Random same = random;
    if (!HasFatalFailure())
      compareSteps(same, *serial, *module, special);
  }
  if (HasFatalFailure())
    ADD_FAILURE() << "with the placements\n" << annotated;
}

TEST_F(RandomNetworks, distributedEqualsSerial) {
  const char *cases = std::getenv("MESHWRIGHT_TEST_CASES");
  int64_t rounds = cases ? std::atoll(cases) : 500;
  // Rounds are added until the floor is reached, within limits: other seeds take a little longer.
  for (int64_t round = 0; round < rounds || (round < 4 * rounds && !coverage.findMissing().empty()); ++round) {
    // A network of its own for every round, so that one can be repeated alone.
    Random random(1000 + round);
    SCOPED_TRACE(random.describe(round));
    check(random);
    if (HasFatalFailure())
      return;
  }
  llvm::outs() << StringRef(Random().describe(0)).split(',').first << "\n";
  std::string table = coverage.print();
  llvm::outs() << table;
  // The floor: every factor that can be split has been, in equal and in unequal parts, and every operation and every
  // conversion occurred.
  for (const std::string &name : coverage.findMissing())
    ADD_FAILURE() << name << " was never split, in equal and in unequal parts";
  for (RegisteredOperationName name : context.getRegisteredOperations()) {
    // Variables have no factors, what is handed on follows what is carried, and a network without times accumulates
    // nothing. Functions that end at a point, or jump, would make much of how sums are rounded: they are split alone,
    // in OperationSplitsTest.
    bool isSplit = name.hasInterface<ShardingOpInterface>() &&
                   !llvm::is_contained({"net.read", "net.assign", "net.next", "dist.accumulate", "net.acos",
                                        "net.acosh", "net.asin", "net.atanh", "net.digamma", "net.reduce_precision"},
                                       name.getStringRef());
    auto first = coverage.factors.lower_bound(name.getStringRef().str() + ":");
    if (isSplit)
      EXPECT_TRUE(first != coverage.factors.end() &&
                  StringRef(first->first).starts_with(name.getStringRef().str() + ":"))
          << name.getStringRef().str() << " does not occur";
  }
  for (const char *name :
       {"dist.c_allreduce", "dist.c_reducescatter", "dist.c_allgather", "dist.c_alltoall", "dist.c_broadcast",
        "dist.c_reduce", "dist.c_send", "dist.shard", "dist.to_partial", "dist.mask"})
    EXPECT_GT(coverage.conversions[name], 0) << name;
  EXPECT_GE(coverage.unevenCases * 5, coverage.cases);
  EXPECT_GE(coverage.held, coverage.cases / 2);
}

TEST_F(RandomNetworks, distributedEqualsSerialOnSpecialValues) {
  int64_t first = readNumber("MESHWRIGHT_TEST_FIRST", 0), rounds = readNumber("MESHWRIGHT_TEST_CASES", 300);
  for (int64_t round = first; round < first + rounds; ++round) {
    Random random(7000000 + round);
    SCOPED_TRACE(random.describe(round));
    check(random, /*special=*/true);
    if (HasFatalFailure())
      return;
  }
}

} // namespace
