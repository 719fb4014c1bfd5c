//===- Elementwise.cpp - sharding rules of elementwise operations ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Interval.h"
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
    sharding::fixOrder(rule, op);
    return rule;
  }
};

/// No partial value passes.
struct Opaque {
  static void add(Operation *, ShardingRule &) {}
};

/// Linear jointly in all operands. Holds for all values: the terms that are added up stay the same ones, with
/// infinities and NaN among them.
struct Linear {
  static void add(Operation *op, ShardingRule &rule) {
    PartialRule partial{ReduceKind::Sum, {}};
    for (unsigned operand = 0; operand < op->getNumOperands(); ++operand)
      partial.operands.push_back(operand);
    rule.partials.push_back(partial);
  }
};

/// Linear in either factor where the other one is known to be finite; not for integers.
struct Bilinear {
  static void add(Operation *op, ShardingRule &rule) {
    if (!isa<IntegerType>(getElementTypeOrSelf(op->getResult(0))))
      sharding::passBilinear(rule, op);
  }
};

/// Linear in the dividend where the divisor is known not to be zero: (2 - 1) / 0 is infinite, 2 / 0 - 1 / 0 NaN. Not
/// for integers, which are cut.
struct LinearInFirst {
  static void add(Operation *op, ShardingRule &rule) {
    if (isa<FloatType>(getElementTypeOrSelf(op->getResult(0))) && sharding::isNonZero(op->getOperand(1)))
      rule.partials.push_back({ReduceKind::Sum, {0}});
  }
};

/// Takes elements from either branch, whatever the reduction and the values, as long as the predicate is known.
struct Choice {
  static void add(Operation *, ShardingRule &rule) { sharding::passEveryReduction(rule, {1, 2}); }
};

/// Increases monotonically over all values of its type in every bit, from -infinity, which a rank without a term
/// contributes, to infinity, and is NaN for NaN alone: the largest and the smallest stay so. Functions that are NaN
/// outside of a domain, as `log` and `sqrt`, are not among these: a part that is negative would win as NaN. Nor are
/// those that kernels approximate: nothing promises that an approximation never decreases, and nothing is saved, as
/// they do not change what a value weighs.
struct Monotone {
  static void add(Operation *, ShardingRule &rule) {
    rule.partials.push_back({ReduceKind::Max, {0}});
    rule.partials.push_back({ReduceKind::Min, {0}});
  }
};

/// True if no number of type `from` becomes NaN in `to`: types without infinity turn numbers that are too large into
/// NaN.
bool keepsNumbers(FloatType from, FloatType to) {
  const llvm::fltSemantics &source = from.getFloatSemantics(), &target = to.getFloatSemantics();
  SmallVector<APFloat> extremes{APFloat::getLargest(source, false), APFloat::getLargest(source, true)};
  if (APFloat::semanticsHasInf(source))
    extremes.append({APFloat::getInf(source, false), APFloat::getInf(source, true)});
  return llvm::none_of(extremes, [&](APFloat number) {
    bool loses;
    number.convert(target, APFloat::rmNearestTiesToEven, &loses);
    return number.isNaN();
  });
}

/// A conversion between floats rounds monotonically where every number stays one. It is not linear: a sum travels in
/// the type that it was made in, unless the program says that it travels in the other.
struct Rounding {
  static void add(Operation *op, ShardingRule &rule) {
    auto from = dyn_cast<FloatType>(getElementTypeOrSelf(op->getOperand(0)));
    auto to = dyn_cast<FloatType>(getElementTypeOrSelf(op->getResult(0)));
    if (!from || !to)
      return;
    if (keepsNumbers(from, to))
      Monotone::add(op, rule);
    if (dist::defersReduction(op))
      rule.partials.push_back({ReduceKind::Sum, {0}});
    if (net::kSumPartsAttr.isOn(op))
      rule.partials.push_back({ReduceKind::Tree, {0}});
  }
};

/// The operation is itself the reduction: it does not matter in which order, nor how often, operands meet in it.
template <ReduceKind kind> struct Reducing {
  static void add(Operation *, ShardingRule &rule) { rule.partials.push_back({kind, {0, 1}}); }
};

template <typename Partials, typename... OpTs> void attach(MLIRContext *context) {
  (OpTs::template attachInterface<ElementwiseSharding<OpTs, Partials>>(*context), ...);
}

} // namespace

void sharding::passBilinear(ShardingRule &rule, Operation *op) {
  if (op->getOperand(0) == op->getOperand(1))
    return;
  for (unsigned partial : {0, 1})
    if (isFinite(op->getOperand(1 - partial)))
      rule.partials.push_back({ReduceKind::Sum, {partial}});
}

void sharding::registerAccumulate(MLIRContext *context) { attach<Linear, AccumulateOp>(context); }

void sharding::registerElementwise(MLIRContext *context) {
  attach<Opaque, AbsOp, AcosOp, AcoshOp, AsinOp, AsinhOp, AtanhOp, CbrtOp, CoshOp, CosineOp, DigammaOp, ErfOp, ErfcOp,
         ExpOp, Expm1Op, LgammaOp, LogOp, Log1pOp, LogisticOp, NotOp, RsqrtOp, SignOp, SineOp, SinhOp, SqrtOp, TanOp,
         TanhOp, Atan2Op, PowerOp, ReducePrecisionOp, RemainderOp, ShiftLeftOp, ShiftRightArithmeticOp,
         ShiftRightLogicalOp, XorOp, CompareOp, IsFiniteOp, BitcastConvertOp>(context);
  attach<Linear, AddOp, SubtractOp, NegateOp>(context);
  attach<Bilinear, MultiplyOp>(context);
  attach<LinearInFirst, DivideOp>(context);
  attach<Choice, SelectOp>(context);
  attach<Monotone, CeilOp, FloorOp, RoundOp>(context);
  attach<Rounding, ConvertOp>(context);
  attach<Reducing<ReduceKind::Max>, MaximumOp>(context);
  attach<Reducing<ReduceKind::Min>, MinimumOp>(context);
  attach<Reducing<ReduceKind::And>, AndOp>(context);
  attach<Reducing<ReduceKind::Or>, OrOp>(context);
}
