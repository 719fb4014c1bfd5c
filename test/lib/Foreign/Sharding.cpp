//===- Sharding.cpp - sharding rules of foreign operations ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Interfaces.h"
#include "test/lib/Foreign/Foreign.h"
#include "test/lib/Foreign/Models.h"

using namespace mlir;
using namespace meshwright::dist;

namespace {

ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

struct ScaleSharding : ShardingOpInterface::ExternalModel<ScaleSharding, foreign::ScaleOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule = ShardingRule::elementwise(shapeOf(op->getResult(0)), 1);
    rule.partials.push_back({meshwright::ReduceKind::Sum, {0}});
    return rule;
  }
};

struct RowSumSharding : ShardingOpInterface::ExternalModel<RowSumSharding, foreign::RowSumOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule = ShardingRule::elementwise(shapeOf(op->getOperand(0)), 1);
    rule.results[0].dims.pop_back();
    rule.factors.back().masks = true;
    rule.partials.push_back({meshwright::ReduceKind::Sum, {0}});
    return rule;
  }
};

/// [i, k], [j, k] → [i, j], reduction k.
struct MatmulSharding : ShardingOpInterface::ExternalModel<MatmulSharding, foreign::MatmulOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ArrayRef<int64_t> lhs = shapeOf(op->getOperand(0)), rhs = shapeOf(op->getOperand(1));
    ShardingRule rule = ShardingRule::whole(op);
    FactorUse i{rule.addFactor(lhs[0]), lhs[0]}, j{rule.addFactor(rhs[0]), rhs[0]}, k{rule.addFactor(lhs[1]), lhs[1]};
    rule.factors[k.factor].masks = true;
    rule.operands[0].dims = {{i}, {k}};
    rule.operands[1].dims = {{j}, {k}};
    rule.results[0].dims = {{i}, {j}};
    rule.partials.push_back({meshwright::ReduceKind::Sum, {0}});
    rule.partials.push_back({meshwright::ReduceKind::Sum, {1}});
    return rule;
  }
};

/// Elementwise, but every part has to know where it lies.
struct RampSharding : ShardingOpInterface::ExternalModel<RampSharding, foreign::RampOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule = ShardingRule::elementwise(shapeOf(op->getResult(0)), 1);
    for (unsigned coordinate = 1; coordinate < op->getNumOperands(); ++coordinate)
      rule.operands.emplace_back();
    return rule;
  }

  FailureOr<SmallVector<Value>> localize(Operation *op, Localizer &localizer) const {
    auto ramp = cast<foreign::RampOp>(op);
    int64_t size = shapeOf(ramp.getResult())[ramp.getDim()];
    SmallVector<int64_t> sizes, strides, coordinateStrides;
    SmallVector<Value> coordinates;
    for (const LocalDigit &digit : getLocalDigits(localizer.resultPlacements[0].dims[ramp.getDim()], size)) {
      if (digit.axis) {
        coordinates.push_back(localizer.getCoordinate(*digit.axis));
        coordinateStrides.push_back(digit.globalStride);
      } else {
        sizes.push_back(digit.localSize);
        strides.push_back(digit.globalStride);
      }
    }
    auto local = foreign::RampOp::create(
        localizer.builder, op->getLoc(), localizer.getResultType(op, 0), localizer.operands[0], coordinates,
        ramp.getDimAttr(), ramp.getStepAttr(), localizer.builder.getDenseI64ArrayAttr(sizes),
        localizer.builder.getDenseI64ArrayAttr(strides), localizer.builder.getDenseI64ArrayAttr(coordinateStrides));
    return SmallVector<Value>{local};
  }
};

} // namespace

void foreign::registerSharding(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ForeignDialect *) {
    ScaleOp::attachInterface<ScaleSharding>(*context);
    RowSumOp::attachInterface<RowSumSharding>(*context);
    MatmulOp::attachInterface<MatmulSharding>(*context);
    RampOp::attachInterface<RampSharding>(*context);
  });
}
