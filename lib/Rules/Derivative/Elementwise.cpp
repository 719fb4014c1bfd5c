//===- Elementwise.cpp - derivatives of elementwise operations ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a function has no derivative (ties, branch points) the conventions are those of docs/reference/derivatives.md.
// The rules prefer the result to an operand where both would do, because it is the result that later operations keep.
//
//===----------------------------------------------------------------------===//

#include "Attach.h"
#include "llvm/ADT/APFloat.h"
#include <numbers>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;
using namespace meshwright::net::derivative;

//===----------------------------------------------------------------------===//
// Functions of one operand
//===----------------------------------------------------------------------===//

/// Attaches `rule(build, g, x, y)`: the cotangent of operand x, given that of the result y.
template <typename OpT, auto rule> static void attachUnary(MLIRContext *context) {
  attach<OpT, [](OpT op, Context c) -> FailureOr<Cotangents> {
    return Cotangents{rule(c.build, c.cotangent, op.getOperand(), op.getResult())};
  }>(context);
}

static Value zeroOfUnary(NetBuilder &, Value, Value, Value) { return {}; }

static void attachExponentials(MLIRContext *context) {
  attachUnary<ExpOp, [](NetBuilder &b, Value g, Value, Value y) { return b.multiply(g, y); }>(context);
  attachUnary<Expm1Op, [](NetBuilder &b, Value g, Value, Value y) {
    return b.multiply(g, b.add(y, b.splatLike(y, 1)));
  }>(context);
  attachUnary<LogOp, [](NetBuilder &b, Value g, Value x, Value) { return b.divide(g, x); }>(context);
  attachUnary<Log1pOp, [](NetBuilder &b, Value g, Value x, Value) { return b.divide(g, b.add(x, b.splatLike(x, 1))); }>(
      context);
  attachUnary<LogisticOp, [](NetBuilder &b, Value g, Value, Value y) {
    return b.multiply(g, b.multiply(y, b.subtractFrom(1, y)));
  }>(context);
  // (1 + y)(1 - y) keeps its digits where y is close to 1 and 1 - y² does not.
  attachUnary<TanhOp, [](NetBuilder &b, Value g, Value, Value y) {
    return b.multiply(g, b.multiply(b.add(y, b.splatLike(y, 1)), b.subtractFrom(1, y)));
  }>(context);
}

/// The derivative of erf: 2/sqrt(π) exp(−x²), times g and `sign`.
static Value erfCotangent(NetBuilder &b, Value g, Value x, double sign) {
  Value density = b.unary<ExpOp>(b.negate(b.multiply(x, x)));
  return b.multiply(g, b.scale(density, sign * 2 * std::numbers::inv_sqrtpi));
}

static void attachRootsAndAngles(MLIRContext *context) {
  attachUnary<SqrtOp, [](NetBuilder &b, Value g, Value, Value y) { return b.divide(b.scale(g, 0.5), y); }>(context);
  attachUnary<RsqrtOp, [](NetBuilder &b, Value g, Value x, Value y) {
    return b.multiply(g, b.scale(b.divide(y, x), -0.5));
  }>(context);
  attachUnary<CbrtOp, [](NetBuilder &b, Value g, Value, Value y) {
    return b.divide(b.scale(g, 1.0 / 3.0), b.multiply(y, y));
  }>(context);
  attachUnary<SineOp, [](NetBuilder &b, Value g, Value x, Value) { return b.multiply(g, b.unary<CosineOp>(x)); }>(
      context);
  attachUnary<CosineOp, [](NetBuilder &b, Value g, Value x, Value) {
    return b.negate(b.multiply(g, b.unary<SineOp>(x)));
  }>(context);
  attachUnary<TanOp, [](NetBuilder &b, Value g, Value, Value y) {
    return b.multiply(g, b.add(b.multiply(y, y), b.splatLike(y, 1)));
  }>(context);
  attachUnary<ErfOp, [](NetBuilder &b, Value g, Value x, Value) { return erfCotangent(b, g, x, 1); }>(context);
  attachUnary<ErfcOp, [](NetBuilder &b, Value g, Value x, Value) { return erfCotangent(b, g, x, -1); }>(context);
}

/// g / sqrt(radicand).
static Value divideByRoot(NetBuilder &b, Value g, Value radicand) { return b.multiply(g, b.unary<RsqrtOp>(radicand)); }

/// 1 - x², which keeps its digits where x is close to 1.
static Value oneLessSquare(NetBuilder &b, Value x) {
  return b.multiply(b.subtractFrom(1, x), b.add(x, b.splatLike(x, 1)));
}

/// The derivative of digamma at `x`, at least 1/2: ten terms of the sum of 1/(x + k)², and an asymptotic series of the
/// rest.
static Value trigammaOfPositive(NetBuilder &b, Value x) {
  constexpr int kTerms = 10;
  Value one = b.splatLike(x, 1), sum = b.splatLike(x, 0);
  for (int k = 0; k < kTerms; ++k) {
    Value at = b.add(x, b.splatLike(x, k));
    sum = b.add(sum, b.divide(one, b.multiply(at, at)));
  }
  Value inverse = b.divide(one, b.add(x, b.splatLike(x, kTerms))), square = b.multiply(inverse, inverse);
  Value series = b.splatLike(x, 0);
  for (double bernoulli : {7.0 / 6, -691.0 / 2730, 5.0 / 66, -1.0 / 30, 1.0 / 42, -1.0 / 30, 1.0 / 6})
    series = b.multiply(b.add(series, b.splatLike(x, bernoulli)), square);
  Value rest = b.multiply(inverse, b.add(b.add(one, b.scale(inverse, 0.5)), series));
  return b.add(sum, rest);
}

/// Reflected below 1/2: trigamma(x) + trigamma(1 - x) = π² / sin²(πx).
static Value trigamma(NetBuilder &b, Value x) {
  Value reflects = b.compare(CompareDirection::Lt, x, b.splatLike(x, 0.5));
  Value positive = trigammaOfPositive(b, b.select(reflects, b.subtractFrom(1, x), x));
  Value offset = b.subtract(x, b.unary<RoundOp>(x));
  Value wave = b.divide(b.splatLike(x, std::numbers::pi), b.unary<SineOp>(b.scale(offset, std::numbers::pi)));
  return b.select(reflects, b.subtract(b.multiply(wave, wave), positive), positive);
}

static void attachInverses(MLIRContext *context) {
  attachUnary<AsinOp, [](NetBuilder &b, Value g, Value x, Value) { return divideByRoot(b, g, oneLessSquare(b, x)); }>(
      context);
  attachUnary<AcosOp, [](NetBuilder &b, Value g, Value x, Value) {
    return b.negate(divideByRoot(b, g, oneLessSquare(b, x)));
  }>(context);
  attachUnary<AsinhOp, [](NetBuilder &b, Value g, Value x, Value) {
    return divideByRoot(b, g, b.add(b.multiply(x, x), b.splatLike(x, 1)));
  }>(context);
  attachUnary<AcoshOp, [](NetBuilder &b, Value g, Value x, Value) {
    return divideByRoot(b, g, b.multiply(b.subtract(x, b.splatLike(x, 1)), b.add(x, b.splatLike(x, 1))));
  }>(context);
  attachUnary<AtanhOp, [](NetBuilder &b, Value g, Value x, Value) { return b.divide(g, oneLessSquare(b, x)); }>(
      context);
  attachUnary<SinhOp, [](NetBuilder &b, Value g, Value x, Value) { return b.multiply(g, b.unary<CoshOp>(x)); }>(
      context);
  attachUnary<CoshOp, [](NetBuilder &b, Value g, Value x, Value) { return b.multiply(g, b.unary<SinhOp>(x)); }>(
      context);
  attachUnary<DigammaOp, [](NetBuilder &b, Value g, Value x, Value) { return b.multiply(g, trigamma(b, x)); }>(context);
  attachUnary<LgammaOp, [](NetBuilder &b, Value g, Value x, Value) { return b.multiply(g, b.unary<DigammaOp>(x)); }>(
      context);
}

/// The cotangent is rounded like the value.
static FailureOr<Cotangents> differentiateReducePrecision(ReducePrecisionOp op, Context c) {
  return Cotangents{ReducePrecisionOp::create(c.build.builder, c.build.location, c.cotangent.getType(), c.cotangent,
                                              op.getExponent(), op.getMantissa())};
}

static void attachSteps(MLIRContext *context) {
  attachUnary<AbsOp, [](NetBuilder &b, Value g, Value x, Value) {
    return b.select(b.compare(CompareDirection::Ge, x, b.splatLike(x, 0)), g, b.negate(g));
  }>(context);
  attachUnary<NegateOp, [](NetBuilder &b, Value g, Value, Value) { return b.negate(g); }>(context);
  attachUnary<SignOp, zeroOfUnary>(context);
  attachUnary<FloorOp, zeroOfUnary>(context);
  attachUnary<CeilOp, zeroOfUnary>(context);
  attachUnary<RoundOp, zeroOfUnary>(context);
  attachUnary<ConvertOp, [](NetBuilder &b, Value g, Value x, Value) { return b.convert(g, elementTypeOf(x)); }>(
      context);
}

//===----------------------------------------------------------------------===//
// Functions of two operands
//===----------------------------------------------------------------------===//

namespace {

/// The arguments of a rule of a function of two operands: z = f(x, y), and the cotangent g of z.
struct Two {
  NetBuilder &b;
  Value g, x, y, z;
};

} // namespace

/// Attaches one rule per operand.
template <typename OpT, auto left, auto right> static void attachBinary(MLIRContext *context) {
  attach<OpT, [](OpT op, Context c) -> FailureOr<Cotangents> {
    Two two{c.build, c.cotangent, op.getLhs(), op.getRhs(), op.getResult()};
    return Cotangents{c.wanted.test(0) ? left(two) : Value(), c.wanted.test(1) ? right(two) : Value()};
  }>(context);
}

static Value passOn(const Two &t) { return t.g; }

/// x² arrives as a product with itself; one cotangent serves both operands.
static FailureOr<Cotangents> differentiateMultiply(MultiplyOp op, Context c) {
  Value x = op.getLhs(), y = op.getRhs();
  if (x == y)
    return Cotangents{c.build.multiply(c.cotangent, c.build.scale(x, 2)), Value()};
  return Cotangents{c.wanted.test(0) ? c.build.multiply(c.cotangent, y) : Value(),
                    c.wanted.test(1) ? c.build.multiply(c.cotangent, x) : Value()};
}

/// y x^(y−1), with less work where y is a known number.
static Value powerBase(const Two &t) {
  std::optional<APFloat> exponent = getFloatSplat(t.y);
  if (!exponent)
    return t.b.multiply(t.g, t.b.multiply(t.y, t.b.binary<PowerOp>(t.x, t.b.subtract(t.y, t.b.splatLike(t.y, 1)))));
  if (exponent->isZero())
    return {};
  if (exponent->isExactlyValue(1))
    return t.g;
  if (exponent->isExactlyValue(2))
    return t.b.multiply(t.g, t.b.scale(t.x, 2));
  bool inexact;
  exponent->convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
  double number = exponent->convertToDouble();
  return t.b.multiply(t.g, t.b.scale(t.b.binary<PowerOp>(t.x, t.b.splatLike(t.x, number - 1)), number));
}

/// x^y log x, where log 0 counts as log 1.
static Value powerExponent(const Two &t) {
  Value isZero = t.b.compare(CompareDirection::Eq, t.x, t.b.splatLike(t.x, 0));
  Value base = t.b.select(isZero, t.b.splatLike(t.x, 1), t.x);
  return t.b.multiply(t.g, t.b.multiply(t.b.unary<LogOp>(base), t.z));
}

static Value remainderDivisor(const Two &t) {
  Value quotient = t.b.divide(t.x, t.y);
  Value whole = t.b.multiply(t.b.unary<SignOp>(quotient), t.b.unary<FloorOp>(t.b.unary<AbsOp>(quotient)));
  return t.b.negate(t.b.multiply(t.g, whole));
}

/// g other / (x² + y²).
static Value angle(const Two &t, Value other) {
  Value norm = t.b.add(t.b.multiply(t.x, t.x), t.b.multiply(t.y, t.y));
  return t.b.multiply(t.g, t.b.divide(other, norm));
}

/// The cotangent of `mine` where the larger (smaller) of `mine` and `other` is taken. A tie gives half to each, but
/// nothing to a value that is compared with a constant: relu(0) has derivative 0.
static Value extremum(const Two &t, Value mine, Value other, CompareDirection wins) {
  Value zero = t.b.splatLike(t.g, 0);
  Value tied =
      getConstant(other) ? zero : t.b.select(t.b.compare(CompareDirection::Eq, mine, other), t.b.scale(t.g, 0.5), zero);
  return t.b.select(t.b.compare(wins, mine, other), t.g, tied);
}

static void attachArithmetic(MLIRContext *context) {
  attachBinary<AddOp, passOn, passOn>(context);
  attachBinary<SubtractOp, passOn, [](const Two &t) { return t.b.negate(t.g); }>(context);
  attach<MultiplyOp, differentiateMultiply>(context);
  // The quotient of cotangent and divisor serves both operands.
  attachBinary<DivideOp, [](const Two &t) { return t.b.divide(t.g, t.y); },
               [](const Two &t) { return t.b.negate(t.b.multiply(t.b.divide(t.g, t.y), t.z)); }>(context);
  attachBinary<PowerOp, powerBase, powerExponent>(context);
  attachBinary<RemainderOp, passOn, remainderDivisor>(context);
  attachBinary<Atan2Op, [](const Two &t) { return angle(t, t.y); },
               [](const Two &t) { return t.b.negate(angle(t, t.x)); }>(context);
  attachBinary<MaximumOp, [](const Two &t) { return extremum(t, t.x, t.y, CompareDirection::Gt); },
               [](const Two &t) { return extremum(t, t.y, t.x, CompareDirection::Gt); }>(context);
  attachBinary<MinimumOp, [](const Two &t) { return extremum(t, t.x, t.y, CompareDirection::Lt); },
               [](const Two &t) { return extremum(t, t.y, t.x, CompareDirection::Lt); }>(context);
}

static FailureOr<Cotangents> differentiateSelect(SelectOp op, Context c) {
  Value zero = c.build.splatLike(c.cotangent, 0);
  return Cotangents{Value(), c.wanted.test(1) ? c.build.select(op.getPredicate(), c.cotangent, zero) : Value(),
                    c.wanted.test(2) ? c.build.select(op.getPredicate(), zero, c.cotangent) : Value()};
}

void derivative::attachElementwise(MLIRContext *context) {
  attachExponentials(context);
  attachRootsAndAngles(context);
  attachInverses(context);
  attachSteps(context);
  attachArithmetic(context);
  attach<ReducePrecisionOp, differentiateReducePrecision>(context);
  attach<SelectOp, differentiateSelect>(context);
}
