//===- CheckReproducible.cpp - checks of reproducible ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Refuses what would add in another order than the serial program: axes whose sizes do not divide the number of parts,
// and features whose sums have no tree yet. What the graph decides is checked by the sharding rules.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Strategy/Strategy.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::strategy;

LogicalResult StrategyFile::checkReproducible(MLIRContext *context) const {
  if (!strategy.has_reproducible())
    return success();
  int64_t parts = strategy.reproducible().parts();
  Location loc = getLoc(context, "reproducible.parts");
  if (parts < 2 || parts > 1024 || !llvm::isPowerOf2_64(parts))
    return emitError(loc) << "reproducible.parts is " << parts << "; it is a power of two from 2 to 1024";
  dist::Mesh mesh = getMesh();
  int64_t pieces = 1;
  for (const std::string &axis : strategy.data().axes())
    pieces *= mesh.getSize(*mesh.find(axis));
  if (parts % pieces != 0)
    return emitError(loc) << "the batch is split among " << pieces << " ranks, which do not divide the " << parts
                          << " parts of reproducible";
  using strategy::GradientAccumulation;
  if (getSlices() > 1 && strategy.train().gradient_accumulation().reduce() == GradientAccumulation::EVERY_STEP)
    return emitError(getLoc(context, "train.gradient_accumulation.reduce"))
           << "train.gradient_accumulation.reduce is EVERY_STEP, which adds the sums of ranks before those of their "
              "slices; reproducible adds slices first, so it needs AT_UPDATE";
  // The slices of a rank are next to each other in the tree, nearer to its leaves than ranks.
  if (int64_t slices = getSlices(); slices > 0 && parts / pieces % slices != 0)
    return emitError(getLoc(context,
                            strategy.has_pipeline() ? "pipeline.micro_batches" : "train.gradient_accumulation.slices"))
           << "the batch of a rank is split into " << slices << (strategy.has_pipeline() ? " micro-batches" : " slices")
           << ", which do not divide its " << parts / pieces << " parts of reproducible";
  return success();
}
