//===- Matrix.cpp - sharding rules of matrix factorizations ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every matrix is whole on some rank: batches are split, and the columns of right-hand sides, which do not know of each
// other.
//
//===----------------------------------------------------------------------===//

#include "Sharding.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::net;

/// Adds one factor per dimension before the last two of all `tensors`, which have them in common.
static void addBatchFactors(ShardingRule &rule, ArrayRef<int64_t> shape, ArrayRef<TensorRule *> tensors) {
  for (auto [dim, size] : llvm::enumerate(shape.drop_back(2))) {
    FactorUse use{rule.addFactor(size), size};
    for (TensorRule *tensor : tensors)
      tensor->dims[dim] = {use};
  }
}

namespace {

struct CholeskySharding : ShardingOpInterface::ExternalModel<CholeskySharding, CholeskyOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule = ShardingRule::whole(op);
    addBatchFactors(rule, sharding::shapeOf(op->getResult(0)), {&rule.operands[0], &rule.results[0]});
    return rule;
  }
};

struct TriangularSolveSharding : ShardingOpInterface::ExternalModel<TriangularSolveSharding, TriangularSolveOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule = ShardingRule::whole(op);
    ArrayRef<int64_t> shape = sharding::shapeOf(op->getResult(0));
    addBatchFactors(rule, shape, {&rule.operands[0], &rule.operands[1], &rule.results[0]});
    FactorUse columns{rule.addFactor(shape.back()), shape.back()};
    rule.operands[1].dims.back() = rule.results[0].dims.back() = {columns};
    // A sum of right-hand sides has the sum of their solutions only where no element of the diagonal is zero, of which
    // nothing is known.
    return rule;
  }
};

} // namespace

void sharding::registerMatrix(MLIRContext *context) {
  CholeskyOp::attachInterface<CholeskySharding>(*context);
  TriangularSolveOp::attachInterface<TriangularSolveSharding>(*context);
}
