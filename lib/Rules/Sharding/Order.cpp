//===- Order.cpp - sharding rules of operations that reorder --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sharding.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::net;

/// Lets `rule`, that of an elementwise operation, split no dimension among `dims`, in which elements move.
static void keepWhole(ShardingRule &rule, ArrayRef<int64_t> dims) {
  for (int64_t dim : dims)
    rule.factors[rule.operands[0].dims[dim].front().factor].splittable = false;
}

namespace {

struct ReverseSharding : ShardingOpInterface::ExternalModel<ReverseSharding, ReverseOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto reverse = cast<ReverseOp>(op);
    ShardingRule rule = ShardingRule::elementwise(sharding::shapeOf(reverse.getResult()), 1);
    keepWhole(rule, reverse.getDims());
    sharding::passEveryReduction(rule, {0});
    return rule;
  }
};

struct ArgSortSharding : ShardingOpInterface::ExternalModel<ArgSortSharding, ArgSortOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto sort = cast<ArgSortOp>(op);
    ShardingRule rule = ShardingRule::elementwise(sharding::shapeOf(sort.getResult()), op->getNumOperands());
    keepWhole(rule, {static_cast<int64_t>(sort.getDim())});
    return rule;
  }
};

} // namespace

void sharding::registerOrder(MLIRContext *context) {
  ReverseOp::attachInterface<ReverseSharding>(*context);
  ArgSortOp::attachInterface<ArgSortSharding>(*context);
}
