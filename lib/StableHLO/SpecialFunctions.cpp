//===- SpecialFunctions.cpp - zeta, polygamma, Bessel functions -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The series and their ranges are chosen so that every branch stays finite wherever another one is selected: gradients
// of a selection pass through both branches. Functions of 16-bit floats are computed in f32 and rounded once.
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;
using net::CompareDirection;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

static Value compareWith(net::NetBuilder &b, CompareDirection direction, Value x, double number) {
  return b.compare(direction, x, b.splatLike(x, number));
}

static Value isWhole(net::NetBuilder &b, Value x) {
  return b.compare(CompareDirection::Eq, x, b.unary<net::FloorOp>(x));
}

//===----------------------------------------------------------------------===//
// Hurwitz zeta function
//===----------------------------------------------------------------------===//

/// Parameters of the Euler-Maclaurin formula: the number of terms that are added one by one, and the Bernoulli numbers
/// B2, B4, … divided by 2!, 4!, ….
static constexpr int kTerms = 10;
static constexpr double kBernoulli[] = {
    1.0 / 6 / 2,
    -1.0 / 30 / 24,
    1.0 / 42 / 720,
    -1.0 / 30 / 40320,
    5.0 / 66 / 3628800,
    -691.0 / 2730 / 479001600,
    7.0 / 6 / 87178291200,
    -3617.0 / 510 / 20922789888000,
    43867.0 / 798 / 6402373705728000,
    -174611.0 / 330 / 2432902008176640000,
};

/// The sum of (q + k)^-x over k = 0, 1, …: the first terms directly, the rest by the integral and its corrections.
static Value sumPowers(net::NetBuilder &b, Value x, Value q) {
  Value exponent = b.negate(x), sum;
  auto power = [&](Value base) { return b.binary<net::PowerOp>(base, exponent); };
  for (int k = 0; k < kTerms; ++k) {
    Value term = power(k == 0 ? q : b.add(q, b.splatLike(q, k)));
    sum = sum ? b.add(sum, term) : term;
  }
  Value a = b.add(q, b.splatLike(q, kTerms)), last = power(a);
  sum = b.add(sum, b.divide(b.multiply(last, a), b.subtract(x, b.splatLike(x, 1))));
  sum = b.add(sum, b.scale(last, 0.5));
  // Each correction has two more factors x + i in the numerator and two more factors a in the denominator.
  Value factor = b.multiply(x, b.divide(last, a)), square = b.multiply(a, a);
  for (auto [index, number] : llvm::enumerate(kBernoulli)) {
    sum = b.add(sum, b.scale(factor, number));
    double next = 2.0 * static_cast<double>(index) + 1;
    Value rise = b.multiply(b.add(x, b.splatLike(x, next)), b.add(x, b.splatLike(x, next + 1)));
    factor = b.divide(b.multiply(factor, rise), square);
  }
  return sum;
}

/// zeta(x, q): infinite at the pole x = 1 and at poles of even powers; NaN where a power of a negative number is NaN.
static Value zeta(net::NetBuilder &b, Value x, Value q) {
  Value infinity = b.splatLike(x, kInfinity), nan = b.splatLike(x, kNaN), half = b.scale(x, 0.5);
  Value isNegative = compareWith(b, CompareDirection::Le, q, 0);
  Value isPole = b.binary<net::AndOp>(isNegative, isWhole(b, q));
  Value isUndefined = b.binary<net::AndOp>(isNegative, b.unary<net::NotOp>(isWhole(b, x)));
  Value result = b.select(isUndefined, nan, sumPowers(b, x, q));
  result = b.select(isPole, b.select(isWhole(b, half), infinity, nan), result);
  result = b.select(compareWith(b, CompareDirection::Lt, x, 1), nan, result);
  return b.select(compareWith(b, CompareDirection::Eq, x, 1), infinity, result);
}

/// (-1)^(n+1) n! zeta(n + 1, x); the digamma function for n = 0.
static Value polygamma(net::NetBuilder &b, Value n, Value x) {
  Value isZero = compareWith(b, CompareDirection::Eq, n, 0);
  // For n = 0 the other branch is evaluated away from the pole of zeta, which would spoil gradients.
  Value next = b.select(isZero, b.splatLike(n, 2), b.add(n, b.splatLike(n, 1))), half = b.scale(next, 0.5);
  Value sign = b.select(isWhole(b, half), b.splatLike(n, 1), b.splatLike(n, -1));
  Value factorial = b.unary<net::ExpOp>(b.unary<net::LgammaOp>(next));
  Value result = b.multiply(sign, b.multiply(factorial, zeta(b, next, x)));
  result = b.select(isZero, b.unary<net::DigammaOp>(x), result);
  Value isOrder = b.binary<net::AndOp>(isWhole(b, n), compareWith(b, CompareDirection::Ge, n, 0));
  return b.select(isOrder, result, b.splatLike(n, kNaN));
}

//===----------------------------------------------------------------------===//
// Modified Bessel function I1
//===----------------------------------------------------------------------===//

/// Chebyshev series, interpolated with 50 digits: e^-x I1(x) / x in x/4 - 1 for 0 ≤ x ≤ 8, and e^-x I1(x) sqrt(x) in
/// 16/x - 1 for x ≥ 8.
static constexpr double kNearSeries[] = {
    0.12629359322181682,    -0.17641651835783406,    0.1026436586898471,     -0.05294598120809499,
    0.024726449030626516,   -0.010564084894626197,   0.004156422944312888,   -0.0015135724506312532,
    0.0005122859561685758,  -0.00016176081582589674, 4.781565107550054e-05,  -1.3273163656039436e-05,
    3.4702513081376785e-06, -8.568720264695455e-07,  2.0032947535521353e-07, -4.445059128796328e-08,
    9.381537386495773e-09,  -1.8872497517228294e-09, 3.625590281552117e-10,  -6.663489723502027e-11,
    1.1736186298890901e-11, -1.9839743977649436e-12, 3.223793365945575e-13,  -5.042185504727912e-14,
    7.600684294735408e-15,  -1.1055969477353862e-15, 1.5536319577362005e-16, -2.111421214358166e-17};
static constexpr double kFarSeries[] = {
    0.38928811750914005,     -0.009761097491361469,   -0.00011058893876262371, -3.882564808877691e-06,
    -2.512236237870209e-07,  -2.6314688468895196e-08, -3.835380385964237e-09,  -5.589743462196584e-10,
    -1.8974958123505413e-11, 3.2526035830154884e-11,  1.4125807436613782e-11,  2.0356285441470896e-12,
    -7.198551776245908e-13,  -4.083551111092197e-13,  -2.1015418427726697e-14, 4.2724400167119536e-14,
    1.0420276984128972e-14,  -3.814403072437366e-15,  -1.8803547755108634e-15, 3.3082023109361146e-16,
    2.962628997625507e-16,   -3.209525922280163e-17,  -4.650305367239895e-17};

/// Evaluates the series at `t` by Clenshaw's recurrence.
static Value sumChebyshev(net::NetBuilder &b, Value t, ArrayRef<double> series) {
  Value twice = b.scale(t, 2), sum = b.splatLike(t, 0), before = sum;
  for (double coefficient : llvm::reverse(series.drop_front())) {
    Value next = b.add(b.subtract(b.multiply(twice, sum), before), b.splatLike(t, coefficient));
    before = sum;
    sum = next;
  }
  return b.add(b.subtract(b.multiply(t, sum), before), b.splatLike(t, series.front()));
}

static Value besselI1e(net::NetBuilder &b, Value x) {
  constexpr double kBorder = 8;
  Value magnitude = b.unary<net::AbsOp>(x), border = b.splatLike(x, kBorder), one = b.splatLike(x, 1);
  // Clamps the argument of each series to its own range, so that neither overflows.
  Value near = b.binary<net::MinimumOp>(magnitude, border), far = b.binary<net::MaximumOp>(magnitude, border);
  Value small = b.multiply(near, sumChebyshev(b, b.subtract(b.scale(near, 0.25), one), kNearSeries));
  Value inverse = b.divide(b.splatLike(x, 16), far);
  Value large = b.multiply(sumChebyshev(b, b.subtract(inverse, one), kFarSeries), b.unary<net::RsqrtOp>(far));
  Value value = b.select(b.compare(CompareDirection::Lt, magnitude, border), small, large);
  return b.select(compareWith(b, CompareDirection::Lt, x, 0), b.negate(value), value);
}

//===----------------------------------------------------------------------===//
// The conversions
//===----------------------------------------------------------------------===//

/// Builds `function` of the operands, which are floats of one type. Computes in f32 or wider, so that 16-bit types
/// round once, at the end.
static Converted buildSeries(Conversion &conversion, unsigned operands,
                             function_ref<Value(net::NetBuilder &, ArrayRef<Value>)> function) {
  if (failed(conversion.expect(operands)) || failed(expectOneType(conversion)))
    return failure();
  auto element = dyn_cast<FloatType>(conversion.getType().getElementType());
  if (!element)
    return conversion.error() << "is of " << conversion.getType() << ", not of floats";
  Expression expression(conversion);
  net::NetBuilder &b = expression.build;
  SmallVector<Value> values;
  for (Value operand : conversion.getOp()->getOperands())
    values.push_back(element.getWidth() < 32 ? b.convert(operand, b.builder.getF32Type()) : operand);
  return SmallVector<Value>{b.convert(function(b, values), element)};
}

void importer::addSpecialFunctions(ConverterMap &converters) {
  converters["chlo.bessel_i1e"] = [](Conversion &conversion) {
    return buildSeries(conversion, 1, [](net::NetBuilder &b, ArrayRef<Value> x) { return besselI1e(b, x[0]); });
  };
  converters["chlo.polygamma"] = [](Conversion &conversion) {
    return buildSeries(conversion, 2, [](net::NetBuilder &b, ArrayRef<Value> x) { return polygamma(b, x[0], x[1]); });
  };
  converters["chlo.zeta"] = [](Conversion &conversion) {
    return buildSeries(conversion, 2, [](net::NetBuilder &b, ArrayRef<Value> x) { return zeta(b, x[0], x[1]); });
  };
}
