//===- Contraction.cpp - sharding rules of GEMMs ---------------------------===//
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

/// [b, i, k], [b, k, j] → [b, i, j], reduction k.
struct DotSharding : ShardingOpInterface::ExternalModel<DotSharding, DotOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto dot = cast<DotOp>(op);
    ArrayRef<int64_t> lhsShape = sharding::shapeOf(dot.getLhs()), rhsShape = sharding::shapeOf(dot.getRhs());
    ShardingRule rule = ShardingRule::whole(op);
    TensorRule &lhs = rule.operands[0], &rhs = rule.operands[1], &result = rule.results[0];
    unsigned next = 0;
    for (auto [left, right] : llvm::zip(dot.getLhsBatch(), dot.getRhsBatch())) {
      FactorUse use{rule.addFactor(lhsShape[left]), lhsShape[left]};
      lhs.dims[left] = rhs.dims[right] = result.dims[next++] = {use};
    }
    for (int64_t dim : dot.getLhsFree()) {
      FactorUse use{rule.addFactor(lhsShape[dim]), lhsShape[dim]};
      lhs.dims[dim] = result.dims[next++] = {use};
    }
    for (int64_t dim : dot.getRhsFree()) {
      FactorUse use{rule.addFactor(rhsShape[dim]), rhsShape[dim]};
      rhs.dims[dim] = result.dims[next++] = {use};
    }
    SmallVector<unsigned, 2> summed;
    for (auto [left, right] : llvm::zip(dot.getLhsContract(), dot.getRhsContract())) {
      FactorUse use{rule.addFactor(lhsShape[left]), lhsShape[left]};
      rule.factors[use.factor].masks = true;
      summed.push_back(use.factor);
      lhs.dims[left] = rhs.dims[right] = {use};
    }
    sharding::passBilinear(rule, op);
    sharding::fixOrder(rule, op, summed);
    return rule;
  }
};

} // namespace

void sharding::registerContraction(MLIRContext *context) { DotOp::attachInterface<DotSharding>(*context); }
