//===- InitialValuesTest.cpp - values of variables before step 0 ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statistics against closed formulas, and exact values that an independent program computed (the numpy code of
// docs/reference/initial-values.md, which test/runtime/initial-values.test compares as a whole).
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/InitialValues.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace meshwright;
using namespace meshwright::runtime;

static Initializer makeInit(Initializer::Kind kind, double a, double b) {
  Initializer init;
  init.set_kind(kind);
  init.set_a(a);
  init.set_b(b);
  return init;
}

static std::vector<double> draw(Initializer::Kind kind, double a, double b, uint64_t count, uint64_t seed = 0) {
  std::vector<double> values(count);
  fillInitialValues(makeInit(kind, a, b), getStreamKey("w", seed), 0, count, F64,
                    reinterpret_cast<std::byte *>(values.data()));
  return values;
}

/// Mean, variance, skewness and kurtosis.
static std::array<double, 4> getMoments(const std::vector<double> &values) {
  double n = values.size(), mean = 0, m2 = 0, m3 = 0, m4 = 0;
  for (double v : values)
    mean += v / n;
  for (double v : values) {
    double d = v - mean;
    m2 += d * d / n;
    m3 += d * d * d / n;
    m4 += d * d * d * d / n;
  }
  return {mean, m2, m3 / std::pow(m2, 1.5), m4 / (m2 * m2)};
}

TEST(InitialValues, NormalHasItsMoments) {
  auto [mean, variance, skewness, kurtosis] = getMoments(draw(Initializer::NORMAL, 3, 2, 400000));
  EXPECT_NEAR(mean, 3, 0.015);
  EXPECT_NEAR(variance, 4, 0.04);
  EXPECT_NEAR(skewness, 0, 0.02);
  EXPECT_NEAR(kurtosis, 3, 0.04);
}

TEST(InitialValues, NormalHasItsDistribution) {
  // Kolmogorov and Smirnov's distance to the distribution function; 1.95 / sqrt n is exceeded once in a thousand times.
  std::vector<double> values = draw(Initializer::NORMAL, 0, 1, 100000);
  std::sort(values.begin(), values.end());
  double distance = 0;
  for (size_t i = 0; i != values.size(); ++i)
    distance = std::max(distance, std::fabs(0.5 * std::erfc(-values[i] / std::sqrt(2.0)) - (i + 0.5) / values.size()));
  EXPECT_LT(distance, 1.95 / std::sqrt(100000.0));
}

TEST(InitialValues, TruncatedNormalStaysWithinTwoDeviations) {
  std::vector<double> values = draw(Initializer::TRUNCATED_NORMAL, 1, 0.5, 400000);
  for (double value : values)
    ASSERT_LE(std::fabs(value - 1), 1.0);
  auto [mean, variance, skewness, kurtosis] = getMoments(values);
  // The variance of a normal cut at 2 is 1 - 4 phi(2) / (2 Phi(2) - 1).
  double density = std::exp(-2.0) / std::sqrt(2 * M_PI), mass = std::erf(std::sqrt(2.0));
  EXPECT_NEAR(mean, 1, 0.003);
  EXPECT_NEAR(variance, 0.25 * (1 - 4 * density / mass), 0.002);
  EXPECT_NEAR(skewness, 0, 0.02);
}

TEST(InitialValues, UniformHasItsMoments) {
  std::vector<double> values = draw(Initializer::UNIFORM, -1, 3, 400000);
  for (double value : values) {
    ASSERT_GE(value, -1);
    ASSERT_LT(value, 3);
  }
  auto [mean, variance, skewness, kurtosis] = getMoments(values);
  EXPECT_NEAR(mean, 1, 0.01);
  EXPECT_NEAR(variance, 16.0 / 12, 0.01);
  EXPECT_NEAR(kurtosis, 1.8, 0.01);
}

TEST(InitialValues, UpperBoundIsNotReachedInNarrowTypes) {
  std::vector<BFloat16> values(100000);
  fillInitialValues(makeInit(Initializer::UNIFORM, 0, 1), getStreamKey("w", 0), 0, values.size(), BF16,
                    reinterpret_cast<std::byte *>(values.data()));
  for (BFloat16 value : values)
    ASSERT_LT(static_cast<float>(value), 1);
}

TEST(InitialValues, ValuesDependOnNameSeedAndIndexAlone) {
  std::vector<double> whole = draw(Initializer::NORMAL, 0, 1, 100), other = draw(Initializer::NORMAL, 0, 1, 100, 1);
  EXPECT_NE(whole, other);
  double middle[10];
  fillInitialValues(makeInit(Initializer::NORMAL, 0, 1), getStreamKey("w", 0), 45, 10, F64,
                    reinterpret_cast<std::byte *>(middle));
  for (int i = 0; i != 10; ++i)
    EXPECT_EQ(middle[i], whole[45 + i]);
  EXPECT_NE(getStreamKey("w", 0), getStreamKey("v", 0));
}

TEST(InitialValues, MistakesAreNamed) {
  auto getError = [](Initializer::Kind kind, double a, double b, DType type) {
    return checkInitializer(makeInit(kind, a, b), type).message();
  };
  EXPECT_EQ(getError(Initializer::NORMAL, 0, 1, F32), "");
  EXPECT_EQ(getError(Initializer::CONSTANT, NAN, 0, F32), "");
  EXPECT_EQ(getError(Initializer::NORMAL, 0, 1, I32), "a normal initializer gives floats and the variable is i32");
  EXPECT_EQ(getError(Initializer::NORMAL, 0, -1, F32), "the initializer's standard deviation is -1, below 0");
  EXPECT_EQ(getError(Initializer::UNIFORM, 2, 2, F32), "the initializer's interval from 2 to 2 is empty");
  EXPECT_EQ(getError(Initializer::UNIFORM, 0, INFINITY, F32),
            "the initializer's parameters are 0 and inf, which are not both finite");
  EXPECT_EQ(getError(Initializer::CONSTANT, 300, 0, U8), "the initializer's value 300 is no u8");
  EXPECT_EQ(getError(Initializer::CONSTANT, 0.5, 0, I32), "the initializer's value 0.5 is no i32");
  EXPECT_EQ(getError(Initializer::CONSTANT, 0x1p63, 0, I64), "the initializer's value 9.223372036854776e+18 is no i64");
  EXPECT_EQ(getError(Initializer::CONSTANT, 2, 0, I1), "the initializer's value 2 is no i1");
  EXPECT_EQ(getError(Initializer::UNIFORM, 0, 256, U8), "");
}

TEST(InitialValues, SharesOfAPartAreThePart) {
  // 7 x 12 with columns in three groups of four, of which coordinate 1 holds 3 of 7 rows (and one that is padding) and
  // two of four columns each.
  Mesh mesh = *Mesh::create({"a", "b"}, {2, 2});
  Placement placement;
  auto addSplit = [&](uint32_t axis, int64_t extent, int64_t stride) {
    Split *split = placement.add_dims()->add_splits();
    split->set_axis(axis);
    split->set_extent(extent);
    split->set_stride(stride);
  };
  addSplit(0, 7, 4);
  addSplit(1, 4, 2);
  Layout layout = *Layout::create(placement, mesh, {7, 12});
  std::vector<double> whole = draw(Initializer::NORMAL, 0, 1, 84);
  for (int64_t a : {0, 1})
    for (int64_t b : {0, 1}) {
      LocalPart part(layout, std::array<int64_t, 2>{a, b});
      std::vector<double> expected(24);
      scatterPart(part, reinterpret_cast<const std::byte *>(whole.data()),
                  reinterpret_cast<std::byte *>(expected.data()), 8);
      for (uint64_t cut = 0; cut <= 24; ++cut) {
        std::vector<double> found(24, -1);
        for (auto [begin, end] : {std::pair(uint64_t(0), cut), std::pair(cut, uint64_t(24))})
          fillInitialValues(makeInit(Initializer::NORMAL, 0, 1), getStreamKey("w", 0), part, F64,
                            std::as_writable_bytes(std::span(found)), begin, end);
        EXPECT_EQ(found, expected) << a << b << " cut at " << cut;
      }
    }
}
