//===- ComparatorTest.cpp - when an element agrees ------------------------===//
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

static ElementSamples make(double found, double reference, std::vector<double> samples, std::optional<double> old = {},
                           DType type = F32) {
  ElementSamples element(type, found, reference, old);
  for (double sample : samples)
    element.add(sample);
  return element;
}

TEST(Comparator, LastPlacesAreAllowedWithoutAnySample) {
  constexpr double place = 0x1p-23;
  EXPECT_TRUE(make(1 + 3 * place, 1, {}).agrees());
  EXPECT_FALSE(make(1 + 3.1 * place, 1, {}).agrees());
  EXPECT_FALSE(make(1 + 3 * place, 1, {}, {}, F64).agrees());
  EXPECT_TRUE(make(1 + 3 * 0x1p-7, 1, {}, {}, BF16).agrees());
  // The larger one of the element and what it was counts: an update is rounded to the variable.
  EXPECT_TRUE(make(3 * place, 0, {}, 1).agrees());
  EXPECT_FALSE(make(3 * place, 0, {}).agrees());
}

TEST(Comparator, ErrorsOfSamplesAreAllowedSeveralTimes) {
  // A sample's own last place is no error of the computation.
  EXPECT_TRUE(make(1 + 7.9e-3, 1, {1 - 1e-3}).agrees());
  EXPECT_FALSE(make(1 + 8.1e-3, 1, {1 - 1e-3}).agrees());
  EXPECT_TRUE(make(1 + 8.1e-3, 1, {1, 1 + 2e-3, 1 - 1e-3}).agrees());
  EXPECT_EQ(make(2, 1, {1, 1}).getError(), 1);
  // One that rounds by eight places has eight times the error.
  ElementSamples wide = make(1 + 7.9e-3, 1, {});
  wide.add(1 + 8e-3, 8);
  EXPECT_TRUE(wide.agrees());
  wide = make(1 + 8.1e-3, 1, {});
  wide.add(1 + 8e-3, 8);
  EXPECT_FALSE(wide.agrees());
}

TEST(Comparator, AnUpdateIsBoundedByTheLargestChange) {
  // A gradient that is nothing but rounding: Adam's update is the learning rate, up or down.
  constexpr double rate = 1e-2;
  for (double sign : {1.0, -1.0})
    EXPECT_TRUE(make(1 + sign * rate, 1, {1 - rate}, 1).agrees());
  EXPECT_FALSE(make(1 + 3 * rate, 1, {1 - rate}, 1).agrees()) << "more than such an update can be";
  EXPECT_TRUE(make(1 + 3 * rate, 1, {1 - rate}).agrees()) << "an output has no such bound";
}

TEST(Comparator, SamplesThatAreNotFiniteAllowNothing) {
  double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(make(2, 1, {nan, inf, -inf}).agrees());
}

TEST(Comparator, NumbersThatAreNotFiniteAgreeWithTheirLike) {
  double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(compareFiniteness(1, 2, false), FiniteOutcome::Finite);
  for (double found : {nan, inf, -inf}) {
    for (double expected : {nan, inf, -inf}) {
      bool isEqual = found == expected || (std::isnan(found) && std::isnan(expected));
      EXPECT_EQ(compareFiniteness(found, expected, false), isEqual ? FiniteOutcome::Agree : FiniteOutcome::Disagree);
      EXPECT_EQ(compareFiniteness(found, expected, true), FiniteOutcome::Agree);
    }
    // A value that only one of them has is a difference in any step.
    for (bool isSkipped : {false, true}) {
      EXPECT_EQ(compareFiniteness(found, 1, isSkipped), FiniteOutcome::Disagree);
      EXPECT_EQ(compareFiniteness(1, found, isSkipped), FiniteOutcome::Disagree);
    }
  }
}

TEST(Comparator, PerturbedValuesDifferByOneRounding) {
  Tensor values(F32, {10});
  for (int i = 0; i != 8; ++i)
    values.as<float>()[i] = 1;
  values.as<float>()[9] = -4;
  Tensor before = values;
  perturb(F32, values.bytes, F32, 1);
  int up = 0;
  for (int i = 0; i != 8; ++i) {
    EXPECT_EQ(std::fabs(values.as<float>()[i] - 1), 0x1p-23f);
    up += values.as<float>()[i] > 1;
  }
  EXPECT_GT(up, 0);
  EXPECT_LT(up, 8);
  EXPECT_EQ(values.as<float>()[8], 0);
  EXPECT_EQ(std::fabs(values.as<float>()[9] + 4), 0x1p-21f);
  perturb(F32, before.bytes, BF16, 1);
  EXPECT_EQ(std::fabs(before.as<float>()[0] - 1), 0x1p-7f) << "by the roundings of the arithmetic";
}
