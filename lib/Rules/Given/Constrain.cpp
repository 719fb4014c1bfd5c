//===- Constrain.cpp - the meaning of given.constrain ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The value is that of the operand, so every rule passes on what it knows of it.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/Dist/Interfaces.h"
#include "dialects/Dist/ShardingRule.h"
#include "dialects/Given/Given.h"
#include "dialects/Net/Batch.h"
#include "dialects/Net/Interfaces.h"
#include "dialects/Net/Net.h"
#include "dialects/Net/NetBuilder.h"
#include "dialects/Net/Precision.h"
#include "dialects/Net/Shift.h"
#include "meshwright/Rules/GivenRules.h"
#include "mlir/IR/DialectRegistry.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::given;

namespace {

/// Every dimension may be split, and every partial value passes.
struct ConstrainSharding : dist::ShardingOpInterface::ExternalModel<ConstrainSharding, ConstrainOp> {
  dist::ShardingRule getShardingRule(Operation *op) const {
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    dist::ShardingRule rule = dist::ShardingRule::elementwise(type.getShape(), 1);
    for (ReduceKind kind :
         {ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min, ReduceKind::Product, ReduceKind::And, ReduceKind::Or})
      rule.partials.push_back({kind, {0}});
    return rule;
  }
  /// The part of the operand on a rank is that of the result.
  FailureOr<SmallVector<Value>> localize(Operation *, dist::Localizer &localizer) const {
    return SmallVector<Value>{localizer.operands.front()};
  }
};

struct ConstrainCost : dist::CostOpInterface::ExternalModel<ConstrainCost, ConstrainOp> {
  int64_t getFlops(Operation *) const { return 0; }
};

struct ConstrainPrecision : net::PrecisionOpInterface::ExternalModel<ConstrainPrecision, ConstrainOp> {
  net::Precision getPrecision(Operation *) const { return net::Precision::Follow; }
};

struct ConstrainShift : net::ShiftOpInterface::ExternalModel<ConstrainShift, ConstrainOp> {
  std::optional<net::ShiftDependence> transferShift(Operation *,
                                                    ArrayRef<const net::ShiftDependence *> operands) const {
    return *operands.front();
  }
};

/// The cotangent is kept like the value, as in JAX.
struct ConstrainDerivative : net::DerivativeOpInterface::ExternalModel<ConstrainDerivative, ConstrainOp> {
  FailureOr<SmallVector<Value>> differentiate(Operation *op, OpBuilder &builder, ArrayRef<Value> cotangents,
                                              const llvm::BitVector &) const {
    auto constrain = cast<ConstrainOp>(op);
    return SmallVector<Value>{ConstrainOp::create(builder, op->getLoc(), cotangents.front().getType(),
                                                  cotangents.front(), constrain.getShardingAttr(),
                                                  constrain.getGroupAttr())};
  }
};

/// A constraint of what every member is says nothing of how the batch is split.
struct ConstrainBatch : net::BatchOpInterface::ExternalModel<ConstrainBatch, ConstrainOp> {
  SmallVector<Value> batch(Operation *op, net::Batch &batch) const {
    auto constrain = cast<ConstrainOp>(op);
    Value operand = batch.get(0);
    ShardingAttr sharding = constrain.getSharding().value_or(nullptr);
    if (sharding) {
      Builder &builder = batch.build.builder;
      SmallVector<Attribute> dims(batch.getRank(), builder.getArrayAttr({}));
      SmallVector<bool> open(batch.getRank(), true);
      llvm::append_range(dims, sharding.getDims());
      llvm::append_range(open, sharding.getOpen().asArrayRef());
      sharding =
          ShardingAttr::get(op->getContext(), builder.getArrayAttr(dims), builder.getDenseBoolArrayAttr(open),
                            builder.getDenseI64ArrayAttr(batch.addEntries(sharding.getPriorities().asArrayRef(), 0)),
                            sharding.getReplicated(), sharding.getUnreduced());
    }
    return {ConstrainOp::create(batch.build.builder, op->getLoc(), operand.getType(), operand, sharding,
                                constrain.getGroupAttr())};
  }
};

} // namespace

void meshwright::registerGivenRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, GivenDialect *) {
    ConstrainOp::attachInterface<ConstrainSharding, ConstrainCost, ConstrainPrecision, ConstrainShift,
                                 ConstrainDerivative, ConstrainBatch>(*context);
  });
}
