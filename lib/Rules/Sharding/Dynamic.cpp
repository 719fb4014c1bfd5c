//===- Dynamic.cpp - sharding rules of boxes at run-time places -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sharding.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::net;

namespace {

/// One factor per dimension that the box spans whole, for all `tensors`, which have the rank of the operand; where it
/// does not, every rank needs the whole dimension. That a box spans a dimension whole stays true of the parts, so that
/// the operation of one rank is the same on smaller tensors.
void addSpannedFactors(ShardingRule &rule, ArrayRef<int64_t> shape, ArrayRef<int64_t> box,
                       ArrayRef<TensorRule *> tensors) {
  for (auto [dim, size, boxSize] : llvm::enumerate(shape, box)) {
    if (size != boxSize)
      continue;
    FactorUse use{rule.addFactor(size), size};
    for (TensorRule *tensor : tensors)
      tensor->dims[dim] = {use};
  }
}

struct DynamicSliceSharding : ShardingOpInterface::ExternalModel<DynamicSliceSharding, DynamicSliceOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto slice = cast<DynamicSliceOp>(op);
    ShardingRule rule = ShardingRule::whole(op);
    addSpannedFactors(rule, sharding::shapeOf(slice.getOperand()), sharding::shapeOf(slice.getResult()),
                      {&rule.operands[0], &rule.results[0]});
    sharding::passEveryReduction(rule, {0});
    return rule;
  }
};

struct DynamicUpdateSliceSharding
    : ShardingOpInterface::ExternalModel<DynamicUpdateSliceSharding, DynamicUpdateSliceOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto update = cast<DynamicUpdateSliceOp>(op);
    ShardingRule rule = ShardingRule::whole(op);
    addSpannedFactors(rule, sharding::shapeOf(update.getOperand()), sharding::shapeOf(update.getUpdate()),
                      {&rule.operands[0], &rule.operands[1], &rule.results[0]});
    sharding::passEveryReduction(rule, {0, 1});
    if (sharding::isZero(update.getOperand()))
      rule.partials.insert(rule.partials.begin(), {ReduceKind::Sum, {1}});
    return rule;
  }
};

} // namespace

void sharding::registerDynamic(MLIRContext *context) {
  DynamicSliceOp::attachInterface<DynamicSliceSharding>(*context);
  DynamicUpdateSliceOp::attachInterface<DynamicUpdateSliceSharding>(*context);
}
