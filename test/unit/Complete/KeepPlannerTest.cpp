//===- KeepPlannerTest.cpp - tests of what is kept for backward -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Complete/KeepPlanner.h"
#include "test/unit/Random.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <bitset>
#include <optional>

using namespace meshwright::complete;

/// The cost of keeping exactly the values in `kept`, and the number of operations that are recomputed then; nothing if
/// a needed value cannot be recomputed.
static std::optional<std::pair<int64_t, unsigned>> getCost(const KeepProblem &problem, unsigned kept) {
  int64_t cost = 0;
  unsigned computed = 0;
  llvm::SmallVector<bool> wanted(problem.values.size(), false);
  for (unsigned index = problem.values.size(); index-- > 0;) {
    const KeepProblem::Value &value = problem.values[index];
    if (kept >> index & 1) {
      cost += value.bytes;
      continue;
    }
    if (!wanted[index] && !value.needed)
      continue;
    if (!value.price)
      return std::nullopt;
    cost += *value.price;
    ++computed;
    for (unsigned operand : value.operands)
      wanted[operand] = true;
  }
  return std::pair(cost, computed);
}

static KeepProblem makeRandom(meshwright::test::Random &random) {
  KeepProblem problem;
  int64_t size = random.pick(3, 11);
  for (int64_t index = 0; index < size; ++index) {
    KeepProblem::Value &value = problem.values.emplace_back();
    value.bytes = random.pick(0, 7);
    if (index > 0 && random.chance(75))
      value.price = random.chance(50) ? 0 : random.pick(1, 7);
    value.needed = random.chance(33);
    if (index > 0)
      for (int64_t count = random.pick(1, 3); count > 0; --count)
        value.operands.push_back(random.pick(0, index - 1));
  }
  return problem;
}

/// Tests that no choice costs less, and of those that cost as much none computes less, by trying all of them.
TEST(KeepPlannerTest, CostsLeast) {
  meshwright::test::Random random(1);
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(random.describe(round));
    KeepProblem problem = makeRandom(random);
    KeepPlan plan = planKept(problem);
    std::optional<std::pair<int64_t, unsigned>> best;
    for (unsigned kept = 0; kept < 1u << problem.values.size(); ++kept)
      if (std::optional<std::pair<int64_t, unsigned>> cost = getCost(problem, kept); cost && (!best || *cost < *best))
        best = cost;
    unsigned chosen = 0;
    for (unsigned index = 0; index < problem.values.size(); ++index)
      chosen |= plan.kept[index] << index;
    EXPECT_EQ(plan.cost, best->first);
    EXPECT_EQ(getCost(problem, chosen), best);
    EXPECT_EQ(llvm::count(plan.computed, true), best->second);
  }
}

/// A chain a > b > c of equal sizes, of which c is needed: it is kept itself.
TEST(KeepPlannerTest, ComputesLeastAmongEquals) {
  KeepProblem problem;
  problem.values = {{8, std::nullopt, false, {}}, {8, 0, false, {0}}, {8, 0, true, {1}}};
  KeepPlan plan = planKept(problem);
  EXPECT_TRUE(plan.kept[2]);
  EXPECT_FALSE(plan.kept[0] || plan.kept[1] || plan.computed[1]);
}

/// Two wide values of one narrow one: that is kept once, for both.
TEST(KeepPlannerTest, SharesANarrowSource) {
  KeepProblem problem;
  problem.values = {{6, std::nullopt, false, {}}, {4, 0, true, {0}}, {4, 0, true, {0}}};
  KeepPlan plan = planKept(problem);
  EXPECT_TRUE(plan.kept[0]);
  EXPECT_TRUE(plan.computed[1] && plan.computed[2]);
  EXPECT_EQ(plan.cost, 6);
}

/// Values that are available anyway cost nothing: everything is computed from them.
TEST(KeepPlannerTest, TakesWhatIsThere) {
  KeepProblem problem;
  problem.values = {{0, std::nullopt, false, {}}, {4, 0, false, {0}}, {4, 0, true, {1}}};
  KeepPlan plan = planKept(problem);
  EXPECT_EQ(plan.cost, 0);
  EXPECT_TRUE(plan.computed[1] && plan.computed[2]);
}

/// A value of 8 bytes that takes work worth 5 to compute, from one that takes work worth 2, until that is worth 4: then
/// keeping the value costs less than both.
TEST(KeepPlannerTest, AddsPricesAlongAChain) {
  for (int64_t price : {2, 4}) {
    KeepProblem problem;
    problem.values = {{0, std::nullopt, false, {}}, {8, price, false, {0}}, {8, 5, true, {1}}};
    KeepPlan plan = planKept(problem);
    EXPECT_EQ(plan.kept[2], price == 4);
    EXPECT_EQ(plan.cost, price == 4 ? 8 : 7);
  }
}
