//===- TanhFormTest.cpp - functions of polynomials and one tanh -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernels/TanhForm.h"
#include "gtest/gtest.h"
#include <cmath>

using meshwright::schedule::TanhForm;

namespace {

constexpr double kExact = 1e-14;

TanhForm number(double value) { return TanhForm::constant(value); }
const double kSlope = std::sqrt(2 / std::acos(-1.0));
const TanhForm x = TanhForm::variable();

/// x/2 · (1 + tanh(slope · (x + cubic · x³))).
std::optional<TanhForm> makeGelu(double slope, double cubic, double half = 0.5) {
  TanhForm cube = *(*(x * x) * x);
  TanhForm inner = *(number(slope) * *(x + *(number(cubic) * cube)));
  return *(number(half) * x) * *(number(1) + *inner.tanh());
}

} // namespace

TEST(TanhForm, IsGeluHoweverItIsWritten) {
  EXPECT_TRUE(makeGelu(kSlope, 0.044715)->isGelu(kExact));
  // x · cdf(x), with the cube as a power and the argument multiplied out.
  TanhForm inner = *(*(number(kSlope * 0.044715) * *x.power(number(3))) + *(x * number(kSlope)));
  TanhForm cdf = *(*(*inner.tanh() + number(1)) / number(2));
  EXPECT_TRUE((x * cdf)->isGelu(kExact));
  // x - x · (1 - cdf(x)).
  TanhForm rest = *(x * *(number(1) + cdf.negate()));
  EXPECT_TRUE((x + rest.negate())->isGelu(kExact));
}

TEST(TanhForm, IsNoGeluWithOtherNumbers) {
  EXPECT_FALSE(makeGelu(kSlope, 0.0447)->isGelu(1e-5));
  EXPECT_TRUE(makeGelu(kSlope, 0.0447)->isGelu(1e-3));
  EXPECT_FALSE(makeGelu(0.8, 0.044715)->isGelu(1e-3));
  EXPECT_FALSE(makeGelu(kSlope, 0.044715, 0.51)->isGelu(1e-3));
  EXPECT_FALSE(makeGelu(kSlope, 0)->isGelu(1e-3));
  EXPECT_FALSE((*makeGelu(kSlope, 0.044715) + number(1e-3))->isGelu(1e-1));
  EXPECT_FALSE((*makeGelu(kSlope, 0.044715) + *(*(x * x) * number(1e-3)))->isGelu(1e-1));
  EXPECT_FALSE(makeGelu(std::nan(""), 0.044715)->isGelu(1e-3));
  EXPECT_FALSE(makeGelu(INFINITY, 0.044715)->isGelu(1e-3));
  EXPECT_FALSE(x.isGelu(1e-3));
}

TEST(TanhForm, IsTheVariable) {
  EXPECT_TRUE(x.isVariable());
  EXPECT_TRUE((*(x + number(2)) + number(-2))->isVariable());
  EXPECT_TRUE((*(x * number(4)) / number(4))->isVariable());
  EXPECT_FALSE(number(1).isVariable());
  EXPECT_FALSE((x + number(1))->isVariable());
  EXPECT_FALSE((x * x)->isVariable());
  // A tanh is added and subtracted again.
  TanhForm bent = *(x + *x.tanh());
  EXPECT_FALSE(bent.isVariable());
  EXPECT_TRUE((bent + x.tanh()->negate())->isVariable());
}

TEST(TanhForm, EndsWhereTheFormDoes) {
  TanhForm bent = *x.tanh(), other = *(x * x)->tanh();
  EXPECT_FALSE(bent * bent);
  EXPECT_FALSE(bent + other);
  EXPECT_FALSE(bent.tanh());
  EXPECT_FALSE(x / x);
  EXPECT_FALSE(x / number(0));
  EXPECT_FALSE(x.power(x));
  EXPECT_FALSE(x.power(number(0.5)));
  EXPECT_FALSE(x.power(number(-1)));
  EXPECT_FALSE(x.power(number(1e9)));
  EXPECT_FALSE(x.power(number(7))->power(number(7)));
  // No tanh is left of that of 0.
  EXPECT_TRUE((x + *number(0).tanh())->isVariable());
}
