//===- Functions.cpp - elementwise operations expanded into expressions ---===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations without a counterpart in net become expressions of other operations, so that derivatives, sharding and
// kernels need no further rules. Each expression is exact where the original is exact: it keeps the rounding of halves,
// signed infinities and NaN.
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;
using net::CompareDirection;

/// Checks that there are `operands` operands and a result, all of one float type.
static LogicalResult expectFloats(Conversion &conversion, unsigned operands) {
  if (failed(conversion.expect(operands)) || failed(expectOneType(conversion)))
    return failure();
  if (isa<FloatType>(conversion.getType().getElementType()))
    return success();
  return conversion.error() << "is of " << conversion.getType() << ", not of floats";
}

static Converted convertSquare(Conversion &conversion) {
  if (failed(conversion.expect(1)) || failed(expectOneType(conversion)))
    return failure();
  Value operand = conversion.getOp()->getOperand(0);
  return SmallVector<Value>{conversion.create<net::MultiplyOp>(conversion.getType(), operand, operand)};
}

/// The inverse error function at |x| ≤ 1: a first approximation with an error of a few thousandths (Winitzki, A handy
/// approximation for the error function and its inverse, 2008), then steps of Halley's method, each of which triples
/// the number of correct digits. Near 1 the steps invert erfc instead, because 1 − |x| is exact there.
static Value invertErf(net::NetBuilder &b, Value x) {
  constexpr double kShape = 0.147, kPi = 3.14159265358979323846;
  constexpr int kSteps = 2;
  Value one = b.splatLike(x, 1), magnitude = b.unary<net::AbsOp>(x), rest = b.subtract(one, magnitude);
  Value logarithm = b.unary<net::LogOp>(b.multiply(rest, b.add(one, magnitude)));
  Value middle = b.add(b.splatLike(x, 2 / (kPi * kShape)), b.scale(logarithm, 0.5));
  Value root = b.unary<net::SqrtOp>(b.subtract(b.multiply(middle, middle), b.scale(logarithm, 1 / kShape)));
  Value y = b.unary<net::SqrtOp>(b.subtract(root, middle));
  Value isSmall = b.compare(net::CompareDirection::Lt, magnitude, b.splatLike(x, 0.5));
  for (int step = 0; step < kSteps; ++step) {
    Value error =
        b.select(isSmall, b.subtract(b.unary<net::ErfOp>(y), magnitude), b.subtract(rest, b.unary<net::ErfcOp>(y)));
    Value slope = b.scale(b.unary<net::ExpOp>(b.negate(b.multiply(y, y))), 2 / std::sqrt(kPi));
    Value newton = b.divide(error, slope);
    y = b.subtract(y, b.divide(newton, b.add(one, b.multiply(y, newton))));
  }
  Value isOne = b.compare(net::CompareDirection::Eq, magnitude, one);
  y = b.select(isOne, b.splatLike(x, std::numeric_limits<double>::infinity()), y);
  return b.multiply(b.unary<net::SignOp>(x), y);
}

static Converted convertErfInv(Conversion &conversion) {
  if (failed(expectFloats(conversion, 1)))
    return failure();
  auto element = cast<FloatType>(conversion.getType().getElementType());
  Expression expression(conversion);
  net::NetBuilder &b = expression.build;
  Value x = conversion.getOp()->getOperand(0);
  // Computes in f32, so that 16-bit types round once, at the end.
  if (element.getWidth() < 32)
    x = b.convert(x, b.builder.getF32Type());
  return SmallVector<Value>{b.convert(invertErf(b, x), element)};
}

static Converted convertAtan(Conversion &conversion) {
  if (failed(expectFloats(conversion, 1)))
    return failure();
  Expression expression(conversion);
  Value x = conversion.getOp()->getOperand(0);
  return SmallVector<Value>{expression.build.binary<net::Atan2Op>(x, expression.build.splatLike(x, 1))};
}

/// Rounds to nearest, halves away from zero, by the fraction of |x|, which is exact. Adding one half to x would round
/// up numbers just below one half.
static Converted convertRound(Conversion &conversion) {
  if (failed(expectFloats(conversion, 1)))
    return failure();
  Expression expression(conversion);
  net::NetBuilder &b = expression.build;
  Value x = conversion.getOp()->getOperand(0), magnitude = b.unary<net::AbsOp>(x);
  Value whole = b.unary<net::FloorOp>(magnitude);
  Value isUp = b.compare(CompareDirection::Ge, b.subtract(magnitude, whole), b.splatLike(x, 0.5));
  Value up = b.select(isUp, b.splatLike(x, 1), b.splatLike(x, 0));
  return SmallVector<Value>{b.multiply(b.unary<net::SignOp>(x), b.add(whole, up))};
}

/// All dimensions of a tensor, in order.
static SmallVector<int64_t> getDimsOf(RankedTensorType type) {
  return llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
}

/// min(max(low, x), high); the bounds may be scalars.
static Converted convertClamp(Conversion &conversion) {
  if (failed(conversion.expect(3)))
    return failure();
  RankedTensorType type = conversion.getType();
  for (unsigned index = 0; index < 3; ++index) {
    RankedTensorType operand = conversion.getOperandType(index);
    bool isScalar = index != 1 && operand.getRank() == 0 && operand.getElementType() == type.getElementType();
    if (operand != type && !isScalar)
      return conversion.error() << "clamps " << conversion.getOperandType(1) << " between "
                                << conversion.getOperandType(0) << " and " << conversion.getOperandType(2) << " into "
                                << type;
  }
  Operation *op = conversion.getOp();
  Value low = conversion.broadcast(op->getOperand(0), type.getShape(), getDimsOf(conversion.getOperandType(0)));
  Value high = conversion.broadcast(op->getOperand(2), type.getShape(), getDimsOf(conversion.getOperandType(2)));
  // On i1, maximum is `or` and minimum is `and`.
  bool isLogical = type.getElementType().isInteger(1);
  Value raised = conversion.createNamed(isLogical ? "net.or" : "net.maximum", type, {low, op->getOperand(1)});
  return SmallVector<Value>{conversion.createNamed(isLogical ? "net.and" : "net.minimum", type, {high, raised})};
}

//===----------------------------------------------------------------------===//
// Non-finite floats, and constants
//===----------------------------------------------------------------------===//

/// Compares with an infinity; `Sign` 0 accepts both signs.
template <int Sign> static Converted convertIsInfinite(Conversion &conversion) {
  if (failed(conversion.expect(1)))
    return failure();
  RankedTensorType type = conversion.getOperandType(0);
  if (!isa<FloatType>(type.getElementType()) || conversion.getType() != type.clone(conversion.getBuilder().getI1Type()))
    return conversion.error() << "turns " << type << " into " << conversion.getType();
  Expression expression(conversion);
  net::NetBuilder &b = expression.build;
  Value x = conversion.getOp()->getOperand(0);
  double infinity = std::numeric_limits<double>::infinity();
  return SmallVector<Value>{b.compare(CompareDirection::Eq, Sign == 0 ? b.unary<net::AbsOp>(x) : x,
                                      b.splatLike(x, Sign < 0 ? -infinity : infinity))};
}

static Converted convertConstantLike(Conversion &conversion) {
  if (failed(conversion.expect(1)))
    return failure();
  auto value = conversion.getOp()->getAttrOfType<TypedAttr>("value");
  RankedTensorType type = conversion.getType();
  if (!value || value.getType() != type.getElementType() || !isa<FloatAttr, IntegerAttr>(value))
    return conversion.error() << "has no value of " << type.getElementType();
  return SmallVector<Value>{
      conversion.create<net::ConstantOp>(type, ElementsAttr(DenseElementsAttr::get(type, Attribute(value))))};
}

static Converted convertReducePrecision(Conversion &conversion) {
  if (failed(expectFloats(conversion, 1)))
    return failure();
  auto exponent = conversion.getOp()->getAttrOfType<IntegerAttr>("exponent_bits");
  auto mantissa = conversion.getOp()->getAttrOfType<IntegerAttr>("mantissa_bits");
  if (!exponent || !mantissa || exponent.getInt() < 1 || mantissa.getInt() < 0)
    return conversion.error() << "has no bits of exponent and mantissa";
  auto type = cast<FloatType>(conversion.getType().getElementType());
  int64_t ownMantissa = type.getFPMantissaWidth() - 1, ownExponent = type.getWidth() - 1 - ownMantissa;
  Value operand = conversion.getOp()->getOperand(0);
  if (exponent.getInt() >= ownExponent && mantissa.getInt() >= ownMantissa)
    return SmallVector<Value>{operand};
  return SmallVector<Value>{
      conversion.create<net::ReducePrecisionOp>(conversion.getType(), operand, exponent.getInt(), mantissa.getInt())};
}

void importer::addFunctions(ConverterMap &converters) {
  converters["chlo.atan"] = convertAtan;
  converters["chlo.constant_like"] = convertConstantLike;
  converters["chlo.erf_inv"] = convertErfInv;
  converters["chlo.is_inf"] = convertIsInfinite<0>;
  converters["chlo.is_neg_inf"] = convertIsInfinite<-1>;
  converters["chlo.is_pos_inf"] = convertIsInfinite<1>;
  converters["chlo.square"] = convertSquare;
  converters["stablehlo.clamp"] = convertClamp;
  converters["stablehlo.reduce_precision"] = convertReducePrecision;
  converters["stablehlo.round_nearest_afz"] = convertRound;
}
