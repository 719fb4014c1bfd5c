//===- ComparatorTest.cpp - when two values agree -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Comparator.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace meshwright;
using namespace meshwright::runtime;

template <typename T> static Tensor make(DType type, std::vector<T> values) {
  Tensor tensor(type, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.as<T>().begin());
  return tensor;
}

static Comparison compareF64(std::vector<double> a, std::vector<double> b, double scale) {
  return compare(make(F64, a).view(), make(F64, b).view(), scale, F64);
}

static Comparison compareF32(std::vector<float> a, std::vector<float> b, double scale) {
  return compare(make(F32, a).view(), make(F32, b).view(), scale, F64);
}

TEST(Comparator, DifferenceIsRelativeToTheReference) {
  // ||(3e-12, 4e-12)|| / ||(6, 8)|| = 5e-12 / 10.
  Comparison close = compareF64({6 + 3e-12, 8 + 4e-12}, {6, 8}, 0);
  EXPECT_NEAR(close.difference, 5e-13, 1e-15);
  EXPECT_EQ(close.tolerance, 1e-11);
  EXPECT_TRUE(close.agrees());
  EXPECT_TRUE(compareF64({1 + 0.9e-11}, {1}, 0).agrees());
  EXPECT_FALSE(compareF64({1 + 1.1e-11}, {1}, 0).agrees());
  EXPECT_TRUE(compareF32({1 + 9e-5f}, {1}, 0).agrees());
  EXPECT_FALSE(compareF32({1 + 11e-5f}, {1}, 0).agrees());
}

TEST(Comparator, ScaleStandsInForSmallReferences) {
  EXPECT_FALSE(compareF64({1e-17}, {3e-17}, 0).agrees());
  EXPECT_TRUE(compareF64({1e-17}, {3e-17}, 1e-3).agrees());
  EXPECT_NEAR(compareF64({1e-17}, {3e-17}, 1e-3).difference, 2e-14, 1e-20);
  EXPECT_FALSE(compareF64({1e-3}, {3e-17}, 1e-3).agrees());
  EXPECT_FALSE(compareF64({1e-300}, {0}, 0).agrees()) << "nothing but zero agrees with zero where there is no scale";
}

TEST(Comparator, IntegersAreEqualOrNot) {
  EXPECT_TRUE(compare(make<int32_t>(I32, {1, 2}).view(), make<int32_t>(I32, {1, 2}).view(), 1, F32).agrees());
  Comparison differs = compare(make<int32_t>(I32, {1, 2, 3}).view(), make<int32_t>(I32, {1, 3, 4}).view(), 1, F32);
  EXPECT_FALSE(differs.agrees());
  EXPECT_EQ(differs.difference, 2);
}

TEST(Comparator, WhatIsNoNumberAgreesWithItselfOnly) {
  double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(compareF64({nan, 1}, {nan, 1 + 1e-13}, 0).agrees());
  EXPECT_FALSE(compareF64({nan, 1}, {1, 1}, 0).agrees());
  EXPECT_FALSE(compareF64({1, 1}, {nan, 1}, 0).agrees());
  EXPECT_TRUE(compareF64({inf, 1}, {inf, 1}, 0).agrees());
  EXPECT_FALSE(compareF64({inf, 1}, {-inf, 1}, 0).agrees());
  EXPECT_FALSE(compareF64({inf, 1}, {inf, 2}, 0).agrees()) << "an infinite element does not hide the others";
}

TEST(Comparator, WiderToleranceOfTypeAndArithmeticCounts) {
  std::vector<float> a = {1 + 0x1p-6f}, b = {1};
  EXPECT_FALSE(compare(make(F32, a).view(), make(F32, b).view(), 0, F32).agrees());
  EXPECT_TRUE(compare(make(F32, a).view(), make(F32, b).view(), 0, BF16).agrees());
  EXPECT_EQ(getTolerance(BF16), 0.0625);
  EXPECT_EQ(getTolerance(F16), 0.0078125);
}

TEST(Comparator, NormsDoNotOverflow) {
  EXPECT_DOUBLE_EQ(getNorm(make<double>(F64, {3e200, 4e200}).view()), 5e200);
  EXPECT_DOUBLE_EQ(getNorm(make<double>(F64, {3e-200, 4e-200}).view()), 5e-200);
  EXPECT_DOUBLE_EQ(getNorm(make<double>(F64, std::vector<double>(1000, 2)).view()), std::sqrt(4000.0));
  EXPECT_EQ(getNorm(make<double>(F64, {}).view()), 0);
}

TEST(Comparator, NoiseOfTheReferenceIsTolerated) {
  Tensor a = make(F64, std::vector<double>{1 + 1e-9}), b = make(F64, std::vector<double>{1});
  EXPECT_FALSE(compare(a.view(), b.view(), 0, F64, 1e-10).agrees());
  EXPECT_TRUE(compare(a.view(), b.view(), 0, F64, 2e-10).agrees());
}

TEST(Comparator, PerturbedValuesDifferByOneRounding) {
  Tensor values = make(F32, std::vector<float>{1, 1, 1, 1, 1, 1, 1, 1, 0, -4});
  Tensor before = values;
  perturb(F32, values.bytes, F32);
  int up = 0;
  for (int i = 0; i != 8; ++i) {
    EXPECT_EQ(std::fabs(values.as<float>()[i] - 1), 0x1p-23f);
    up += values.as<float>()[i] > 1;
  }
  EXPECT_GT(up, 1);
  EXPECT_LT(up, 7);
  EXPECT_EQ(values.as<float>()[8], 0);
  EXPECT_EQ(std::fabs(values.as<float>()[9] + 4), 0x1p-21f);
  perturb(F32, before.bytes, BF16);
  EXPECT_EQ(std::fabs(before.as<float>()[0] - 1), 0x1p-7f) << "by the roundings of the arithmetic";
}

TEST(Comparator, SkippedStepsAgreeInWhatIsNotFinite) {
  double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  auto compareTwo = [](std::vector<double> a, std::vector<double> b, bool isSkipped) {
    return compare(make(F64, a).view(), make(F64, b).view(), 0, F64, 0, isSkipped).agrees();
  };
  for (double ours : {nan, inf, -inf})
    for (double theirs : {nan, inf, -inf}) {
      EXPECT_TRUE(compareTwo({ours, 1}, {theirs, 1}, true));
      EXPECT_FALSE(compareTwo({ours, 1}, {theirs, 1.5}, true));
      bool isEqual = ours == theirs || (std::isnan(ours) && std::isnan(theirs));
      EXPECT_EQ(compareTwo({ours, 1}, {theirs, 1}, false), isEqual);
    }
  // A value that only one of them has is a difference in any step.
  EXPECT_FALSE(compareTwo({nan}, {1}, true));
  EXPECT_FALSE(compareTwo({1}, {inf}, true));
}
