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

/// The number of operations that are recomputed if exactly the values in `kept` are kept; nothing if a needed value
/// cannot be recomputed.
static std::optional<unsigned> countComputed(const KeepProblem &problem, unsigned kept) {
  unsigned computed = 0;
  llvm::SmallVector<bool> wanted(problem.values.size(), false);
  for (unsigned index = problem.values.size(); index-- > 0;) {
    const KeepProblem::Value &value = problem.values[index];
    if ((!wanted[index] && !value.needed) || (kept >> index & 1))
      continue;
    if (!value.computable)
      return std::nullopt;
    ++computed;
    for (unsigned operand : value.operands)
      wanted[operand] = true;
  }
  return computed;
}

static int64_t countBytes(const KeepProblem &problem, unsigned kept) {
  int64_t bytes = 0;
  for (unsigned index = 0; index < problem.values.size(); ++index)
    bytes += kept >> index & 1 ? problem.values[index].bytes : 0;
  return bytes;
}

static KeepProblem makeRandom(meshwright::test::Random &random) {
  KeepProblem problem;
  int64_t size = random.pick(3, 11);
  for (int64_t index = 0; index < size; ++index) {
    KeepProblem::Value &value = problem.values.emplace_back();
    value.bytes = random.pick(0, 7);
    value.computable = index > 0 && random.chance(75);
    value.needed = random.chance(33);
    if (index > 0)
      for (int64_t count = random.pick(1, 3); count > 0; --count)
        value.operands.push_back(random.pick(0, index - 1));
  }
  return problem;
}

/// Tests that no choice keeps fewer bytes, and of those that keep as few none computes less, by trying all of them.
TEST(KeepPlannerTest, KeepsTheFewestBytes) {
  meshwright::test::Random random(1);
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(random.describe(round));
    KeepProblem problem = makeRandom(random);
    KeepPlan plan = planKept(problem);
    std::optional<std::pair<int64_t, unsigned>> best;
    for (unsigned kept = 0; kept < 1u << problem.values.size(); ++kept)
      if (std::optional<unsigned> computed = countComputed(problem, kept))
        if (std::pair cost(countBytes(problem, kept), *computed); !best || cost < *best)
          best = cost;
    unsigned chosen = 0;
    for (unsigned index = 0; index < problem.values.size(); ++index)
      chosen |= plan.kept[index] << index;
    EXPECT_EQ(plan.bytes, best->first);
    EXPECT_EQ(countBytes(problem, chosen), best->first);
    ASSERT_TRUE(countComputed(problem, chosen));
    EXPECT_EQ(*countComputed(problem, chosen), best->second);
    EXPECT_EQ(llvm::count(plan.computed, true), best->second);
  }
}

/// A chain a > b > c of equal sizes, of which c is needed: it is kept itself.
TEST(KeepPlannerTest, ComputesLeastAmongEquals) {
  KeepProblem problem;
  problem.values = {{8, false, false, {}}, {8, true, false, {0}}, {8, true, true, {1}}};
  KeepPlan plan = planKept(problem);
  EXPECT_TRUE(plan.kept[2]);
  EXPECT_FALSE(plan.kept[0] || plan.kept[1] || plan.computed[1]);
}

/// Two wide values of one narrow one: that is kept once, for both.
TEST(KeepPlannerTest, SharesANarrowSource) {
  KeepProblem problem;
  problem.values = {{6, false, false, {}}, {4, true, true, {0}}, {4, true, true, {0}}};
  KeepPlan plan = planKept(problem);
  EXPECT_TRUE(plan.kept[0]);
  EXPECT_TRUE(plan.computed[1] && plan.computed[2]);
  EXPECT_EQ(plan.bytes, 6);
}

/// Values that are available anyway cost nothing: everything is computed from them.
TEST(KeepPlannerTest, TakesWhatIsThere) {
  KeepProblem problem;
  problem.values = {{0, false, false, {}}, {4, true, false, {0}}, {4, true, true, {1}}};
  KeepPlan plan = planKept(problem);
  EXPECT_EQ(plan.bytes, 0);
  EXPECT_TRUE(plan.computed[1] && plan.computed[2]);
}
