//===- Origin.cpp - lets created operations inherit stage, role, reason ---===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Partition/Origin.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Net/Net.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::partition;

/// The operation whose result `reshard` converts, looking through earlier conversions; null for an argument.
static Operation *getMaker(ReshardOp reshard) {
  Operation *maker = reshard.getInput().getDefiningOp();
  while (auto before = dyn_cast_or_null<ReshardOp>(maker))
    maker = before.getInput().getDefiningOp();
  return maker;
}

void partition::inheritOrigin(Operation *made, const ReshardStep &step, ReshardOp reshard,
                              const std::optional<StageMap> &stages) {
  std::optional<int64_t> holder = stages ? step.from.getHolder(stages->getAxis()) : std::nullopt;
  Operation *maker = getMaker(reshard);
  bool isAtMaker = maker && stages && (!holder || stages->isOn(maker, *holder));
  // The stage that makes a value keeps its slices, also for a result of the step, which is of no stage.
  bool keepsSlices = step.kind == ReshardStep::Kind::Accumulate || step.kind == ReshardStep::Kind::Collect;
  if (keepsSlices && isAtMaker && !getStage(reshard))
    return inherit(made, maker, Inherit::Conversion);
  if (!holder || !getStage(reshard) || stages->isOn(reshard, *holder))
    return inherit(made, reshard, Inherit::Conversion);
  if (isAtMaker)
    return inherit(made, maker, Inherit::Conversion);
  // The input has no maker with a stage, such as a variable that another stage reads: it exists before any stage
  // begins.
  inherit(made, reshard, Inherit::Conversion);
  kStageAttr.remove(made);
}
