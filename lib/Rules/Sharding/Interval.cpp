//===- Interval.cpp - bounds on the elements of a value -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interval arithmetic over the operations that make a value. Bounds are doubles. They are rounded to the element type
// as the elements are, which keeps them bounds because rounding is monotone; a bound that comes near the largest number
// of the type becomes infinite, and one below the smallest normal number becomes zero. Functions that kernels
// approximate have a margin of one percent.
//
//===----------------------------------------------------------------------===//

#include "Interval.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Net/Net.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;
using meshwright::sharding::Interval;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// More operations than this are not looked at, nor more elements of a constant: a rule is asked for often.
static constexpr int kMaxOperations = 64;
static constexpr int64_t kMaxElements = 64;

static double toDouble(APFloat number) {
  bool loses;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
  return number.convertToDouble();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static Interval getRange(IntegerType type) {
  int width = static_cast<int>(type.getWidth());
  if (type.isUnsigned() || width == 1)
    return {0, std::ldexp(1, width) - 1};
  return {-std::ldexp(1, width - 1), std::ldexp(1, width - 1) - 1};
}

/// The smallest normal number of a type, and the largest one.
static std::pair<double, double> getMagnitudes(const llvm::fltSemantics &semantics) {
  // A rule is asked for often, and numbers of APFloat take long to make. Floats of 8 bits end in other places.
  if (APFloat::semanticsSizeInBits(semantics) == 8)
    return {toDouble(APFloat::getSmallestNormalized(semantics)), toDouble(APFloat::getLargest(semantics))};
  double fraction = 2 - std::ldexp(1, 1 - static_cast<int>(APFloat::semanticsPrecision(semantics)));
  return {std::ldexp(1, APFloat::semanticsMinExponent(semantics)),
          std::ldexp(fraction, APFloat::semanticsMaxExponent(semantics))};
}

/// A bound as it becomes where elements are stored in `type`.
static double roundBound(double bound, FloatType type) {
  auto [smallest, largest] = getMagnitudes(type.getFloatSemantics());
  if (std::fabs(bound) > 0.99 * largest)
    return std::copysign(kInfinity, bound);
  return std::fabs(bound) < 1.01 * smallest ? 0 : bound;
}

/// `interval` of numbers that are stored in `type`: everything that the type holds where it is not known.
static Interval clampTo(Interval interval, Type type) {
  if (auto integer = dyn_cast<IntegerType>(type)) {
    Interval range = getRange(integer);
    // An integer that wraps around may have any value.
    return interval.low < range.low || interval.high > range.high ? range : interval;
  }
  auto real = dyn_cast<FloatType>(type);
  return real ? Interval{roundBound(interval.low, real), roundBound(interval.high, real)}
              : Interval{-kInfinity, kInfinity};
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

constexpr Interval kUnknown{-kInfinity, kInfinity};

static bool isUnknown(Interval a) { return a.low == -kInfinity && a.high == kInfinity; }

static Interval join(Interval a, Interval b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

/// An interval with room for the error of an approximation.
static Interval widen(Interval interval) {
  auto margin = [](double bound) { return std::isinf(bound) ? 0 : 0.01 * std::fabs(bound); };
  return {interval.low - margin(interval.low), interval.high + margin(interval.high)};
}

static Interval negate(Interval a) { return {-a.high, -a.low}; }

/// Infinity and its opposite make NaN, which is outside: the other terms bound the rest.
static Interval addIntervals(Interval a, Interval b) {
  double low = a.low + b.low, high = a.high + b.high;
  return {std::isnan(low) ? -kInfinity : low, std::isnan(high) ? kInfinity : high};
}

/// Zero times infinity makes NaN, which is outside; zero times what lies before it is zero.
static double multiplyBounds(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

static Interval multiplyIntervals(Interval a, Interval b) {
  auto [low, high] = std::minmax({multiplyBounds(a.low, b.low), multiplyBounds(a.low, b.high),
                                  multiplyBounds(a.high, b.low), multiplyBounds(a.high, b.high)});
  return {low, high};
}

static bool hasZero(Interval a) { return a.low <= 0 && a.high >= 0; }

static Interval divideIntervals(Interval a, Interval b) {
  if (hasZero(b))
    return {-kInfinity, kInfinity};
  return multiplyIntervals(a, {1 / b.high, 1 / b.low});
}

static Interval takeAbsolute(Interval a) {
  double high = std::max(std::fabs(a.low), std::fabs(a.high));
  return {hasZero(a) ? 0 : std::min(std::fabs(a.low), std::fabs(a.high)), high};
}

/// The sum of between 1 and `count` numbers, and zeros. A sum of numbers of one sign that is rounded at every step does
/// not come closer to zero than one of them; its error is below its size where there are not too many.
static Interval sumIntervals(Interval a, int64_t count) {
  constexpr int64_t kManyTerms = int64_t(1) << 22;
  double most = count > kManyTerms ? kInfinity : 2 * static_cast<double>(count);
  return {a.low < 0 ? multiplyBounds(a.low, most) : a.low, a.high > 0 ? multiplyBounds(a.high, most) : a.high};
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

namespace {

/// One look at the operations that make a value, as a tree: what is used twice counts twice, so that it does not matter
/// whether equal operations are shared.
class Search {
public:
  Interval visit(Value value);

private:
  Interval visitMaker(Operation *op);
  Interval visitConstant(ConstantOp op);
  Interval visitReduce(ReduceOp op);
  Interval visitArithmetic(Operation *op);
  Interval visitFunction(Operation *op);
  Interval visitOperand(Operation *op, unsigned index) { return visit(op->getOperand(index)); }
  Interval visitAll(ValueRange operands);

  int visited = 0;
};

} // namespace

Interval Search::visit(Value value) {
  Operation *op = value.getDefiningOp();
  while (auto reshard = dyn_cast_or_null<dist::ReshardOp>(op))
    op = (value = reshard.getInput()).getDefiningOp();
  Type element = getElementTypeOrSelf(value);
  bool isKnown = op && ++visited <= kMaxOperations;
  return clampTo(isKnown ? visitMaker(op) : kUnknown, element);
}

Interval Search::visitAll(ValueRange operands) {
  if (operands.empty())
    return kUnknown;
  Interval all = visit(operands.front());
  for (Value operand : operands.drop_front()) {
    if (isUnknown(all))
      return all;
    all = join(all, visit(operand));
  }
  return all;
}

Interval Search::visitConstant(ConstantOp op) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements || elements.empty() || (!elements.isSplat() && elements.getNumElements() > kMaxElements))
    return kUnknown;
  // All elements of a splat are its first.
  int64_t count = elements.isSplat() ? 1 : elements.getNumElements();
  Interval all{kInfinity, -kInfinity};
  auto add = [&](double number) {
    if (!std::isnan(number))
      all = join(all, {number, number});
  };
  if (isa<FloatType>(elements.getElementType())) {
    auto numbers = elements.value_begin<APFloat>();
    for (const APFloat &number : llvm::make_range(numbers, numbers + count))
      add(toDouble(number));
  } else if (auto integer = dyn_cast<IntegerType>(elements.getElementType())) {
    bool isUnsigned = integer.isUnsigned() || integer.getWidth() == 1;
    auto numbers = elements.value_begin<APInt>();
    for (const APInt &number : llvm::make_range(numbers, numbers + count))
      add(isUnsigned ? number.roundToDouble(/*isSigned=*/false) : number.roundToDouble(/*isSigned=*/true));
  }
  // A constant that is NaN everywhere has no numbers: any interval will do.
  return all.low <= all.high ? all : Interval{1, 1};
}

Interval Search::visitReduce(ReduceOp op) {
  int64_t count = 1;
  for (int64_t dim : op.getDims())
    count *= cast<RankedTensorType>(op.getOperand().getType()).getDimSize(dim);
  // The neutral element is in no interval.
  if (count == 0)
    return kUnknown;
  switch (op.getKind()) {
  case ReduceKind::Max:
  case ReduceKind::Min:
    return visit(op.getOperand());
  case ReduceKind::Sum:
    return sumIntervals(visit(op.getOperand()), count);
  default:
    return kUnknown;
  }
}

Interval Search::visitArithmetic(Operation *op) {
  Interval a = visitOperand(op, 0);
  bool isTwice = op->getOperand(0) == op->getOperand(1);
  // A square is not negative, and a bound of the other operand is one of an extremum; nothing else is known then.
  if (isUnknown(a) && !isTwice && !isa<MaximumOp, MinimumOp>(op))
    return kUnknown;
  Interval b = isTwice ? a : visitOperand(op, 1);
  return llvm::TypeSwitch<Operation *, Interval>(op)
      .Case<AddOp>([&](auto) { return addIntervals(a, b); })
      .Case<SubtractOp>([&](auto) { return addIntervals(a, negate(b)); })
      .Case<MultiplyOp>(
          [&](auto) { return isTwice ? multiplyIntervals(takeAbsolute(a), takeAbsolute(a)) : multiplyIntervals(a, b); })
      .Case<DivideOp>([&](auto) {
        return isa<FloatType>(getElementTypeOrSelf(op->getResult(0))) ? divideIntervals(a, b) : kUnknown;
      })
      .Case<MaximumOp>([&](auto) { return Interval{std::max(a.low, b.low), std::max(a.high, b.high)}; })
      .Case<MinimumOp>([&](auto) { return Interval{std::min(a.low, b.low), std::min(a.high, b.high)}; })
      .Default(kUnknown);
}

/// Functions of one operand. Where it is outside of their domain they are NaN.
Interval Search::visitFunction(Operation *op) {
  Interval a = visitOperand(op, 0);
  return llvm::TypeSwitch<Operation *, Interval>(op)
      .Case<NegateOp>([&](auto) { return negate(a); })
      .Case<AbsOp>([&](auto) { return takeAbsolute(a); })
      .Case<SqrtOp>([&](auto) { return widen({std::sqrt(std::max(a.low, 0.0)), std::sqrt(std::max(a.high, 0.0))}); })
      .Case<RsqrtOp>([&](auto) {
        // The root of -0 is -0, and its inverse negative.
        return a.low > 0 ? widen({1 / std::sqrt(a.high), 1 / std::sqrt(a.low)}) : kUnknown;
      })
      .Case<ExpOp>([&](auto) { return widen({std::exp(a.low), std::exp(a.high)}); })
      .Default(kUnknown);
}

Interval Search::visitMaker(Operation *op) {
  return llvm::TypeSwitch<Operation *, Interval>(op)
      .Case<ConstantOp>([&](ConstantOp constant) { return visitConstant(constant); })
      .Case<IotaOp>([&](IotaOp iota) {
        int64_t size = cast<RankedTensorType>(iota.getType()).getDimSize(iota.getDim());
        return Interval{0, static_cast<double>(std::max<int64_t>(size - 1, 0))};
      })
      .Case<BroadcastOp, ReshapeOp, TransposeOp, SliceOp, ReverseOp, DynamicSliceOp, GatherOp>(
          [&](auto) { return visitOperand(op, 0); })
      .Case<ConvertOp>([&](ConvertOp convert) {
        // A fraction is cut, a number too large becomes the largest, and NaN zero.
        bool cuts = isa<FloatType>(getElementTypeOrSelf(convert.getOperand())) &&
                    isa<IntegerType>(getElementTypeOrSelf(convert.getResult()));
        return cuts ? kUnknown : visitOperand(op, 0);
      })
      .Case<ConcatenateOp>([&](auto) { return visitAll(op->getOperands()); })
      .Case<PadOp>([&](auto) { return visitAll(op->getOperands()); })
      .Case<SelectOp>([&](auto) { return visitAll(op->getOperands().drop_front()); })
      .Case<AddOp, SubtractOp, MultiplyOp, DivideOp, MaximumOp, MinimumOp>([&](auto) { return visitArithmetic(op); })
      .Case<NegateOp, AbsOp, SqrtOp, RsqrtOp, ExpOp>([&](auto) { return visitFunction(op); })
      .Case<LogisticOp>([&](auto) { return widen({0, 1}); })
      .Case<TanhOp, ErfOp, SineOp, CosineOp>([&](auto) { return widen({-1, 1}); })
      .Case<ErfcOp>([&](auto) { return widen({0, 2}); })
      .Case<SignOp>([&](auto) { return Interval{-1, 1}; })
      .Case<ReduceOp>([&](ReduceOp reduce) { return visitReduce(reduce); })
      .Default(kUnknown);
}

Interval sharding::getInterval(Value value) { return Search().visit(value); }

bool sharding::isFinite(Value value) {
  Interval interval = getInterval(value);
  return std::isfinite(interval.low) && std::isfinite(interval.high);
}

bool sharding::isNonZero(Value value) { return !hasZero(getInterval(value)); }
