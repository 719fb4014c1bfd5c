//===- Reduction.cpp - sharding rules of reductions ------------------------===//
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

/// The rule of an operation that keeps all dimensions but `dims`, which become factors of `reduction`.
ShardingRule reduceDims(Operation *op, ArrayRef<int64_t> dims) {
  ShardingRule rule = ShardingRule::elementwise(sharding::shapeOf(op->getOperand(0)), 1, 0);
  TensorRule kept;
  for (auto [dim, uses] : llvm::enumerate(rule.operands[0].dims))
    if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
      kept.dims.push_back(uses);
  rule.results.assign(op->getNumResults(), kept);
  return rule;
}

struct ReduceSharding : ShardingOpInterface::ExternalModel<ReduceSharding, ReduceOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto reduce = cast<ReduceOp>(op);
    ShardingRule rule = reduceDims(op, reduce.getDims());
    SmallVector<unsigned, 2> summed;
    for (int64_t dim : reduce.getDims()) {
      summed.push_back(rule.operands[0].dims[dim].front().factor);
      FactorInfo &factor = rule.factors[summed.back()];
      factor.reduction = reduce.getKind();
      factor.masks = true;
    }
    rule.partials.push_back({reduce.getKind(), {0}});
    sharding::fixOrder(rule, op, summed);
    return rule;
  }
};

struct ArgReduceSharding : ShardingOpInterface::ExternalModel<ArgReduceSharding, ArgReduceOp> {
  ShardingRule getShardingRule(Operation *op) const {
    int64_t dim = cast<ArgReduceOp>(op).getDim();
    ShardingRule rule = reduceDims(op, {dim});
    rule.factors[rule.operands[0].dims[dim].front().factor].splittable = false;
    return rule;
  }
};

} // namespace

void sharding::registerReduction(MLIRContext *context) {
  ReduceOp::attachInterface<ReduceSharding>(*context);
  ArgReduceOp::attachInterface<ArgReduceSharding>(*context);
}
