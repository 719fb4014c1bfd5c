//===- RandomSlicesTest.cpp - slices of a batch equal the whole -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random small networks, one or two inputs of which are cut in slices and split over ranks. What completion accepts is
// partitioned, run on all ranks slice by slice, and compared with the serial network on the whole batch; what it does
// not accept has to be refused with a message. MESHWRIGHT_TEST_CASES says how many (600 if it is not set).
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Conversions.h"
#include "dialects/Dist/Placement.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/Partition/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "test/unit/Partition/CompareSteps.h"
#include "test/unit/Partition/RandomBatch.h"
#include "test/unit/Partition/RandomNetwork.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::test;

namespace {

class RandomSlices : public StepsTest {
protected:
  bool cut(Random &random, ModuleOp module);
  void count(ModuleOp module);
  void check(Random &random);

  int64_t compared = 0, refused = 0, accumulated = 0, collected = 0, early = 0;
};

/// Gives the module a mesh with slices and cuts dimensions of its inputs that divide; false if there is none.
bool RandomSlices::cut(Random &random, ModuleOp module) {
  OpBuilder builder(module.getBodyRegion());
  Mesh mesh({"dp", "micro"}, {random.pick(1, 2), random.pick(2, 4)}, {AxisKind::Ranks, AxisKind::Slices});
  auto op = MeshOp::create(builder, module.getLoc(), "mesh", mesh);
  kDataAxesAttr.set(op, builder.getStrArrayAttr({"dp"}));
  return cutInputs(random, module, mesh, {0, 1});
}

void RandomSlices::count(ModuleOp module) {
  int64_t sums = 0, whole = 0, sliced = 0;
  module.walk([&](dist::AccumulateOp op) {
    // A slice in its place among zeros.
    auto reshape = op.getAddend().getDefiningOp<net::ReshapeOp>();
    (reshape && reshape.getOperand().getDefiningOp<net::SelectOp>() ? whole : sums) += 1;
  });
  module.walk(
      [&](ShardOp op) { sliced += !op.getInput().getDefiningOp<net::ConstantOp>() && op.getInput().getDefiningOp(); });
  accumulated += sums;
  collected += whole;
  early += sliced;
}

void RandomSlices::check(Random &random) {
  OwningOpRef<ModuleOp> serial = RandomNetwork(random, context).build(random.pick(2, 10));
  if (random.chance(80))
    addGain(*serial);
  addSums(random, *serial);
  OwningOpRef<ModuleOp> module = serial->clone();
  if (!cut(random, *module))
    return;
  if (!complete(*module)) {
    ++refused;
    return;
  }
  std::string completed = print(*module);
  PassManager manager(&context);
  partition::LocalizeShapesPassOptions options;
  options.scatterSlices = random.chance(30);
  partition::buildPipeline(manager, options);
  ASSERT_TRUE(succeeded(manager.run(*module))) << completed;
  count(*module);
  ++compared;
  compareSteps(random, *serial, *module);
  if (HasFatalFailure())
    ADD_FAILURE() << "with the placements\n" << completed;
}

TEST_F(RandomSlices, equalTheWholeBatch) {
  const char *cases = std::getenv("MESHWRIGHT_TEST_CASES");
  int64_t rounds = cases ? std::atoll(cases) : 600;
  for (int64_t round = 0; round < rounds; ++round) {
    Random random(7000 + round);
    SCOPED_TRACE(random.describe(round));
    check(random);
    if (HasFailure())
      return;
  }
  llvm::outs() << compared << " compared, " << refused << " refused; " << accumulated << " sums over slices, "
               << collected << " values put together, " << early << " computed of the whole batch and read in slices\n";
  EXPECT_GE(compared * 5, rounds);
  EXPECT_GE(accumulated * 10, rounds);
  EXPECT_GE(collected * 5, rounds);
  EXPECT_GE(early * 10, rounds);
  EXPECT_GE(refused * 20, rounds);
}

} // namespace
