//===- Indexing.cpp - sharding rules of gather and scatter -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dimensions of windows and batching dimensions split like those of any operation. The dimensions that positions index
// split too: each rank reads or writes the positions that fall into its part, and parts of a gather add up, with -0
// where a rank has no element, so that the sum keeps the sign of zero.
//
//===----------------------------------------------------------------------===//

#include "Localize.h"
#include "Sharding.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::net;

namespace {

/// Shared by gather and scatter: windows of `operand` at the positions in `indices`, laid out in `windows`.
struct IndexedRule {
  ShardingRule &rule;
  TensorRule &operand, &indices, &windows;
  ArrayRef<int64_t> operandShape, indicesShape, windowsShape;
  ArrayRef<int64_t> windowDims, droppedDims, operandBatching, indicesBatching, indexMap;
  int64_t indexVectorDim;

  /// One factor per batch dimension: of indices and windows, and of the operand where it is a batching dimension. Calls
  /// `visit` for those that the operand lacks.
  void addBatchFactors(llvm::function_ref<void(FactorInfo &)> visit) {
    unsigned next = 0;
    for (size_t dim = 0; dim < windowsShape.size(); ++dim) {
      if (llvm::is_contained(windowDims, static_cast<int64_t>(dim)))
        continue;
      next += static_cast<int64_t>(next) == indexVectorDim;
      unsigned indicesDim = next++;
      FactorUse use{rule.addFactor(windowsShape[dim]), windowsShape[dim]};
      windows.dims[dim] = indices.dims[indicesDim] = {use};
      const auto *batching = llvm::find(indicesBatching, static_cast<int64_t>(indicesDim));
      if (batching != indicesBatching.end())
        operand.dims[operandBatching[batching - indicesBatching.begin()]] = {use};
      else
        visit(rule.factors[use.factor]);
    }
  }

  /// One factor per window dimension that spans the operand's dimension whole.
  void addWindowFactors() {
    unsigned next = 0;
    for (size_t dim = 0; dim < operandShape.size(); ++dim) {
      if (llvm::is_contained(droppedDims, static_cast<int64_t>(dim)) ||
          llvm::is_contained(operandBatching, static_cast<int64_t>(dim)))
        continue;
      int64_t window = windowDims[next++];
      if (windowsShape[window] == operandShape[dim])
        operand.dims[dim] = windows.dims[window] = {FactorUse{rule.addFactor(operandShape[dim]), operandShape[dim]}};
    }
  }

  /// One factor per dropped dimension that the indices choose from: of the operand alone.
  void addIndexedFactors() {
    for (int64_t dim : droppedDims)
      if (llvm::is_contained(indexMap, dim))
        operand.dims[dim] = {FactorUse{rule.addFactor(operandShape[dim]), operandShape[dim]}};
  }
};

/// Reading a part of what the indices choose from yields -0 elsewhere, so the sum over the parts is the result.
struct GatherSharding : ShardingOpInterface::ExternalModel<GatherSharding, GatherOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto gather = cast<GatherOp>(op);
    GatherDimsAttr dims = gather.getDims();
    ShardingRule rule = ShardingRule::whole(op);
    IndexedRule indexed{rule,
                        rule.operands[0],
                        rule.operands[1],
                        rule.results[0],
                        sharding::shapeOf(gather.getOperand()),
                        sharding::shapeOf(gather.getIndices()),
                        sharding::shapeOf(gather.getResult()),
                        dims.getOffsetDims(),
                        dims.getCollapsedDims(),
                        dims.getOperandBatchingDims(),
                        dims.getIndicesBatchingDims(),
                        dims.getStartIndexMap(),
                        dims.getIndexVectorDim()};
    indexed.addBatchFactors([](FactorInfo &) {});
    indexed.addWindowFactors();
    if (!getElementTypeOrSelf(gather.getResult()).isInteger(1))
      indexed.addIndexedFactors();
    sharding::passEveryReduction(rule, {0});
    return rule;
  }
  FailureOr<SmallVector<Value>> localize(Operation *op, Localizer &localizer) const {
    return sharding::localizeGather(cast<GatherOp>(op), localizer);
  }
};

/// The reduction that a scatter performs, if it is one.
std::optional<ReduceKind> getReduction(ScatterKind kind) {
  switch (kind) {
  case ScatterKind::Assign:
    return std::nullopt;
  case ScatterKind::Add:
    return ReduceKind::Sum;
  case ScatterKind::Multiply:
    return ReduceKind::Product;
  case ScatterKind::Max:
    return ReduceKind::Max;
  case ScatterKind::Min:
    return ReduceKind::Min;
  }
  return std::nullopt;
}

/// Each part of the updates goes to a partial result; a part of the operand takes the updates that fall into it.
struct ScatterSharding : ShardingOpInterface::ExternalModel<ScatterSharding, ScatterOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto scatter = cast<ScatterOp>(op);
    ScatterDimsAttr dims = scatter.getDims();
    std::optional<ReduceKind> kind = getReduction(scatter.getKind());
    ShardingRule rule = ShardingRule::whole(op);
    IndexedRule indexed{rule,
                        rule.operands[0],
                        rule.operands[1],
                        rule.operands[2],
                        sharding::shapeOf(scatter.getOperand()),
                        sharding::shapeOf(scatter.getIndices()),
                        sharding::shapeOf(scatter.getUpdates()),
                        dims.getUpdateWindowDims(),
                        dims.getInsertedDims(),
                        dims.getOperandBatchingDims(),
                        dims.getIndicesBatchingDims(),
                        dims.getScatterDimsToOperandDims(),
                        dims.getIndexVectorDim()};
    SmallVector<unsigned, 2> summed;
    indexed.addBatchFactors([&](FactorInfo &factor) {
      summed.push_back(&factor - rule.factors.begin());
      // Updates of parts that are not full are dropped by their index, which they need to have.
      factor.splittable = kind.has_value() && !dims.getScatterDimsToOperandDims().empty();
      factor.reduction = kind.value_or(ReduceKind::Sum);
      factor.partialOperands = {0};
    });
    indexed.addWindowFactors();
    indexed.addIndexedFactors();
    rule.results[0] = rule.operands[0];
    if (scatter.getKind() == ScatterKind::Assign)
      sharding::passEveryReduction(rule, {0, 2});
    else
      rule.partials.push_back({*kind, {0, 2}});
    sharding::fixOrder(rule, op, summed);
    return rule;
  }
  FailureOr<SmallVector<Value>> localize(Operation *op, Localizer &localizer) const {
    return sharding::localizeScatter(cast<ScatterOp>(op), localizer);
  }
};

} // namespace

void sharding::registerIndexing(MLIRContext *context) {
  GatherOp::attachInterface<GatherSharding>(*context);
  ScatterOp::attachInterface<ScatterSharding>(*context);
}
