//===- Window.cpp - sharding rules of convolutions and windows -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dimensions that a window slides along stay whole: a rank would need elements of its neighbours. Those where every
// window shows its own element alone split like any other.
//
//===----------------------------------------------------------------------===//

#include "Localize.h"
#include "Sharding.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::net;

namespace {

using Uses = SmallVector<FactorUse, 1>;

/// Gives dimension `dim` of a tensor the factors that index it.
void setDim(TensorRule &tensor, int64_t dim, Uses uses) { tensor.dims[dim] = std::move(uses); }

/// With g for groups of features, h for groups of the batch, of which one is 1, and no spatial dimensions:
/// [h b, g c], [c, g h o] → [b, g h o], reduction c.
struct ConvolutionSharding : ShardingOpInterface::ExternalModel<ConvolutionSharding, ConvolutionOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto convolution = cast<ConvolutionOp>(op);
    ConvolutionDimsAttr dims = convolution.getDims();
    ArrayRef<int64_t> lhsShape = sharding::shapeOf(convolution.getLhs());
    ArrayRef<int64_t> rhsShape = sharding::shapeOf(convolution.getRhs());
    ShardingRule rule = ShardingRule::whole(op);
    TensorRule &lhs = rule.operands[0], &rhs = rule.operands[1], &result = rule.results[0];
    int64_t groups = convolution.getGroups(), batchGroups = convolution.getBatchGroups(), both = groups * batchGroups;
    auto addFactor = [&](int64_t size) { return FactorUse{rule.addFactor(size), size}; };

    FactorUse batch = addFactor(lhsShape[dims.getLhsBatch()] / batchGroups);
    FactorUse output = addFactor(rhsShape[dims.getRhsOutput()] / both);
    FactorUse input = addFactor(rhsShape[dims.getRhsInput()]);
    rule.factors[input.factor].masks = true;
    setDim(rhs, dims.getRhsInput(), {input});
    setDim(result, dims.getOutBatch(), {batch});
    if (both == 1) {
      setDim(lhs, dims.getLhsBatch(), {batch});
      setDim(lhs, dims.getLhsFeature(), {input});
      setDim(rhs, dims.getRhsOutput(), {output});
      setDim(result, dims.getOutFeature(), {output});
    } else {
      FactorUse group = addFactor(both);
      // With two factors per dimension, padding of one part would lie in the middle of the dimension, so no part may be
      // uneven.
      for (unsigned factor : {group.factor, output.factor, batchGroups > 1 ? batch.factor : input.factor})
        rule.factors[factor].uneven = false;
      setDim(lhs, dims.getLhsBatch(), batchGroups > 1 ? Uses{group, batch} : Uses{batch});
      setDim(lhs, dims.getLhsFeature(), groups > 1 ? Uses{group, input} : Uses{input});
      setDim(rhs, dims.getRhsOutput(), {group, output});
      setDim(result, dims.getOutFeature(), {group, output});
    }
    for (auto [index, dim] : llvm::enumerate(dims.getLhsSpatial()))
      if (convolution.isPointwise(index)) {
        FactorUse place = addFactor(lhsShape[dim]);
        setDim(lhs, dim, {place});
        setDim(result, dims.getOutSpatial()[index], {place});
      }
    sharding::passBilinear(rule, op);
    sharding::fixOrder(rule, op, {input.factor});
    return rule;
  }

  /// A rank has as many groups as its share of the tensors makes.
  sharding::LocalResults localize(Operation *op, Localizer &localizer) const {
    FailureOr<SmallVector<Value>> results = localizer.clone(op);
    if (failed(results))
      return failure();
    auto whole = cast<ConvolutionOp>(op), local = (*results)[0].getDefiningOp<ConvolutionOp>();
    ConvolutionDimsAttr dims = whole.getDims();
    auto size = [](Value value, int64_t dim) { return sharding::shapeOf(value)[dim]; };
    if (int64_t inputs = size(local.getRhs(), dims.getRhsInput()); whole.getGroups() > 1 && inputs > 0)
      local.setGroups(size(local.getLhs(), dims.getLhsFeature()) / inputs);
    if (int64_t batch = size(local.getResult(), dims.getOutBatch()); whole.getBatchGroups() > 1 && batch > 0)
      local.setBatchGroups(size(local.getLhs(), dims.getLhsBatch()) / batch);
    return results;
  }
};

/// The rule of an operation that slides windows over its first operand; all others and the results have an element for
/// each place, or the first operand's shape where the window does not slide.
template <typename OpT> ShardingRule slideWindows(OpT op) {
  ShardingRule rule = ShardingRule::whole(op);
  for (auto [dim, extent] : llvm::enumerate(sharding::shapeOf(op.getOperand()))) {
    if (!op.getWindow(dim).isTrivial())
      continue;
    FactorUse use{rule.addFactor(extent), extent};
    for (TensorRule &tensor : rule.operands)
      setDim(tensor, dim, {use});
    setDim(rule.results[0], dim, {use});
  }
  return rule;
}

struct ReduceWindowSharding : ShardingOpInterface::ExternalModel<ReduceWindowSharding, ReduceWindowOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto reduce = cast<ReduceWindowOp>(op);
    ShardingRule rule = slideWindows(reduce);
    // An element may be in several windows or in none: what is idempotent or linear passes.
    if (reduce.getKind() != ReduceKind::Product)
      rule.partials.push_back({reduce.getKind(), {0}});
    sharding::fixOrder(rule, op);
    return rule;
  }
};

struct SelectAndScatterSharding : ShardingOpInterface::ExternalModel<SelectAndScatterSharding, SelectAndScatterOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule = slideWindows(cast<SelectAndScatterOp>(op));
    rule.partials.push_back({ReduceKind::Sum, {1}});
    sharding::fixOrder(rule, op);
    return rule;
  }
};

} // namespace

void sharding::registerWindow(MLIRContext *context) {
  ConvolutionOp::attachInterface<ConvolutionSharding>(*context);
  ReduceWindowOp::attachInterface<ReduceWindowSharding>(*context);
  SelectAndScatterOp::attachInterface<SelectAndScatterSharding>(*context);
}
