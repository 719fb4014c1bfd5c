//===- FitTest.cpp - tests of the search for what fits --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipeline/Fit.h"
#include "test/unit/Random.h"
#include "gtest/gtest.h"
#include <vector>

using namespace meshwright;

namespace {

constexpr unsigned kNumParts = 64;

/// Values that can be freed at levels of their own: memory falls with what is spent.
struct Network {
  struct Value {
    unsigned position = 0, level = 0;
    int64_t bytes = 0;
    bool isFreed(const FitChoice &choice) const {
      unsigned spent = position < choice.early ? choice.level : position < choice.late ? choice.level - 1 : 0;
      return level <= spent;
    }
    double getFlops() const { return static_cast<double>(bytes) * static_cast<double>(getFlopsPerByte(level)); }
  };
  int64_t least = 0;
  std::vector<Value> values;
  double forward = 0;

  explicit Network(test::Random &random) : least(random.pick(1, 50)), values(random.pick(0, 30)) {
    for (Value &value : values) {
      value = {static_cast<unsigned>(random.pick(0, kNumParts - 1)),
               static_cast<unsigned>(random.pick(1, kMostFitLevel)), random.pick(1, 9)};
      forward += value.getFlops();
    }
  }

  FitTrial compile(const FitChoice &choice) const {
    FitTrial trial{least, 0};
    for (const Value &value : values) {
      trial.peak += value.isFreed(choice) ? 0 : value.bytes;
      trial.recomputed += value.isFreed(choice) ? value.getFlops() / forward : 0;
    }
    return trial;
  }
};

} // namespace

/// Tests the numbers of operations per byte: they grow by at least one and at most a quarter.
TEST(FitTest, LevelsGrow) {
  EXPECT_EQ(getFlopsPerByte(0), 0);
  EXPECT_EQ(getFlopsPerByte(1), 1);
  for (unsigned level = 1; level < kMostFitLevel; ++level) {
    EXPECT_LT(getFlopsPerByte(level), getFlopsPerByte(level + 1));
    EXPECT_LE(getFlopsPerByte(level + 1), std::max(getFlopsPerByte(level) + 1, getFlopsPerByte(level) * 5 / 4));
  }
  EXPECT_EQ(getFlopsPerByte(kMostFitLevel), 1 << 25);
}

/// Tests that what is found fits, spends no more than the lowest level for all of forward, nor more than a shorter
/// beginning, to the tolerance; and that what does not fit tells the least.
TEST(FitTest, FindsTheLeastThatFits) {
  test::Random random(2);
  for (int round = 0; round < 500; ++round) {
    SCOPED_TRACE(random.describe(round));
    const Network network(random);
    unsigned numTried = 0;
    int64_t most = network.compile({}).peak, limit = random.pick(1, most + 5);
    std::optional<FitResult> result = findFit(limit, kNumParts, [&](const FitChoice &choice) {
      ++numTried;
      return std::optional(network.compile(choice));
    });
    ASSERT_TRUE(result);
    EXPECT_LE(numTried, 2u + 7 + 6 + 6);
    EXPECT_EQ(result->choice.has_value(), network.least <= limit);
    if (!result->choice) {
      EXPECT_EQ(result->least, network.least);
      continue;
    }
    FitChoice found = *result->choice, level;
    EXPECT_LE(network.compile(found).peak, limit);
    if (most <= limit) {
      EXPECT_EQ(found, FitChoice());
      continue;
    }
    for (level = {1, kNumParts, kNumParts}; network.compile(level).peak > limit;)
      ++level.level;
    constexpr double kTolerance = 0.01;
    double spent = network.compile(found).recomputed;
    EXPECT_LE(spent, network.compile(level).recomputed + kTolerance);
    for (unsigned early = 0; early <= kNumParts; ++early)
      if (FitChoice other = {found.level, early, kNumParts}; network.compile(other).peak <= limit) {
        EXPECT_LE(spent, network.compile(other).recomputed + kTolerance);
      }
    for (unsigned late = 0; late < found.late; ++late)
      if (FitChoice other = {found.level, found.early, late}; network.compile(other).peak <= limit) {
        EXPECT_LE(spent, network.compile(other).recomputed + kTolerance);
      }
  }
}

/// Tests that a choice is found that spends less than the most, or on less than all of forward, where only that fits.
TEST(FitTest, FindsLessWhereMoreDoesNotFit) {
  std::optional<FitResult> result = findFit(10, kNumParts, [&](const FitChoice &choice) {
    bool fits = choice.level > 20 && choice.level < 50 && choice.early <= kNumParts / 2 && choice.late <= kNumParts / 2;
    return std::optional<FitTrial>({fits ? 10 : 11, choice.level / 100.0});
  });
  ASSERT_TRUE(result && result->choice);
  EXPECT_EQ(result->choice->level, 21u);
  EXPECT_EQ(result->least, 10);
}

/// Tests that the search ends with the first choice that cannot be compiled.
TEST(FitTest, EndsWhereCompilingFails) {
  for (unsigned last = 1; last < 12; ++last) {
    unsigned numTried = 0;
    EXPECT_FALSE(findFit(10, kNumParts, [&](const FitChoice &choice) -> std::optional<FitTrial> {
      if (++numTried == last)
        return std::nullopt;
      return FitTrial{choice.level > 40 && choice.early > 9 ? 9 : 11, choice.level * 0.02};
    }));
    EXPECT_EQ(numTried, last);
  }
}
