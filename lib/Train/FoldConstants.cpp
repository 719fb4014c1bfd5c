//===- FoldConstants.cpp - folding of splat constants ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Frameworks write out masks that are known at export: all positions of a text are attended to, an index 0 is not
// negative. Arithmetic rounds as the operation does at run time, to nearest with ties to even, so that no bit changes.
//
//===----------------------------------------------------------------------===//

#include "Fold.h"
#include "llvm/ADT/APSInt.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;
using namespace meshwright::train;

static Value makeSplat(NetBuilder &build, Operation *op, Attribute element) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  return ConstantOp::create(build.builder, build.location, type, DenseElementsAttr::get(type, element));
}

static Value makeBool(NetBuilder &build, Operation *op, bool value) {
  return makeSplat(build, op, build.builder.getBoolAttr(value));
}

/// True if integers of the type compare as unsigned.
static bool isUnsigned(Type type) { return type.isUnsignedInteger() || type.isInteger(1); }

//===----------------------------------------------------------------------===//
// All operands known
//===----------------------------------------------------------------------===//

static std::optional<APFloat> combine(Operation *op, APFloat x, const APFloat &y) {
  constexpr auto kRounding = APFloat::rmNearestTiesToEven;
  if (isa<AddOp>(op))
    x.add(y, kRounding);
  else if (isa<SubtractOp>(op))
    x.subtract(y, kRounding);
  else if (isa<MultiplyOp>(op))
    x.multiply(y, kRounding);
  else if (isa<DivideOp>(op))
    x.divide(y, kRounding);
  else
    return std::nullopt;
  return x;
}

static std::optional<APInt> combine(Operation *op, bool isUnsigned, const APInt &x, const APInt &y) {
  bool logical = x.getBitWidth() == 1;
  return TypeSwitch<Operation *, std::optional<APInt>>(op)
      .Case([&](AddOp) { return logical ? x | y : x + y; })
      .Case([&](SubtractOp) { return x - y; })
      .Case([&](MultiplyOp) { return x * y; })
      .Case([&](AndOp) { return x & y; })
      .Case([&](OrOp) { return x | y; })
      .Case([&](XorOp) { return x ^ y; })
      .Case([&](ShiftLeftOp) { return x.shl(y.getLimitedValue(x.getBitWidth())); })
      .Case([&](ShiftRightLogicalOp) { return x.lshr(y.getLimitedValue(x.getBitWidth())); })
      .Case([&](MaximumOp) { return (isUnsigned ? x.ugt(y) : x.sgt(y)) ? x : y; })
      .Case([&](MinimumOp) { return (isUnsigned ? x.ult(y) : x.slt(y)) ? x : y; })
      .Default(std::nullopt);
}

/// Evaluates a comparison given the order of its operands; NaN is in none of the three orders.
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

static Value foldBinary(Operation *op, NetBuilder &build) {
  SplatElementsAttr left = getSplat(op->getOperand(0)), right = getSplat(op->getOperand(1));
  if (!left || !right)
    return {};
  Type type = left.getElementType();
  if (auto comparison = dyn_cast<CompareOp>(op))
    return comparison.getTotalOrder() ? Value()
                                      : makeBool(build, op, compare(comparison.getDirection(), type, left, right));
  if (isa<FloatType>(type)) {
    auto value = combine(op, left.getSplatValue<APFloat>(), right.getSplatValue<APFloat>());
    return value ? makeSplat(build, op, FloatAttr::get(type, *value)) : Value();
  }
  auto value = combine(op, isUnsigned(type), left.getSplatValue<APInt>(), right.getSplatValue<APInt>());
  return value ? makeSplat(build, op, IntegerAttr::get(type, *value)) : Value();
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// Truncates towards zero; leaves values that do not fit to the run time.
static Value convertToInteger(ConvertOp op, NetBuilder &build, const APFloat &value, IntegerType to) {
  if (to.getWidth() == 1)
    return makeBool(build, op, !value.isZero());
  APSInt integer(to.getWidth(), to.isUnsigned());
  bool exact;
  if (value.convertToInteger(integer, APFloat::rmTowardZero, &exact) & APFloat::opInvalidOp)
    return {};
  return makeSplat(build, op, IntegerAttr::get(to, integer));
}

static Value convertFromInteger(ConvertOp op, NetBuilder &build, const APInt &value, bool isUnsigned, Type to) {
  if (to.isInteger(1))
    return makeBool(build, op, !value.isZero());
  if (isa<IntegerType>(to)) {
    unsigned width = to.getIntOrFloatBitWidth();
    return makeSplat(build, op, IntegerAttr::get(to, isUnsigned ? value.zextOrTrunc(width) : value.sextOrTrunc(width)));
  }
  APFloat result(cast<FloatType>(to).getFloatSemantics());
  result.convertFromAPInt(value, !isUnsigned, APFloat::rmNearestTiesToEven);
  return makeSplat(build, op, FloatAttr::get(to, result));
}

static Value foldConvert(ConvertOp op, NetBuilder &build) {
  SplatElementsAttr splat = getSplat(op.getOperand());
  if (!splat)
    return {};
  Type from = splat.getElementType(), to = elementTypeOf(op.getResult());
  if (!isa<FloatType>(from))
    return convertFromInteger(op, build, splat.getSplatValue<APInt>(), isUnsigned(from), to);
  APFloat value = splat.getSplatValue<APFloat>();
  if (auto integer = dyn_cast<IntegerType>(to))
    return convertToInteger(op, build, value, integer);
  bool inexact;
  value.convert(cast<FloatType>(to).getFloatSemantics(), APFloat::rmNearestTiesToEven, &inexact);
  return makeSplat(build, op, FloatAttr::get(to, value));
}

//===----------------------------------------------------------------------===//
// Logic with one known operand
//===----------------------------------------------------------------------===//

/// True if every element of the i1 `value` is known to be `expected`.
static bool isKnown(Value value, bool expected) {
  SplatElementsAttr splat = getSplat(value);
  return splat && splat.getSplatValue<APInt>().isOne() == expected;
}

/// Folds (true and x) and (false or x) to x, and (false and x) and (true or x) to the constant.
static Value foldLogic(Operation *op) {
  if (!elementTypeOf(op->getResult(0)).isInteger(1))
    return {};
  bool neutral = isa<AndOp>(op);
  for (auto [known, other] : {std::pair(0, 1), std::pair(1, 0)}) {
    if (isKnown(op->getOperand(known), neutral))
      return op->getOperand(other);
    if (isKnown(op->getOperand(known), !neutral))
      return op->getOperand(known);
  }
  return {};
}

/// An i1 value that is converted to a number, 0 or 1, and compared with 0 is the value itself.
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

/// The conjunction or disjunction of at least one equal i1 values is that value.
static Value foldReducedLogic(ReduceOp op, NetBuilder &build) {
  bool logic = op.getKind() == dist::ReduceKind::And || op.getKind() == dist::ReduceKind::Or;
  SplatElementsAttr splat = getSplat(op.getOperand());
  if (!logic || !splat || typeOf(op.getOperand()).getNumElements() == 0)
    return {};
  return makeSplat(build, op, splat.getSplatValue<Attribute>());
}

Value train::foldConstants(Operation *op, NetBuilder &build) {
  if (auto convert = dyn_cast<ConvertOp>(op))
    return foldConvert(convert, build);
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return foldReducedLogic(reduce, build);
  if (op->getNumOperands() != 2 || !op->hasTrait<OpTrait::Elementwise>())
    return {};
  if (Value constant = foldBinary(op, build))
    return constant;
  if (isa<AndOp, OrOp>(op))
    return foldLogic(op);
  auto comparison = dyn_cast<CompareOp>(op);
  return comparison ? foldTruthTest(comparison) : Value();
}
