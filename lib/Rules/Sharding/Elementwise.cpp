//===- Elementwise.cpp - how elementwise operations split ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sharding.h"
#include "dialects/Dist/Dist.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::net;

namespace {

/// Every dimension may be split; a partial value passes through `Partials` alone.
template <typename OpT, typename Partials>
struct ElementwiseSharding : ShardingOpInterface::ExternalModel<ElementwiseSharding<OpT, Partials>, OpT> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule = ShardingRule::elementwise(sharding::shapeOf(op->getResult(0)), op->getNumOperands());
    Partials::add(op, rule);
    return rule;
  }
};

/// No partial value passes.
struct Opaque {
  static void add(Operation *, ShardingRule &) {}
};

/// Linear jointly in all operands.
struct Linear {
  static void add(Operation *op, ShardingRule &rule) {
    PartialRule partial{ReduceKind::Sum, {}};
    for (unsigned operand = 0; operand < op->getNumOperands(); ++operand)
      partial.operands.push_back(operand);
    rule.partials.push_back(partial);
  }
};

/// Linear in either factor, but not in a square: x·x of a sum is not the sum of x·x.
struct Bilinear {
  static void add(Operation *op, ShardingRule &rule) {
    if (op->getOperand(0) == op->getOperand(1) || isa<IntegerType>(getElementTypeOrSelf(op->getResult(0))))
      return;
    rule.partials.push_back({ReduceKind::Sum, {0}});
    rule.partials.push_back({ReduceKind::Sum, {1}});
  }
};

/// Linear in the dividend; not for integers, which are cut.
struct LinearInFirst {
  static void add(Operation *op, ShardingRule &rule) {
    if (isa<FloatType>(getElementTypeOrSelf(op->getResult(0))))
      rule.partials.push_back({ReduceKind::Sum, {0}});
  }
};

/// Takes elements from either branch, whatever the reduction, as long as the predicate is known.
struct Choice {
  static void add(Operation *, ShardingRule &rule) { sharding::passEveryReduction(rule, {1, 2}); }
};

/// Monotonically increasing, so that the largest and the smallest stay so.
struct Monotone {
  static void add(Operation *, ShardingRule &rule) {
    rule.partials.push_back({ReduceKind::Max, {0}});
    rule.partials.push_back({ReduceKind::Min, {0}});
  }
};

/// A conversion between floats rounds monotonically. It is not linear: a sum travels in the type that it was made in,
/// unless the program says that it travels in the other.
struct Rounding {
  static void add(Operation *op, ShardingRule &rule) {
    if (isa<FloatType>(getElementTypeOrSelf(op->getOperand(0))) &&
        isa<FloatType>(getElementTypeOrSelf(op->getResult(0)))) {
      Monotone::add(op, rule);
      if (dist::travels(op))
        rule.partials.push_back({ReduceKind::Sum, {0}});
    }
  }
};

/// The operation is itself the reduction.
template <ReduceKind kind> struct Reducing {
  static void add(Operation *, ShardingRule &rule) { rule.partials.push_back({kind, {0, 1}}); }
};

template <typename Partials, typename... OpTs> void attach(MLIRContext *context) {
  (OpTs::template attachInterface<ElementwiseSharding<OpTs, Partials>>(*context), ...);
}

} // namespace

void sharding::registerElementwise(MLIRContext *context) {
  attach<Opaque, AbsOp, AcosOp, CoshOp, DigammaOp, LgammaOp, CosineOp, ErfcOp, NotOp, RsqrtOp, SignOp, SineOp, TanOp,
         Atan2Op, PowerOp, RemainderOp, ShiftLeftOp, ShiftRightArithmeticOp, ShiftRightLogicalOp, XorOp, CompareOp,
         IsFiniteOp, BitcastConvertOp>(context);
  attach<Linear, AddOp, SubtractOp, NegateOp, AccumulateOp>(context);
  attach<Bilinear, MultiplyOp>(context);
  attach<LinearInFirst, DivideOp>(context);
  attach<Choice, SelectOp>(context);
  attach<Monotone, AcoshOp, AsinOp, AsinhOp, AtanhOp, SinhOp, ReducePrecisionOp, CbrtOp, CeilOp, ErfOp, ExpOp, Expm1Op,
         FloorOp, LogOp, Log1pOp, LogisticOp, RoundOp, SqrtOp, TanhOp>(context);
  attach<Rounding, ConvertOp>(context);
  attach<Reducing<ReduceKind::Max>, MaximumOp>(context);
  attach<Reducing<ReduceKind::Min>, MinimumOp>(context);
  attach<Reducing<ReduceKind::And>, AndOp>(context);
  attach<Reducing<ReduceKind::Or>, OrOp>(context);
}
