//===- CopyPlannerTest.cpp - when variables of the host travel ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Memory/CopyPlanner.h"
#include "test/unit/Random.h"
#include "gtest/gtest.h"

using namespace meshwright;
using namespace meshwright::schedule;

/// `count` updates, one after the other, following `before` other operations, of a variable of `bytes` each.
static CopyProblem makeUpdates(unsigned count, int64_t before, int64_t bytes) {
  CopyProblem problem;
  problem.numOperations = before + count;
  for (int64_t operation = before; operation < problem.numOperations; ++operation)
    problem.variables.push_back({bytes, {{operation, operation}}, operation});
  return problem;
}

TEST(CopyPlanner, FetchesStartAheadAndNewValuesTakeTheirTime) {
  CopyProblem problem = makeUpdates(10, 5, 8);
  problem.prefetch = 2;
  CopyPlan plan = planCopies(problem);
  EXPECT_EQ(checkCopies(problem, plan), "");
  for (const PlannedCopy &copy : plan.copies) {
    int64_t update = 5 + copy.variable;
    EXPECT_EQ(copy.start, copy.isFetch ? update - 2 : update + 1);
    EXPECT_EQ(copy.wait, copy.isFetch ? update : std::min<int64_t>(update + 3, 15));
  }
  // The one that is updated, two on each side.
  EXPECT_EQ(plan.liveBytes, 5 * 8);
}

TEST(CopyPlanner, WithoutPrefetchEveryCopyBlocks) {
  CopyProblem problem = makeUpdates(3, 1, 8);
  CopyPlan plan = planCopies(problem);
  EXPECT_EQ(checkCopies(problem, plan), "");
  for (const PlannedCopy &copy : plan.copies)
    EXPECT_TRUE(copy.isBlocking());
  EXPECT_EQ(plan.liveBytes, 8);
}

TEST(CopyPlanner, NearReadsShareAFetchAndFarOnesDoNot) {
  CopyProblem problem;
  problem.numOperations = 20;
  problem.prefetch = 3;
  problem.variables = {{4, {{5, 5}, {8, 8}}, std::nullopt}, {4, {{5, 5}, {9, 9}}, std::nullopt}};
  CopyPlan plan = planCopies(problem);
  EXPECT_EQ(checkCopies(problem, plan), "");
  EXPECT_EQ(llvm::count_if(plan.copies, [](const PlannedCopy &copy) { return copy.variable == 0; }), 1);
  EXPECT_EQ(llvm::count_if(plan.copies, [](const PlannedCopy &copy) { return copy.variable == 1; }), 2);
}

TEST(CopyPlanner, TheHostKeepsTheOldValueWhileItIsFetched) {
  CopyProblem problem;
  problem.numOperations = 10;
  problem.prefetch = 1;
  // Made by the operation that reads it first; read again at the end.
  problem.variables = {{4, {{2, 2}, {8, 8}}, 2}};
  CopyPlan plan = planCopies(problem);
  EXPECT_EQ(checkCopies(problem, plan), "");
  EXPECT_EQ(plan.copies.back().start, 9);
}

TEST(CopyPlanner, ABoundDelaysFetches) {
  CopyProblem problem = makeUpdates(6, 0, 8);
  problem.prefetch = 2;
  problem.maxLiveBytes = 16;
  CopyPlan plan = planCopies(problem);
  EXPECT_EQ(checkCopies(problem, plan), "");
  EXPECT_LE(plan.liveBytes, 16);
}

TEST(CopyPlanner, WhatOneOperationReadsHasToFit) {
  CopyProblem problem;
  problem.numOperations = 2;
  problem.variables = {{8, {{1, 1}}, std::nullopt}, {8, {{1, 1}}, std::nullopt}};
  problem.maxLiveBytes = 15;
  CopyPlan plan = planCopies(problem);
  EXPECT_EQ(plan.tooMuchAt, 1);
  EXPECT_EQ(plan.liveBytes, 16);
}

TEST(CopyPlanner, RandomProblemsGetRightPlans) {
  test::Random random(7);
  unsigned bounded = 0, full = 0;
  for (unsigned round = 0; round < 500; ++round) {
    SCOPED_TRACE(random.describe(round));
    CopyProblem problem;
    problem.numOperations = random.pick(1, 30);
    problem.prefetch = random.pick(0, 4);
    problem.maxInFlight = random.pick(1, 6);
    problem.maxLiveBytes = random.pick(0, 2) == 0 ? random.pick(20, 60) : 0;
    for (int64_t variable = random.pick(1, 8); variable > 0; --variable) {
      CopyProblem::Variable &added = problem.variables.emplace_back();
      added.bytes = random.pick(1, 10);
      for (int64_t operation = random.pick(0, 10); operation <= problem.numOperations; operation += random.pick(1, 12))
        added.reads.push_back({operation, std::min(problem.numOperations, operation + random.pick(0, 3))});
      if (added.reads.empty() || random.pick(0, 1) == 0)
        added.made = random.pick(-1, problem.numOperations - 1);
    }
    CopyPlan plan = planCopies(problem);
    if (plan.tooMuchAt) {
      ++full;
      EXPECT_GT(plan.liveBytes, problem.maxLiveBytes);
      continue;
    }
    bounded += problem.maxLiveBytes > 0;
    EXPECT_EQ(checkCopies(problem, plan), "");
  }
  EXPECT_GT(bounded, 50u);
  EXPECT_GT(full, 5u);
}

TEST(CopyPlanner, WrongPlansAreFound) {
  CopyProblem problem = makeUpdates(2, 2, 8);
  problem.prefetch = 1;
  CopyPlan right = planCopies(problem);
  auto check = [&](auto change) {
    CopyPlan wrong = right;
    change(wrong);
    return checkCopies(problem, wrong);
  };
  EXPECT_EQ(check([](CopyPlan &plan) { plan.copies[0].wait = 3; }), "variable 0 is read before it is fetched");
  EXPECT_EQ(check([](CopyPlan &plan) { plan.copies[0].start = 9; }), "copy 0 is out of order at 9");
  EXPECT_EQ(check([](CopyPlan &plan) { plan.events.pop_back(); }), "copy 3 has 1 events");
  EXPECT_EQ(check([](CopyPlan &plan) { plan.copies[1].variable = 1; }), "variable 0 is made and not written back");
  problem.maxInFlight = 1;
  EXPECT_NE(check([](CopyPlan &) {}), "");
}
