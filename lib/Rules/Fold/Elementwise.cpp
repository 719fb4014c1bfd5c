//===- Elementwise.cpp - simpler elementwise operations -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Frameworks spell out masks that are known when the graph is exported: all positions of a text are attended to, an
// index 0 is not negative. Arithmetic here rounds as the operation does, to nearest and ties to even, so that no bit
// changes.
//
//===----------------------------------------------------------------------===//

#include "Attach.h"
#include "dialects/Dist/Dist.h"
#include "llvm/ADT/APSInt.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;
using namespace meshwright::net::fold;

static Value makeBool(NetBuilder &build, Value like, bool value) {
  return makeSplat(build, like, build.builder.getBoolAttr(value));
}

/// Whether integers of a type compare without sign.
static bool isUnsigned(Type type) { return type.isUnsignedInteger() || type.isInteger(1); }

/// Whether every element of `value` is the number; zeros of either sign are 0.
static bool isSplatOf(Value value, double number) {
  SplatElementsAttr splat = getSplat(value);
  if (!splat)
    return false;
  if (isa<FloatType>(splat.getElementType()))
    return splat.getSplatValue<APFloat>().isExactlyValue(number) ||
           (number == 0 && splat.getSplatValue<APFloat>().isZero());
  auto type = dyn_cast<IntegerType>(splat.getElementType());
  return type && type.getWidth() > 1 && splat.getSplatValue<APInt>() == static_cast<uint64_t>(number);
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// The value of an operation on two floats, rounded as the operation rounds, where that is known to be exact to the
/// bit.
template <typename OpT> static std::optional<APFloat> combine(OpT, APFloat, const APFloat &) { return std::nullopt; }

static constexpr auto kRounding = APFloat::rmNearestTiesToEven;
static std::optional<APFloat> combine(AddOp, APFloat x, const APFloat &y) {
  x.add(y, kRounding);
  return x;
}
static std::optional<APFloat> combine(SubtractOp, APFloat x, const APFloat &y) {
  x.subtract(y, kRounding);
  return x;
}
static std::optional<APFloat> combine(MultiplyOp, APFloat x, const APFloat &y) {
  x.multiply(y, kRounding);
  return x;
}
static std::optional<APFloat> combine(DivideOp, APFloat x, const APFloat &y) {
  x.divide(y, kRounding);
  return x;
}

/// Two integers of the same width.
struct Integers {
  const APInt &x, &y;
  bool isUnsigned;
};

/// The value of an operation on two integers.
template <typename OpT> static std::optional<APInt> combine(OpT, const Integers &) { return std::nullopt; }

static std::optional<APInt> combine(AddOp, const Integers &i) { return i.x.getBitWidth() == 1 ? i.x | i.y : i.x + i.y; }
static std::optional<APInt> combine(SubtractOp, const Integers &i) { return i.x - i.y; }
static std::optional<APInt> combine(MultiplyOp, const Integers &i) { return i.x * i.y; }
static std::optional<APInt> combine(AndOp, const Integers &i) { return i.x & i.y; }
static std::optional<APInt> combine(OrOp, const Integers &i) { return i.x | i.y; }
static std::optional<APInt> combine(XorOp, const Integers &i) { return i.x ^ i.y; }
static std::optional<APInt> combine(ShiftLeftOp, const Integers &i) {
  return i.x.shl(i.y.getLimitedValue(i.x.getBitWidth()));
}
static std::optional<APInt> combine(ShiftRightLogicalOp, const Integers &i) {
  return i.x.lshr(i.y.getLimitedValue(i.x.getBitWidth()));
}
static std::optional<APInt> combine(MaximumOp, const Integers &i) {
  return (i.isUnsigned ? i.x.ugt(i.y) : i.x.sgt(i.y)) ? i.x : i.y;
}
static std::optional<APInt> combine(MinimumOp, const Integers &i) {
  return (i.isUnsigned ? i.x.ult(i.y) : i.x.slt(i.y)) ? i.x : i.y;
}

/// The constant that an operation makes of two constants.
template <typename OpT> static Value foldConstants(OpT op, NetBuilder &build) {
  SplatElementsAttr left = getSplat(op.getLhs()), right = getSplat(op.getRhs());
  if (!left || !right)
    return {};
  Type type = left.getElementType();
  if (isa<FloatType>(type)) {
    auto value = combine(op, left.getSplatValue<APFloat>(), right.getSplatValue<APFloat>());
    return value ? makeSplat(build, op.getResult(), FloatAttr::get(type, *value)) : Value();
  }
  APInt x = left.getSplatValue<APInt>(), y = right.getSplatValue<APInt>();
  auto value = combine(op, Integers{x, y, isUnsigned(type)});
  return value ? makeSplat(build, op.getResult(), IntegerAttr::get(type, *value)) : Value();
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

static Value foldAdd(AddOp op, NetBuilder &build) {
  if (Value constant = foldConstants(op, build))
    return constant;
  if (isSplatOf(op.getRhs(), 0))
    return op.getLhs();
  if (isSplatOf(op.getLhs(), 0))
    return op.getRhs();
  if (auto negated = op.getRhs().getDefiningOp<NegateOp>())
    return build.subtract(op.getLhs(), negated.getOperand());
  if (auto negated = op.getLhs().getDefiningOp<NegateOp>())
    return build.subtract(op.getRhs(), negated.getOperand());
  return {};
}

static Value foldSubtract(SubtractOp op, NetBuilder &build) {
  if (Value constant = foldConstants(op, build))
    return constant;
  if (isSplatOf(op.getRhs(), 0))
    return op.getLhs();
  if (auto negated = op.getRhs().getDefiningOp<NegateOp>())
    return build.add(op.getLhs(), negated.getOperand());
  return {};
}

static Value foldMultiply(MultiplyOp op, NetBuilder &build) {
  if (Value constant = foldConstants(op, build))
    return constant;
  if (isSplatOf(op.getRhs(), 1))
    return op.getLhs();
  if (isSplatOf(op.getLhs(), 1))
    return op.getRhs();
  return {};
}

/// max(x, −∞) and min(x, ∞) are x; NaN stays what it is.
template <typename OpT> static Value foldExtremum(OpT op, NetBuilder &build) {
  if (Value constant = foldConstants(op, build))
    return constant;
  bool largest = std::is_same_v<OpT, MaximumOp>;
  for (auto [value, other] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
    SplatElementsAttr splat = getSplat(value);
    if (!splat || !isa<FloatType>(splat.getElementType()))
      continue;
    APFloat bound = splat.getSplatValue<APFloat>();
    if (bound.isInfinity() && bound.isNegative() == largest)
      return other;
  }
  return {};
}

static Value foldDivide(DivideOp op, NetBuilder &build) {
  if (Value constant = foldConstants(op, build))
    return constant;
  return isSplatOf(op.getRhs(), 1) ? op.getLhs() : Value();
}

static Value foldNegate(NegateOp op, NetBuilder &) {
  auto inner = op.getOperand().getDefiningOp<NegateOp>();
  return inner ? inner.getOperand() : Value();
}

static Value foldSelect(SelectOp op, NetBuilder &) {
  if (op.getOnTrue() == op.getOnFalse())
    return op.getOnTrue();
  SplatElementsAttr predicate = getSplat(op.getPredicate());
  if (!predicate)
    return {};
  return predicate.getSplatValue<APInt>().isZero() ? op.getOnFalse() : op.getOnTrue();
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// A float towards zero; one that the type cannot hold is left to the run.
static Value convertToInteger(ConvertOp op, NetBuilder &build, const APFloat &value, IntegerType to) {
  if (to.getWidth() == 1)
    return makeBool(build, op.getResult(), !value.isZero());
  APSInt integer(to.getWidth(), to.isUnsigned());
  bool exact;
  if (value.convertToInteger(integer, APFloat::rmTowardZero, &exact) & APFloat::opInvalidOp)
    return {};
  return makeSplat(build, op.getResult(), IntegerAttr::get(to, integer));
}

static Value convertFromInteger(ConvertOp op, NetBuilder &build, const APInt &value, bool isUnsigned, Type to) {
  if (to.isInteger(1))
    return makeBool(build, op.getResult(), !value.isZero());
  if (isa<IntegerType>(to)) {
    unsigned width = to.getIntOrFloatBitWidth();
    return makeSplat(build, op.getResult(),
                     IntegerAttr::get(to, isUnsigned ? value.zextOrTrunc(width) : value.sextOrTrunc(width)));
  }
  APFloat result(cast<FloatType>(to).getFloatSemantics());
  result.convertFromAPInt(value, !isUnsigned, APFloat::rmNearestTiesToEven);
  return makeSplat(build, op.getResult(), FloatAttr::get(to, result));
}

/// True if a conversion from one type to the other keeps every value.
static bool keepsEveryValue(Type from, Type to) {
  auto ints = dyn_cast<IntegerType>(from), toInts = dyn_cast<IntegerType>(to);
  auto floats = dyn_cast<FloatType>(to);
  if (ints && toInts)
    return ints.isUnsigned() == toInts.isUnsigned() && ints.getWidth() <= toInts.getWidth();
  if (ints && floats)
    return ints.getWidth() <= APFloat::semanticsPrecision(floats.getFloatSemantics());
  if (!isa<FloatType>(from) || !floats)
    return false;
  const llvm::fltSemantics &source = cast<FloatType>(from).getFloatSemantics(), &target = floats.getFloatSemantics();
  auto hasNegativeZero = [](const llvm::fltSemantics &type) {
    return APFloat::semanticsHasZero(type) && APFloat::getZero(type, /*Negative=*/true).isNegative();
  };
  auto keeps = [&](auto has) { return !has(source) || has(target); };
  return APFloat::isRepresentableBy(source, target) && keeps(APFloat::semanticsHasInf) &&
         keeps(APFloat::semanticsHasNaN) && keeps(hasNegativeZero);
}

/// x as another type that keeps every value, and then as its own type again: x. Not where sums travel in the other
/// type.
static Value foldConvertBack(ConvertOp op) {
  auto there = op.getOperand().getDefiningOp<ConvertOp>();
  if (!there || there.getOperand().getType() != op.getResult().getType() || dist::defersReduction(there))
    return {};
  bool keeps = keepsEveryValue(elementTypeOf(there.getOperand()), elementTypeOf(there.getResult()));
  return keeps ? there.getOperand() : Value();
}

static Value foldConvert(ConvertOp op, NetBuilder &build) {
  SplatElementsAttr splat = getSplat(op.getOperand());
  if (!splat)
    return op.getOperand().getType() == op.getResult().getType() ? op.getOperand() : foldConvertBack(op);
  Type from = splat.getElementType(), to = elementTypeOf(op.getResult());
  if (!isa<FloatType>(from))
    return convertFromInteger(op, build, splat.getSplatValue<APInt>(), isUnsigned(from), to);
  APFloat value = splat.getSplatValue<APFloat>();
  if (auto integer = dyn_cast<IntegerType>(to))
    return convertToInteger(op, build, value, integer);
  bool inexact;
  value.convert(cast<FloatType>(to).getFloatSemantics(), APFloat::rmNearestTiesToEven, &inexact);
  return makeSplat(build, op.getResult(), FloatAttr::get(to, value));
}

//===----------------------------------------------------------------------===//
// Logic and comparisons
//===----------------------------------------------------------------------===//

/// Whether every element of `value`, of i1, is known to be `expected`.
static bool isKnown(Value value, bool expected) {
  SplatElementsAttr splat = getSplat(value);
  return splat && splat.getSplatValue<APInt>().isOne() == expected;
}

/// true and x, false or x: x; false and x, true or x: the constant.
template <typename OpT> static Value foldLogic(OpT op, NetBuilder &build) {
  if (Value constant = foldConstants(op, build))
    return constant;
  if (!elementTypeOf(op.getResult()).isInteger(1))
    return {};
  bool neutral = std::is_same_v<OpT, AndOp>;
  for (auto [known, other] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
    if (isKnown(known, neutral))
      return other;
    if (isKnown(known, !neutral))
      return known;
  }
  return {};
}

/// Whether two values in that order satisfy `direction`; NaN is neither less, equal nor greater.
static bool holds(CompareDirection direction, bool less, bool equal, bool greater) {
  switch (direction) {
  case CompareDirection::Eq:
    return equal;
  case CompareDirection::Ne:
    return !equal;
  case CompareDirection::Lt:
    return less;
  case CompareDirection::Le:
    return less || equal;
  case CompareDirection::Gt:
    return greater;
  case CompareDirection::Ge:
    return greater || equal;
  }
  llvm_unreachable("a direction");
}

static bool compare(CompareDirection direction, Type type, SplatElementsAttr left, SplatElementsAttr right) {
  if (isa<FloatType>(type)) {
    APFloat::cmpResult result = left.getSplatValue<APFloat>().compare(right.getSplatValue<APFloat>());
    return holds(direction, result == APFloat::cmpLessThan, result == APFloat::cmpEqual,
                 result == APFloat::cmpGreaterThan);
  }
  APInt x = left.getSplatValue<APInt>(), y = right.getSplatValue<APInt>();
  bool less = isUnsigned(type) ? x.ult(y) : x.slt(y);
  return holds(direction, less, x == y, !less && x != y);
}

/// A truth value that was converted to a number, which is 0 or 1, and is compared with 0 is itself.
static Value foldTruthTest(CompareOp op) {
  auto converted = op.getLhs().getDefiningOp<ConvertOp>();
  SplatElementsAttr zero = getSplat(op.getRhs());
  if (!converted || !zero || !elementTypeOf(converted.getOperand()).isInteger(1) || op.getTotalOrder())
    return {};
  bool isZero = isa<FloatType>(zero.getElementType()) ? zero.getSplatValue<APFloat>().isZero()
                                                      : zero.getSplatValue<APInt>().isZero();
  bool tests = op.getDirection() == CompareDirection::Ne || op.getDirection() == CompareDirection::Gt;
  return isZero && tests ? converted.getOperand() : Value();
}

static Value foldCompare(CompareOp op, NetBuilder &build) {
  SplatElementsAttr left = getSplat(op.getLhs()), right = getSplat(op.getRhs());
  if (left && right && !op.getTotalOrder())
    return makeBool(build, op.getResult(), compare(op.getDirection(), left.getElementType(), left, right));
  return foldTruthTest(op);
}

void fold::attachElementwise(MLIRContext *context) {
  attach<AddOp, foldAdd>(context);
  attach<SubtractOp, foldSubtract>(context);
  attach<MultiplyOp, foldMultiply>(context);
  attach<DivideOp, foldDivide>(context);
  attach<MaximumOp, foldExtremum<MaximumOp>>(context);
  attach<MinimumOp, foldExtremum<MinimumOp>>(context);
  attach<NegateOp, foldNegate>(context);
  attach<SelectOp, foldSelect>(context);
  attach<AndOp, foldLogic<AndOp>>(context);
  attach<OrOp, foldLogic<OrOp>>(context);
  attach<XorOp, foldConstants<XorOp>>(context);
  attach<ShiftLeftOp, foldConstants<ShiftLeftOp>>(context);
  attach<ShiftRightLogicalOp, foldConstants<ShiftRightLogicalOp>>(context);
  attach<ConvertOp, foldConvert>(context);
  attach<CompareOp, foldCompare>(context);
}
