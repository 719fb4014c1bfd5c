//===- ResidueTest.cpp - numbers of the exact check -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/DType.h"
#include "meshwright/runtime/ExactFunctions.h"
#include "test/unit/Random.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <set>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

namespace {

constexpr uint64_t p = Residue::prime;

/// The edges of the field and random numbers of it.
std::vector<Residue> makeResidues(int count) {
  std::vector<Residue> residues;
  for (uint64_t bits : {uint64_t(0), uint64_t(1), uint64_t(2), p - 1, p - 2, p / 2, p / 2 + 1, uint64_t(1) << 60})
    residues.push_back(Residue::fromBits(bits));
  Random random;
  while (static_cast<int>(residues.size()) < count)
    residues.push_back(hashToResidue(static_cast<uint64_t>(random.pick(0, INT64_MAX - 1))));
  return residues;
}

const Residue plus = Residue::infinity(false), minus = Residue::infinity(true), noNumber = Residue::nan();

} // namespace

TEST(Residue, AgreesWithTheRemainders) {
  std::vector<Residue> residues = makeResidues(60);
  for (Residue a : residues)
    for (Residue b : residues) {
      auto x = static_cast<unsigned __int128>(a.getBits()), y = static_cast<unsigned __int128>(b.getBits());
      EXPECT_EQ((a + b).getBits(), static_cast<uint64_t>((x + y) % p));
      EXPECT_EQ((a - b).getBits(), static_cast<uint64_t>((x + p - y) % p));
      EXPECT_EQ((a * b).getBits(), static_cast<uint64_t>(x * y % p));
      if (b.getBits() != 0) {
        EXPECT_EQ((a / b * b).getBits(), a.getBits());
        EXPECT_EQ((a * b).getSign(), a.getSign() * b.getSign());
      }
    }
  for (Residue a : residues)
    EXPECT_EQ((-a).getSign(), -a.getSign());
}

TEST(Residue, ReducesSumsOfProducts) {
  unsigned __int128 sum = 0;
  Residue expected(0);
  for (int i = 0; i != 32; ++i) {
    sum += static_cast<unsigned __int128>(p - 1) * (p - 1);
    expected += Residue::fromBits(p - 1) * Residue::fromBits(p - 1);
    EXPECT_EQ(Residue::reduce(sum), expected.getBits());
  }
  EXPECT_EQ(Residue::reduce(p), 0u);
  EXPECT_EQ(Residue::reduce(~static_cast<unsigned __int128>(0)), (uint64_t(1) << 6) - 1);
}

TEST(Residue, HoldsFloatsExactly) {
  for (int64_t value : {int64_t(0), int64_t(1), int64_t(-1), int64_t(16777217), -(int64_t(1) << 52) - 1}) {
    EXPECT_EQ(Residue(static_cast<double>(value)).getBits(), Residue::fromSigned(value).getBits());
    EXPECT_EQ(Residue(static_cast<double>(value)).toSmallest(), value);
  }
  for (int exponent = -1022; exponent <= 1022; ++exponent)
    EXPECT_EQ((Residue(std::ldexp(1.0, exponent)) * Residue(std::ldexp(1.0, -exponent))).getBits(), 1u) << exponent;
  // Floats whose sums are floats.
  Random random;
  for (int round = 0; round != 1000; ++round) {
    double a = std::ldexp(static_cast<double>(random.pick(-1000000, 1000000)), static_cast<int>(random.pick(-40, 40)));
    double b = std::ldexp(static_cast<double>(random.pick(-1000000, 1000000)), -20);
    if (a + b - a == b && a + b - b == a)
      EXPECT_EQ(Residue(a + b).getBits(), (Residue(a) + Residue(b)).getBits()) << a << " + " << b;
    EXPECT_EQ(Residue(b * 3).getBits(), (Residue(b) * Residue(3)).getBits());
  }
  double smallest = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ((Residue(smallest) * Residue(std::ldexp(1.0, 1000)) * Residue(std::ldexp(1.0, 74))).getBits(), 1u);
  EXPECT_EQ(Residue(-0.0).getBits(), 0u);
  EXPECT_EQ(Residue(0.1f).getBits(), Residue(static_cast<double>(0.1f)).getBits());
  EXPECT_EQ(Residue::fromUnsigned(UINT64_MAX).getBits(), UINT64_MAX % p);
  EXPECT_EQ(Residue::fromSigned(INT64_MIN).getBits(), (p - (uint64_t(1) << 63) % p) % p);
}

TEST(Residue, FollowsTheRulesForInfinities) {
  Residue one(1), zero(0);
  EXPECT_EQ((plus + one).getBits(), plus.getBits());
  EXPECT_EQ((plus + plus).getBits(), plus.getBits());
  EXPECT_TRUE((plus + minus).isNaN());
  EXPECT_TRUE((plus - plus).isNaN());
  EXPECT_TRUE((plus * zero).isNaN());
  EXPECT_EQ((minus * -one).getBits(), plus.getBits());
  EXPECT_EQ((minus * Residue(0.125)).getBits(), minus.getBits());
  EXPECT_EQ((one / plus).getBits(), 0u);
  EXPECT_TRUE((plus / minus).isNaN());
  EXPECT_EQ((one / zero).getBits(), plus.getBits());
  EXPECT_EQ((-one / zero).getBits(), minus.getBits());
  EXPECT_TRUE((zero / zero).isNaN());
  // Sums and products of symbols are associative and do not depend on the order.
  std::vector<Residue> all = makeResidues(16);
  all.insert(all.end(), {plus, minus, noNumber});
  for (Residue a : all)
    for (Residue b : all) {
      EXPECT_EQ((a + b).getBits(), (b + a).getBits());
      EXPECT_EQ((a * b).getBits(), (b * a).getBits());
      for (Residue c : all) {
        EXPECT_EQ((a + b + c).getBits(), (a + (b + c)).getBits());
        EXPECT_EQ((a * b * c).getBits(), (a * (b * c)).getBits());
      }
    }
  EXPECT_EQ(Residue(std::numeric_limits<double>::infinity()).getBits(), plus.getBits());
  EXPECT_TRUE(Residue(std::numeric_limits<double>::quiet_NaN()).isNaN());
}

TEST(Residue, HasATotalOrderBetweenTheInfinities) {
  std::vector<Residue> all = makeResidues(200);
  all.insert(all.end(), {plus, minus});
  for (Residue a : all)
    for (Residue b : all)
      EXPECT_EQ((a < b) + (a == b) + (a > b), 1);
  std::sort(all.begin(), all.end());
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
  EXPECT_EQ(all.front().getBits(), minus.getBits());
  EXPECT_EQ(all.back().getBits(), plus.getBits());
  for (Residue a : all)
    EXPECT_FALSE(a < noNumber || noNumber < a || a == noNumber || noNumber == noNumber);
  EXPECT_TRUE(noNumber != noNumber);
}

TEST(Residue, HasAnotherOrderForEverySeed) {
  std::vector<Residue> residues = makeResidues(500);
  Residue zero(0), one(1);
  int above = 0;
  for (uint64_t seed = 0; seed != 20; ++seed) {
    Residue::chooseOrder(seed);
    above += zero < one;
    auto positive = std::count_if(residues.begin(), residues.end(), [&](Residue a) { return zero < a; });
    EXPECT_NEAR(static_cast<double>(positive) / static_cast<double>(residues.size()), 0.5, 0.1);
  }
  Residue::chooseOrder(0);
  EXPECT_TRUE(above > 2 && above < 18) << above;
}

/// Padding of an arena is moved and added up, too.
TEST(Residue, TakesAnyBits) {
  Random random;
  auto isOne = [](Residue a) { return a.isFinite() || a.isInfinite() || a.isNaN(); };
  for (int round = 0; round != 1000; ++round) {
    Residue a = Residue::fromBits(mixBits(round)), b = Residue::fromBits(mixBits(round + 5000) >> random.pick(0, 4));
    EXPECT_TRUE(isOne(a + b) && isOne(a * b) && isOne(a / b) && isOne(-a));
  }
}

TEST(ExactFunctions, AreFunctionsOfTheirOperands) {
  std::set<uint64_t> results;
  for (auto function = uint32_t(ExactFunction::Abs); function <= uint32_t(ExactFunction::Trunc); ++function)
    for (uint64_t operand : {uint64_t(0), uint64_t(1), p - 1}) {
      Residue result = evaluate(ExactFunction(function), Residue::fromBits(operand));
      EXPECT_TRUE(result.isFinite());
      EXPECT_EQ(result.getBits(), evaluate(ExactFunction(function), Residue::fromBits(operand)).getBits());
      EXPECT_TRUE(results.insert(result.getBits()).second);
      results.insert(evaluate(ExactFunction(function), Residue(2), Residue::fromBits(operand)).getBits());
    }
  EXPECT_EQ(results.size(), 2 * 3 * (size_t(ExactFunction::Trunc) + 1));
  EXPECT_EQ(evaluate(ExactFunction::Exp, minus).getBits(), 0u);
  EXPECT_EQ(evaluate(ExactFunction::Exp, plus).getBits(), plus.getBits());
  EXPECT_EQ(evaluate(ExactFunction::Abs, minus).getBits(), plus.getBits());
  EXPECT_EQ(evaluate(ExactFunction::Tanh, minus).getBits(), Residue(-1).getBits());
  EXPECT_TRUE(evaluate(ExactFunction::Log, minus).isNaN());
  EXPECT_TRUE(evaluate(ExactFunction::Sqrt, noNumber).isNaN());
  EXPECT_EQ(evaluate(ExactFunction::Power, Residue(2), minus).getBits(), 0u);
}

TEST(ExactFunctions, ComparisonsHaveTheOutcomesOfFloats) {
  const ExactFunctions &functions = getExactFunctions();
  std::vector<Residue> all = makeResidues(12);
  all.insert(all.end(), {plus, minus, noNumber});
  for (Residue a : all)
    for (Residue b : all) {
      uint64_t x = a.getBits(), y = b.getBits();
      bool unordered = a.isNaN() || b.isNaN();
      EXPECT_EQ(functions.compare(ExactUnordered, x, y), unordered);
      EXPECT_EQ(functions.compare(ExactEqual, x, y), a == b);
      EXPECT_EQ(functions.compare(ExactLess | ExactGreater | ExactUnordered, x, y), !(a == b));
      EXPECT_EQ(functions.compare(ExactLess, x, y), functions.compare(ExactGreater, y, x));
      EXPECT_EQ(functions.maximum(x, y), functions.maximum(y, x));
      EXPECT_EQ(functions.minimumNumber(x, y), functions.minimumNumber(y, x));
      EXPECT_EQ(Residue::fromBits(functions.maximum(x, y)).isNaN(), unordered);
      EXPECT_EQ(Residue::fromBits(functions.maximumNumber(x, y)).isNaN(), a.isNaN() && b.isNaN());
      if (!unordered)
        EXPECT_EQ(Residue::fromBits(functions.maximum(x, y)) + Residue::fromBits(functions.minimum(x, y)) == a + b,
                  !(a + b).isNaN());
    }
}

TEST(ExactFunctions, ConvertIntegersAndPatterns) {
  const ExactFunctions &functions = getExactFunctions();
  for (int64_t value : {int64_t(0), int64_t(7), int64_t(-7), int64_t(INT32_MIN), (int64_t(1) << 52)})
    EXPECT_EQ(static_cast<int64_t>(functions.toInteger(functions.fromSigned(static_cast<uint64_t>(value)))), value);
  EXPECT_EQ(functions.fromUnsigned(UINT64_MAX), UINT64_MAX % p);
  EXPECT_EQ(functions.toInteger(noNumber.getBits()), 0u);
  EXPECT_EQ(static_cast<int64_t>(functions.toInteger(minus.getBits())), INT64_MIN);
  auto getBits = [](float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return uint64_t(bits);
  };
  EXPECT_EQ(functions.fromPattern(F32, getBits(-1.5f)), Residue(-1.5).getBits());
  // Bits above the pattern are another value's.
  EXPECT_EQ(functions.fromPattern(F32, getBits(2.0f) | uint64_t(1) << 40), Residue(2).getBits());
  EXPECT_EQ(functions.fromPattern(BF16, 0x3f80), 1u);
  EXPECT_EQ(functions.fromPattern(F8E4M3FN, 0x38), 1u);
  EXPECT_EQ(functions.toPattern(F32, plus.getBits()), getBits(std::numeric_limits<float>::infinity()));
  EXPECT_EQ(functions.fromPattern(BF16, functions.toPattern(BF16, minus.getBits())), minus.getBits());
  EXPECT_EQ(functions.toPattern(F32, 5), functions.toPattern(F32, 5));
}
