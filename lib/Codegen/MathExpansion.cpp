//===- MathExpansion.cpp - functions where there is no library ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The textbook ways: the argument is reduced to a small interval by what the function obeys there, a power series or a
// continued fraction does the rest, and fused multiplications and additions keep the roundings few.
//
//===----------------------------------------------------------------------===//

#include "MathExpansion.h"
#include "meshwright/Codegen/ElementEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <numbers>

using namespace mlir;
using namespace meshwright;

namespace {

/// Arithmetic on f64, written as formulas.
class Formulas {
public:
  Formulas(Location location, OpBuilder &builder) : builder(location, builder) {}

  Value exp(Value x);
  Value expm1(Value x);
  Value log(Value x);
  Value log1p(Value x);
  Value tanh(Value x);
  Value erf(Value x);
  Value erfc(Value x);
  Value sin(Value x) { return wave(x, 0); }
  Value cos(Value x) { return wave(x, 1); }
  Value tan(Value x) { return divide(sin(x), cos(x)); }
  Value atan2(Value y, Value x);
  Value cbrt(Value x);
  Value pow(Value x, Value y);
  Value remainder(Value x, Value y);

private:
  using Predicate = arith::CmpFPredicate;

  Value number(double value) { return arith::ConstantOp::create(builder, builder.getF64FloatAttr(value)); }
  Value integer(int64_t value) { return arith::ConstantOp::create(builder, builder.getI64IntegerAttr(value)); }
  Value add(Value a, Value b) { return arith::AddFOp::create(builder, a, b); }
  Value subtract(Value a, Value b) { return arith::SubFOp::create(builder, a, b); }
  Value multiply(Value a, Value b) { return arith::MulFOp::create(builder, a, b); }
  Value divide(Value a, Value b) { return arith::DivFOp::create(builder, a, b); }
  Value fma(Value a, Value b, Value c) { return math::FmaOp::create(builder, a, b, c); }
  Value abs(Value x) { return math::AbsFOp::create(builder, x); }
  Value copySign(Value x, Value sign) { return math::CopySignOp::create(builder, x, sign); }
  Value round(Value x) { return math::RoundEvenOp::create(builder, x); }
  Value select(Value condition, Value a, Value b) { return arith::SelectOp::create(builder, condition, a, b); }
  Value compare(Predicate predicate, Value a, double b) {
    return arith::CmpFOp::create(builder, predicate, a, number(b));
  }
  Value both(Value a, Value b) { return arith::AndIOp::create(builder, a, b); }
  Value toInteger(Value x) { return arith::FPToSIOp::create(builder, builder.getI64Type(), x); }
  Value toBits(Value x) { return arith::BitcastOp::create(builder, builder.getI64Type(), x); }
  Value fromBits(Value bits) { return arith::BitcastOp::create(builder, builder.getF64Type(), bits); }

  Value series(Value x, ArrayRef<double> coefficients);
  Value powerOfTwo(Value exponent);
  Value scaleByPowerOfTwo(Value x, Value exponent);
  Value getExponent(Value x);
  Value wave(Value x, int64_t quarters);
  Value atanOfFraction(Value t);

  ImplicitLocOpBuilder builder;
};

} // namespace

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
/// The logarithm of 2 in two parts; products of the first with small integers are exact.
static constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;

/// c0 + c1 x + c2 x² …
Value Formulas::series(Value x, ArrayRef<double> coefficients) {
  Value sum = number(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    sum = fma(sum, x, number(coefficient));
  return sum;
}

/// The reciprocals of the factorials of `first`, `first` + `step` … with alternating signs where `step` is 2.
static SmallVector<double> getFactorials(int first, int step, int count) {
  SmallVector<double> coefficients;
  double factorial = 1;
  for (int index = 1; index <= first; ++index)
    factorial *= index;
  for (int index = 0; index < count; ++index) {
    coefficients.push_back((step == 2 && index % 2 ? -1 : 1) / factorial);
    for (int factor = 1; factor <= step; ++factor)
      factorial *= first + index * step + factor;
  }
  return coefficients;
}

/// 1/`first`, 1/(`first` + 2) …, with alternating signs if asked for.
static SmallVector<double> getOddFractions(int first, int count, bool alternates) {
  SmallVector<double> coefficients;
  for (int index = 0; index < count; ++index)
    coefficients.push_back((alternates && index % 2 ? -1.0 : 1.0) / (first + 2 * index));
  return coefficients;
}

Value Formulas::powerOfTwo(Value exponent) {
  Value biased = arith::AddIOp::create(builder, exponent, integer(1023));
  return fromBits(arith::ShLIOp::create(builder, biased, integer(52)));
}

/// In two steps, because the power alone may be out of range.
Value Formulas::scaleByPowerOfTwo(Value x, Value exponent) {
  Value half = arith::ShRSIOp::create(builder, exponent, integer(1));
  Value rest = arith::SubIOp::create(builder, exponent, half);
  return multiply(multiply(x, powerOfTwo(half)), powerOfTwo(rest));
}

/// 2^n e^r with |r| at most half the logarithm of 2.
Value Formulas::exp(Value x) {
  Value bounded = select(compare(Predicate::OGT, x, 710), number(710), x);
  bounded = select(compare(Predicate::OLT, bounded, -746), number(-746), bounded);
  Value n = round(multiply(bounded, number(std::numbers::log2e)));
  Value r = fma(n, number(-kLn2Low), fma(n, number(-kLn2High), bounded));
  Value power = series(r, getFactorials(0, 1, 14));
  return select(compare(Predicate::UNO, x, 0), x, scaleByPowerOfTwo(power, toInteger(n)));
}

Value Formulas::expm1(Value x) {
  Value small = multiply(x, series(x, getFactorials(1, 1, 16)));
  return select(compare(Predicate::OLT, abs(x), 0.5), small, subtract(exp(x), number(1)));
}

/// n ln 2 + 2 artanh s, where x is 2^n (1 + s) / (1 - s) and the last factor between the roots of 1/2 and 2.
Value Formulas::log(Value x) {
  Value isTiny = compare(Predicate::OLT, x, 0x1p-1022);
  Value bits = toBits(select(isTiny, multiply(x, number(0x1p54)), x)), exponent = getExponent(x);
  Value mantissa = fromBits(arith::OrIOp::create(
      builder, arith::AndIOp::create(builder, bits, integer((int64_t(1) << 52) - 1)), integer(int64_t(1023) << 52)));
  Value isUpper = compare(Predicate::OGT, mantissa, std::numbers::sqrt2);
  mantissa = select(isUpper, multiply(mantissa, number(0.5)), mantissa);
  exponent = select(isUpper, arith::AddIOp::create(builder, exponent, integer(1)), exponent);
  Value n = arith::SIToFPOp::create(builder, builder.getF64Type(), exponent);
  Value f = subtract(mantissa, number(1)), s = divide(f, add(f, number(2))), z = multiply(s, s);
  Value twice = add(s, s);
  Value rest = multiply(multiply(twice, z), series(z, getOddFractions(3, 11, /*alternates=*/false)));
  Value result = fma(n, number(kLn2High), add(twice, fma(n, number(kLn2Low), rest)));
  result = select(compare(Predicate::OEQ, x, 0), number(-kInfinity), result);
  result = select(compare(Predicate::OLT, x, 0), number(kNaN), result);
  return select(compare(Predicate::UEQ, x, kInfinity), x, result);
}

/// The rounding of 1 + x is made good by the slope there.
Value Formulas::log1p(Value x) {
  Value sum = add(x, number(1));
  Value result = divide(multiply(log(sum), x), subtract(sum, number(1)));
  result = select(compare(Predicate::OEQ, sum, 1), x, result);
  return select(compare(Predicate::OEQ, x, kInfinity), x, result);
}

Value Formulas::tanh(Value x) {
  Value size = abs(x), power = expm1(add(size, size));
  Value result = divide(power, add(power, number(2)));
  return copySign(select(compare(Predicate::OGT, size, 22), number(1), result), x);
}

/// Up to 2 by a series of positive terms: 2x/√π e^-x² (1 + z/3 (1 + z/5 (1 + …))), where z is 2x².
Value Formulas::erf(Value x) {
  Value size = abs(x), square = multiply(size, size), z = add(square, square);
  Value sum = number(1);
  for (int term = 36; term > 0; --term)
    sum = fma(multiply(z, number(1.0 / (2 * term + 1))), sum, number(1));
  Value factor = multiply(size, number(2 * std::numbers::inv_sqrtpi));
  Value small = multiply(multiply(factor, exp(subtract(number(0), square))), sum);
  // The continued fraction e^-x² / √π / (x + 1/2 / (x + 1 / (x + 3/2 / (x + …)))) of 1 - erf x.
  Value depth = size;
  for (int term = 50; term > 0; --term)
    depth = add(size, divide(number(term * 0.5), depth));
  Value rest = divide(multiply(exp(subtract(number(0), square)), number(std::numbers::inv_sqrtpi)), depth);
  Value large = select(compare(Predicate::OGT, size, 6), number(1), subtract(number(1), rest));
  return copySign(select(compare(Predicate::OGE, size, 2), large, small), x);
}

Value Formulas::erfc(Value x) {
  Value depth = x;
  for (int term = 50; term > 0; --term)
    depth = add(x, divide(number(term * 0.5), depth));
  Value square = multiply(x, x);
  Value tail = divide(multiply(exp(subtract(number(0), square)), number(std::numbers::inv_sqrtpi)), depth);
  tail = select(compare(Predicate::OGT, x, 28), number(0), tail);
  return select(compare(Predicate::OGE, x, 2), tail, subtract(number(1), erf(x)));
}

/// The sine, so many quarters of a turn ahead.
Value Formulas::wave(Value x, int64_t quarters) {
  Value n = round(multiply(x, number(2 / std::numbers::pi)));
  Value r = x;
  for (double part : {0x1.921fb54442d18p0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110})
    r = fma(n, number(-part), r);
  Value square = multiply(r, r);
  Value sine = multiply(r, series(square, getFactorials(1, 2, 9)));
  Value cosine = series(square, getFactorials(0, 2, 10));
  Value quarter = arith::AddIOp::create(builder, toInteger(n), integer(quarters));
  auto has = [&](int64_t bit) -> Value {
    Value set = arith::AndIOp::create(builder, quarter, integer(bit));
    return arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, set, integer(0));
  };
  Value result = select(has(1), cosine, sine);
  result = select(has(2), subtract(number(0), result), result);
  return select(compare(Predicate::ULT, abs(x), 0x1p62), result, number(kNaN));
}

/// The angle of a tangent from 0 to 1: that of the upper half is 45 degrees and a smaller one.
Value Formulas::atanOfFraction(Value t) {
  Value isUpper = compare(Predicate::OGT, t, std::numbers::sqrt2 - 1);
  Value u = select(isUpper, divide(subtract(t, number(1)), add(t, number(1))), t);
  Value angle = multiply(u, series(multiply(u, u), getOddFractions(1, 23, /*alternates=*/true)));
  return select(isUpper, add(angle, number(std::numbers::pi / 4)), angle);
}

Value Formulas::atan2(Value y, Value x) {
  Value height = abs(y), length = abs(x);
  Value isSteep = arith::CmpFOp::create(builder, Predicate::OGT, height, length);
  Value least = select(isSteep, length, height), most = select(isSteep, height, length);
  Value t = divide(least, most);
  t = select(compare(Predicate::OEQ, most, 0), number(0), t);
  t = select(compare(Predicate::OEQ, least, kInfinity), number(1), t);
  Value angle = atanOfFraction(t);
  angle = select(isSteep, subtract(number(std::numbers::pi / 2), angle), angle);
  Value isBehind = compare(Predicate::OLT, copySign(number(1), x), 0);
  angle = select(isBehind, subtract(number(std::numbers::pi), angle), angle);
  Value result = copySign(angle, y);
  return select(arith::CmpFOp::create(builder, Predicate::UNO, x, y), number(kNaN), result);
}

/// By the logarithm, and a step of Newton's, far from where its cube would underflow.
Value Formulas::cbrt(Value x) {
  Value isTiny = compare(Predicate::OLT, abs(x), 0x1p-600);
  Value size = select(isTiny, multiply(abs(x), number(0x1p600)), abs(x));
  Value root = exp(divide(log(size), number(3)));
  Value square = multiply(root, root), excess = fma(square, root, subtract(number(0), size));
  root = subtract(root, divide(excess, multiply(square, number(3))));
  root = select(isTiny, multiply(root, number(0x1p-200)), root);
  Value isSelf = arith::OrIOp::create(builder, compare(Predicate::OEQ, x, 0), compare(Predicate::UEQ, size, kInfinity));
  return select(isSelf, x, copySign(root, x));
}

Value Formulas::pow(Value x, Value y) {
  Value size = abs(x), result = exp(multiply(y, log(size)));
  Value half = multiply(y, number(0.5));
  auto isWhole = [&](Value value) -> Value {
    return arith::CmpFOp::create(builder, Predicate::OEQ, math::FloorOp::create(builder, value), value);
  };
  Value whole = isWhole(y), even = isWhole(half);
  result = select(
      both(whole, arith::XOrIOp::create(builder, even, arith::ConstantOp::create(builder, builder.getBoolAttr(true)))),
      copySign(result, x), result);
  Value isRoot = both(compare(Predicate::OLT, x, 0), compare(Predicate::OLT, size, kInfinity));
  result = select(both(isRoot, arith::CmpFOp::create(builder, Predicate::ONE, math::FloorOp::create(builder, y), y)),
                  number(kNaN), result);
  Value isUnit = both(compare(Predicate::OEQ, size, 1), compare(Predicate::OEQ, abs(y), kInfinity));
  Value isOne = arith::OrIOp::create(builder, compare(Predicate::OEQ, y, 0), compare(Predicate::OEQ, x, 1));
  return select(arith::OrIOp::create(builder, isUnit, isOne), number(1), result);
}

/// The exponent of a number that is positive and finite.
Value Formulas::getExponent(Value x) {
  Value isTiny = compare(Predicate::OLT, x, 0x1p-1022);
  Value bits = toBits(select(isTiny, multiply(x, number(0x1p54)), x));
  return arith::SubIOp::create(builder, arith::ShRUIOp::create(builder, bits, integer(52)),
                               select(isTiny, integer(1023 + 54), integer(1023)));
}

/// Long division: as long as the rest is not less than the divisor, it loses a multiple of the divisor times a power of
/// two. The quotient has at most 51 bits and may be one off; the new rest is exact.
Value Formulas::remainder(Value x, Value y) {
  Value divisor = abs(y);
  auto isLonger = [&](Value rest) {
    Value isLeft = arith::CmpFOp::create(builder, Predicate::OGE, rest, divisor);
    return both(both(isLeft, compare(Predicate::OGT, divisor, 0)), compare(Predicate::OLT, rest, kInfinity));
  };
  auto divideOnce = [&](Value rest) {
    Value distance = arith::SubIOp::create(builder, getExponent(rest), getExponent(divisor));
    Value shift = arith::MaxSIOp::create(builder, arith::SubIOp::create(builder, distance, integer(50)), integer(0));
    Value multiple = scaleByPowerOfTwo(divisor, shift);
    Value quotient = math::FloorOp::create(builder, divide(rest, multiple));
    Value next = fma(subtract(number(0), quotient), multiple, rest);
    return select(compare(Predicate::OLT, next, 0), add(next, multiple), next);
  };
  Value result = copySign(emit::buildWhile(builder, abs(x), isLonger, divideOnce), x);
  Value isDefined = both(compare(Predicate::OGT, divisor, 0), compare(Predicate::OLT, abs(x), kInfinity));
  return select(isDefined, result, number(kNaN));
}

namespace {

/// Replaces an operation by its formula, which it computes in f64.
template <typename Op, auto formula> struct Expand : OpRewritePattern<Op> {
  Expand(MLIRContext *context, bool onlyDouble) : OpRewritePattern<Op>(context), onlyDouble(onlyDouble) {}

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    auto type = dyn_cast<FloatType>(getElementTypeOrSelf(op.getType()));
    if (!type || (onlyDouble && !type.isF64()))
      return failure();
    if (auto vector = dyn_cast<VectorType>(op.getType()))
      return splitLanes(op, vector, rewriter);
    SmallVector<Value> operands(op->getOperands());
    if (!type.isF64())
      for (Value &operand : operands)
        operand = arith::ExtFOp::create(rewriter, op.getLoc(), rewriter.getF64Type(), operand);
    Formulas formulas(op.getLoc(), rewriter);
    Value result;
    if constexpr (std::is_invocable_v<decltype(formula), Formulas &, Value>)
      result = (formulas.*formula)(operands[0]);
    else
      result = (formulas.*formula)(operands[0], operands[1]);
    if (!type.isF64())
      result = arith::TruncFOp::create(rewriter, op.getLoc(), type, result);
    rewriter.replaceOp(op, result);
    return success();
  }

  /// Formulas have loops and branches, so lanes are computed one by one.
  static LogicalResult splitLanes(Op op, VectorType type, PatternRewriter &rewriter) {
    Value result = arith::ConstantOp::create(rewriter, op.getLoc(), type, rewriter.getZeroAttr(type));
    for (int64_t lane = 0; lane < type.getNumElements(); ++lane) {
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(vector::ExtractOp::create(rewriter, op.getLoc(), operand, lane));
      Value element = Op::create(rewriter, op.getLoc(), TypeRange(type.getElementType()), operands);
      result = vector::InsertOp::create(rewriter, op.getLoc(), element, result, lane);
    }
    rewriter.replaceOp(op, result);
    return success();
  }

  /// True if narrower types have expansions of their own, so that only f64 is expanded.
  bool onlyDouble;
};

/// `ex2.approx` has a relative error of up to 2^-22 (PTX ISA); the product before it is rounded as usual.
struct ApproximateExp : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ExpOp op, PatternRewriter &rewriter) const override {
    Type type = rewriter.getF32Type();
    if (op.getType() != type)
      return failure();
    ImplicitLocOpBuilder builder(op.getLoc(), rewriter);
    Value factor = arith::ConstantOp::create(builder, builder.getF32FloatAttr(std::numbers::log2e_v<float>));
    Value product = arith::MulFOp::create(builder, op.getOperand(), factor);
    rewriter.replaceOp(
        op, LLVM::CallIntrinsicOp::create(builder, type, builder.getStringAttr("llvm.nvvm.ex2.approx"), product));
    return success();
  }
};

} // namespace

void emit::populateApproximationPatterns(RewritePatternSet &patterns) {
  constexpr unsigned kFirst = 2;
  patterns.add<ApproximateExp>(patterns.getContext(), kFirst);
}

void emit::populateMathExpansionPatterns(RewritePatternSet &patterns) {
  patterns.add<Expand<math::ExpOp, &Formulas::exp>, Expand<math::ExpM1Op, &Formulas::expm1>,
               Expand<math::LogOp, &Formulas::log>, Expand<math::Log1pOp, &Formulas::log1p>,
               Expand<math::TanhOp, &Formulas::tanh>, Expand<math::ErfOp, &Formulas::erf>,
               Expand<math::ErfcOp, &Formulas::erfc>>(patterns.getContext(), /*onlyDouble=*/true);
  patterns.add<Expand<arith::RemFOp, &Formulas::remainder>, Expand<math::SinOp, &Formulas::sin>,
               Expand<math::CosOp, &Formulas::cos>, Expand<math::TanOp, &Formulas::tan>,
               Expand<math::Atan2Op, &Formulas::atan2>, Expand<math::CbrtOp, &Formulas::cbrt>,
               Expand<math::PowFOp, &Formulas::pow>>(patterns.getContext(),
                                                     /*onlyDouble=*/false);
}
