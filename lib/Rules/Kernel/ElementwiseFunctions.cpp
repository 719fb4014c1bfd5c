//===- ElementwiseFunctions.cpp - functions that no machine has -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Written with the functions that every target has: exponentials, logarithms, roots and angles. Gamma functions count
// up to where an asymptotic series has all digits (Abramowitz and Stegun, 6.1.40 and 6.3.18), and reflect at zero.
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"
#include <numbers>

using namespace mlir;
using namespace meshwright;
using Predicate = mlir::arith::CmpFPredicate;

namespace {

/// Arithmetic on floats of one type, f32 or f64.
class Formulas {
public:
  Formulas(kernel::Builder &builder, Type type) : builder(builder), type(cast<FloatType>(type)) {}

  Value number(double value) { return kernel::constant(builder, type, value); }
  Value infinity() { return number(std::numeric_limits<double>::infinity()); }
  Value nan() { return number(std::numeric_limits<double>::quiet_NaN()); }
  Value add(Value a, Value b) { return arith::AddFOp::create(builder, a, b); }
  Value add(Value a, double b) { return add(a, number(b)); }
  Value subtract(Value a, Value b) { return arith::SubFOp::create(builder, a, b); }
  Value multiply(Value a, Value b) { return arith::MulFOp::create(builder, a, b); }
  Value scale(Value a, double b) { return multiply(a, number(b)); }
  Value divide(Value a, Value b) { return arith::DivFOp::create(builder, a, b); }
  Value reciprocal(Value a) { return divide(number(1), a); }
  Value abs(Value a) { return math::AbsFOp::create(builder, a); }
  Value round(Value a) { return math::RoundEvenOp::create(builder, a); }
  Value sqrt(Value a) { return math::SqrtOp::create(builder, a); }
  Value exp(Value a) { return math::ExpOp::create(builder, a); }
  Value expm1(Value a) { return math::ExpM1Op::create(builder, a); }
  Value log(Value a) { return math::LogOp::create(builder, a); }
  Value log1p(Value a) { return math::Log1pOp::create(builder, a); }
  Value sin(Value a) { return math::SinOp::create(builder, a); }
  Value cos(Value a) { return math::CosOp::create(builder, a); }
  Value atan2(Value y, Value x) { return math::Atan2Op::create(builder, y, x); }
  Value copySign(Value a, Value sign) { return math::CopySignOp::create(builder, a, sign); }
  Value compare(Predicate predicate, Value a, double b) {
    return arith::CmpFOp::create(builder, predicate, a, number(b));
  }
  Value select(Value condition, Value a, Value b) { return arith::SelectOp::create(builder, condition, a, b); }
  Value both(Value a, Value b) { return arith::AndIOp::create(builder, a, b); }

  /// c0 + c1 x + c2 x² + …
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value sum = number(coefficients.back());
    for (double coefficient : llvm::reverse(coefficients.drop_back()))
      sum = add(multiply(sum, x), coefficient);
    return sum;
  }
  /// The number from which on a square is lost beside it: x + 1/x is x.
  double large() { return type.getWidth() == 64 ? 0x1p28 : 0x1p13; }

private:
  kernel::Builder &builder;
  FloatType type;
};

} // namespace

/// e^|x| / 2, which is finite where half of the exponential is.
static Value halfExponential(Formulas &f, Value magnitude) {
  Value root = f.exp(f.scale(magnitude, 0.5));
  return f.multiply(f.scale(root, 0.5), root);
}

/// For small x, the exponential less one keeps the digits that a difference of exponentials loses.
static Value sinh(Formulas &f, Value x) {
  Value magnitude = f.abs(x), less = f.expm1(magnitude);
  Value small = f.scale(f.add(less, f.divide(less, f.add(less, 1))), 0.5);
  Value isSmall = f.compare(Predicate::OLT, magnitude, 20);
  return f.copySign(f.select(isSmall, small, halfExponential(f, magnitude)), x);
}

static Value cosh(Formulas &f, Value x) {
  Value half = halfExponential(f, f.abs(x));
  return f.add(half, f.divide(f.number(0.25), half));
}

/// (1 - x)(1 + x) keeps its digits where x is close to 1.
static Value asin(Formulas &f, Value x) {
  Value one = f.number(1);
  return f.atan2(x, f.sqrt(f.multiply(f.subtract(one, x), f.add(one, x))));
}

static Value acos(Formulas &f, Value x) {
  Value one = f.number(1);
  return f.scale(f.atan2(f.sqrt(f.subtract(one, x)), f.sqrt(f.add(one, x))), 2);
}

/// log(x + sqrt(x² + 1)), of a number that is not negative.
static Value asinh(Formulas &f, Value x) {
  Value magnitude = f.abs(x), square = f.multiply(magnitude, magnitude);
  Value root = f.add(f.sqrt(f.add(square, 1)), 1);
  Value near = f.log1p(f.add(magnitude, f.divide(square, root)));
  Value far = f.add(f.log(magnitude), std::numbers::ln2);
  return f.copySign(f.select(f.compare(Predicate::OGT, magnitude, f.large()), far, near), x);
}

/// log(x + sqrt(x² - 1)); the distance to 1 is exact near it.
static Value acosh(Formulas &f, Value x) {
  Value above = f.subtract(x, f.number(1));
  Value near = f.log1p(f.add(above, f.sqrt(f.multiply(above, f.add(above, 2)))));
  Value far = f.add(f.log(x), std::numbers::ln2);
  Value result = f.select(f.compare(Predicate::OGT, x, f.large()), far, near);
  return f.select(f.compare(Predicate::OLT, x, 1), f.nan(), result);
}

static Value atanh(Formulas &f, Value x) {
  Value magnitude = f.abs(x);
  Value ratio = f.divide(f.scale(magnitude, 2), f.subtract(f.number(1), magnitude));
  return f.copySign(f.scale(f.log1p(ratio), 0.5), x);
}

//===----------------------------------------------------------------------===//
// The gamma function
//===----------------------------------------------------------------------===//

/// Arguments less than this are raised by as many steps; beyond it, the series has all digits.
static constexpr int kSteps = 10;

/// The distance from the nearest integer, exact.
static Value fromInteger(Formulas &f, Value x) { return f.subtract(x, f.round(x)); }

/// The logarithm of gamma at `x`, at least 1/2.
static Value lgammaOfPositive(Formulas &f, Value x) {
  Value isSmall = f.compare(Predicate::OLT, x, kSteps);
  Value product = x;
  for (int step = 1; step < kSteps; ++step)
    product = f.multiply(product, f.add(x, step));
  Value y = f.select(isSmall, f.add(x, kSteps), x), inverse = f.reciprocal(y);
  Value series = f.polynomial(f.multiply(inverse, inverse),
                              {1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188, -691.0 / 360360, 1.0 / 156});
  // (y - 1/2)(log y - 1) - 1/2 instead of (y - 1/2) log y - y, which is no number at infinity.
  Value main = f.multiply(f.add(y, -0.5), f.add(f.log(y), -1));
  Value logOfRoot = f.number(0.5 * std::log(2 * std::numbers::pi) - 0.5);
  Value result = f.add(f.add(main, logOfRoot), f.multiply(inverse, series));
  return f.select(isSmall, f.subtract(result, f.log(product)), result);
}

static Value lgamma(Formulas &f, Value x) {
  Value reflects = f.compare(Predicate::OLT, x, 0.5);
  Value positive = lgammaOfPositive(f, f.select(reflects, f.subtract(f.number(1), x), x));
  Value wave = f.sin(f.scale(f.abs(fromInteger(f, x)), std::numbers::pi));
  Value reflected = f.subtract(f.log(f.divide(f.number(std::numbers::pi), wave)), positive);
  Value isInfinite = f.compare(Predicate::OEQ, x, -std::numeric_limits<double>::infinity());
  return f.select(isInfinite, f.infinity(), f.select(reflects, reflected, positive));
}

/// The logarithmic derivative of gamma at `x`, at least 1/2.
static Value digammaOfPositive(Formulas &f, Value x) {
  Value isSmall = f.compare(Predicate::OLT, x, kSteps);
  Value sum = f.reciprocal(x);
  for (int step = 1; step < kSteps; ++step)
    sum = f.add(sum, f.reciprocal(f.add(x, step)));
  Value y = f.select(isSmall, f.add(x, kSteps), x), inverse = f.reciprocal(y), square = f.multiply(inverse, inverse);
  Value series =
      f.polynomial(square, {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12});
  Value result = f.subtract(f.subtract(f.log(y), f.scale(inverse, 0.5)), f.multiply(square, series));
  return f.select(isSmall, f.subtract(result, sum), result);
}

static Value digamma(Formulas &f, Value x) {
  Value reflects = f.compare(Predicate::OLT, x, 0.5);
  Value positive = digammaOfPositive(f, f.select(reflects, f.subtract(f.number(1), x), x));
  // The cotangent has the period of the integers.
  Value angle = f.scale(fromInteger(f, x), std::numbers::pi);
  Value cotangent = f.scale(f.divide(f.cos(angle), f.sin(angle)), std::numbers::pi);
  Value isPole = f.both(f.compare(Predicate::OLE, x, 0), f.compare(Predicate::OEQ, fromInteger(f, x), 0));
  return f.select(isPole, f.nan(), f.select(reflects, f.subtract(positive, cotangent), positive));
}

//===----------------------------------------------------------------------===//
// Their operations
//===----------------------------------------------------------------------===//

static Value compute(kernel::Function function, Formulas &f, Value x) {
  switch (function) {
  case kernel::Function::Acos:
    return acos(f, x);
  case kernel::Function::Acosh:
    return acosh(f, x);
  case kernel::Function::Asin:
    return asin(f, x);
  case kernel::Function::Asinh:
    return asinh(f, x);
  case kernel::Function::Atanh:
    return atanh(f, x);
  case kernel::Function::Cosh:
    return cosh(f, x);
  case kernel::Function::Digamma:
    return digamma(f, x);
  case kernel::Function::Lgamma:
    return lgamma(f, x);
  case kernel::Function::Sinh:
    return sinh(f, x);
  }
  llvm_unreachable("every function is computed");
}

Value kernel::computeFunction(Builder &builder, Function function, Value x) {
  // Sums of gamma functions cancel by more than f32 has digits to spare.
  bool widens = x.getType().isF32() && (function == Function::Lgamma || function == Function::Digamma);
  Type type = widens ? builder.getF64Type() : x.getType();
  Formulas formulas(builder, type);
  return convertFloat(builder, compute(function, formulas, convertFloat(builder, x, type)), x.getType());
}
