//===- RoundingTest.cpp - how the twin rounds -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Rounding.h"
#include "meshwright/runtime/TwinFunctions.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <set>

using namespace meshwright;
using namespace meshwright::runtime;

static constexpr DType floatTypes[] = {F32,    BF16,          F16,        F8E4M3FN,   F8E5M2,
                                       F8E3M4, F8E4M3B11FNUZ, F8E4M3FNUZ, F8E5M2FNUZ, F8E4M3};

/// Lets nothing be rounded after a test.
struct Rounding : testing::Test {
  ~Rounding() override { chooseRounding(std::nullopt); }
};

/// The numbers of a type of at most 16 bits, from its own conversion.
static std::set<double> listNumbers(DType type) {
  std::set<double> numbers;
  for (uint32_t pattern = 0; pattern != (getSize(type) == 2 ? 0x10000u : 0x100u); ++pattern)
    if (double value = loadAsDouble(type, &pattern); std::isfinite(value))
      numbers.insert(value);
  return numbers;
}

TEST_F(Rounding, RandomRoundingGivesTheTwoNeighbours) {
  for (DType type : floatTypes) {
    if (type == F32)
      continue;
    std::set<double> numbers = listNumbers(type), seen;
    auto begin = numbers.begin(), last = std::prev(numbers.end());
    uint64_t step = std::max<uint64_t>(numbers.size() / 500, 1), place = 0;
    for (auto low = begin; low != last; ++low, ++place) {
      if (place % step != 0)
        continue;
      double high = *std::next(low), between = *low + 0.3 * (high - *low);
      seen.clear();
      for (uint64_t seed = 0; seed != 40; ++seed) {
        chooseRounding(RandomRounding{seed});
        EXPECT_EQ(roundForTwin(type, *low), *low);
        seen.insert(roundForTwin(type, between));
      }
      EXPECT_EQ(seen, (std::set<double>{*low, high})) << getName(type) << " " << between;
      EXPECT_LE(std::fabs(high - *low), getSpacing(type, std::max(std::fabs(high), std::fabs(*low))));
    }
    chooseRounding(std::nullopt);
    EXPECT_EQ(roundForTwin(type, 0.3), 0.3);
  }
  std::set<double> seen;
  for (uint64_t seed = 0; seed != 40; ++seed) {
    chooseRounding(RandomRounding{seed});
    seen.insert(roundForTwin(F32, 0.1));
    EXPECT_EQ(roundForTwin(F32, 0.1), roundForTwin(F32, 0.1)) << "equal values are rounded alike";
    // A value that f64 has rounded is exact in the type.
    EXPECT_EQ(roundForTwin(F32, 1 + 0x1p-50), 1);
    EXPECT_EQ(roundForTwin(F32, 0x1p-149), 0x1p-149);
  }
  EXPECT_EQ(seen, (std::set<double>{0.1f, std::nextafter(0.1f, 0.0f)}));
}

TEST_F(Rounding, WhatIsTooLargeIsWhatTheTypeMakesOfIt) {
  double inf = std::numeric_limits<double>::infinity();
  for (DType type : floatTypes) {
    double largest = type == F32 ? std::numeric_limits<float>::max() : *std::prev(listNumbers(type).end());
    bool hasInfinity = type == F32 || type == BF16 || type == F16 || type == F8E5M2 || type == F8E4M3 || type == F8E3M4;
    for (bool isRandom : {false, true}) {
      chooseRounding(isRandom ? std::optional(RandomRounding{1}) : std::nullopt);
      EXPECT_EQ(roundForTwin(type, largest), largest) << getName(type);
      EXPECT_EQ(roundForTwin(type, -largest * (1 + 1e-9)), -largest);
      for (double large : {2 * largest, inf}) {
        EXPECT_EQ(std::isinf(roundForTwin(type, large)), hasInfinity) << getName(type);
        EXPECT_FALSE(std::isfinite(roundForTwin(type, -large)));
      }
      EXPECT_TRUE(std::isnan(roundForTwin(type, std::nan(""))));
    }
  }
}

TEST_F(Rounding, OnlyInexactResultsOfF64AreRounded) {
  const TwinFunctions &twin = getTwinFunctions();
  std::set<double> sums, quotients, products, functions;
  for (uint64_t seed = 0; seed != 40; ++seed) {
    chooseRounding(RandomRounding{seed});
    EXPECT_EQ(twin.add(F64, 0.5, 0.25), 0.75);
    EXPECT_EQ(twin.subtract(F64, 0.1, 0.1), 0);
    EXPECT_EQ(twin.multiply(F64, 3, 0.1), twin.multiply(F64, 3, 0.1));
    EXPECT_EQ(twin.divide(F64, 0.3, 1), 0.3);
    EXPECT_EQ(twin.round(F64, 7), 7);
    sums.insert(twin.add(F64, 0.1, 0.2));
    products.insert(twin.multiply(F64, 0.1, 0.1));
    quotients.insert(twin.divide(F64, -1, 3));
    functions.insert(twin.round(F64, std::exp(0.5)));
  }
  // The two doubles around the exact result.
  EXPECT_EQ(sums, (std::set<double>{0.3, std::nextafter(0.3, 1)}));
  EXPECT_EQ(products.size(), 2u);
  EXPECT_LT(std::fma(0.1, 0.1, -*products.rbegin()), 0);
  EXPECT_GT(std::fma(0.1, 0.1, -*products.begin()), 0);
  EXPECT_EQ(quotients, (std::set<double>{-1.0 / 3, std::nextafter(-1.0 / 3, -1)}));
  EXPECT_EQ(functions.size(), 3u);
}

TEST_F(Rounding, MorePlacesGoFartherOnBothSides) {
  std::set<double> seen, doubles;
  for (uint64_t seed = 0; seed != 400; ++seed) {
    chooseRounding(RandomRounding{seed, 4});
    seen.insert((roundForTwin(BF16, 1 + 0x1p-10) - 1) * 0x1p7);
    doubles.insert((getTwinFunctions().add(F64, 1, 0x1p-54) - 1) * 0x1p52);
    EXPECT_EQ(roundForTwin(BF16, 1), 1) << "what is exact stays";
  }
  EXPECT_EQ(seen, (std::set<double>{-3, -2, -1, 0, 1, 2, 3, 4}));
  EXPECT_EQ(doubles, (std::set<double>{-3, -2, -1, 0, 1, 2, 3, 4}));
}

TEST_F(Rounding, PatternsAreThoseOfTheType) {
  const TwinFunctions &twin = getTwinFunctions();
  EXPECT_EQ(twin.toPattern(F32, 1), 0x3f800000u);
  EXPECT_EQ(twin.toPattern(BF16, -2), 0xc000u);
  EXPECT_EQ(twin.toPattern(F64, 1), 0x3ff0000000000000u);
  EXPECT_EQ(twin.fromPattern(F32, 0x3fc00000), 1.5);
  EXPECT_EQ(twin.fromPattern(F16, 0x3c00), 1);
}
