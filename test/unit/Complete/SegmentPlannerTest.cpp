//===- SegmentPlannerTest.cpp - plans of fetches against their rules ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks plans of fetches on random problems against the rules of docs/design/complete.md, written here a second time
// as direct counts over segments: live bytes, queued launches, reuse, order of starts.
//
//===----------------------------------------------------------------------===//

#include "lib/Complete/SegmentPlanner.h"
#include "lib/Complete/Anchors.h"
#include "test/unit/Random.h"
#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace meshwright::complete;
using namespace meshwright::test;
using llvm::SmallVector;

namespace {

SegmentProblem makeProblem(Random &random) {
  SegmentProblem problem;
  for (int64_t count = random.pick(1, 12); count > 0; --count)
    problem.parameters.push_back({random.pick(1, 20), static_cast<unsigned>(random.pick(0, 1))});
  int64_t forward = random.pick(1, 20), backward = random.pick(0, 20);
  for (int64_t index = 0; index < forward + backward; ++index) {
    SegmentProblem::Item item;
    item.backward = index >= forward;
    std::set<unsigned> used;
    for (int64_t count = random.pick(0, 2); count > 0; --count)
      used.insert(random.pick(0, problem.parameters.size() - 1));
    item.parameters.assign(used.begin(), used.end());
    problem.items.push_back(item);
  }
  problem.segmentBytes = random.pick(1, 60);
  problem.prefetch = random.pick(0, 4);
  problem.keepBytes = random.pick(-1, 60);
  problem.maxLive = random.pick(60, 120);
  problem.maxInFlight = random.pick(1, 5);
  if (random.chance(20)) {
    problem.segmentBytes = SegmentProblem::kUnbounded;
    problem.cuts = {random.pick(0, forward), forward + random.pick(0, backward)};
  }
  return problem;
}

/// The bytes alive in every segment and the launches that are queued there, counted from the fetches.
void checkBounds(const SegmentProblem &problem, const SegmentPlan &plan) {
  for (unsigned at = 0; at < plan.segments.size(); ++at) {
    int64_t live = 0;
    std::set<std::pair<unsigned, unsigned>> queued;
    bool hasEarly = false;
    for (const ParameterFetch &fetch : plan.fetches) {
      live += fetch.start <= at && at <= fetch.last ? problem.parameters[fetch.parameter].bytes : 0;
      if (fetch.start <= at && at <= fetch.segment) {
        queued.insert({fetch.segment, problem.parameters[fetch.parameter].type});
        hasEarly |= at < fetch.segment;
      }
    }
    EXPECT_EQ(live, plan.live[at]);
    EXPECT_LE(live, problem.maxLive);
    // Launches that start with their own segment have to.
    if (hasEarly)
      EXPECT_LE(static_cast<int64_t>(queued.size()), problem.maxInFlight);
  }
}

/// Every use has a fetch before it that is still there, and no segment fetches a parameter twice.
void checkUses(const SegmentProblem &problem, const SegmentPlan &plan) {
  std::set<std::pair<unsigned, unsigned>> once;
  for (const ParameterFetch &fetch : plan.fetches)
    EXPECT_TRUE(once.insert({fetch.segment, fetch.parameter}).second);
  for (auto [number, segment] : llvm::enumerate(plan.segments)) {
    int64_t volume = 0;
    std::set<unsigned> used;
    for (int64_t item = segment.begin; item < segment.end; ++item) {
      EXPECT_EQ(problem.items[item].backward, segment.backward);
      used.insert(problem.items[item].parameters.begin(), problem.items[item].parameters.end());
    }
    for (unsigned parameter : used) {
      volume += problem.parameters[parameter].bytes;
      const ParameterFetch &fetch = plan.fetches[plan.fetchOf.lookup({static_cast<unsigned>(number), parameter})];
      EXPECT_EQ(fetch.parameter, parameter);
      EXPECT_LE(fetch.segment, number);
      EXPECT_GE(fetch.last, number);
    }
    EXPECT_EQ(volume, segment.volume);
    EXPECT_EQ(used.size(), segment.parameters.size());
  }
}

/// No fetch starts before one for an earlier segment, and each says rightly what keeps it from starting earlier.
void checkStarts(const SegmentProblem &problem, const SegmentPlan &plan) {
  for (const ParameterFetch &fetch : plan.fetches) {
    unsigned earliest = 0;
    bool isBehind = false;
    for (const ParameterFetch &other : plan.fetches) {
      earliest = std::max(earliest, other.segment < fetch.segment ? other.start : 0);
      isBehind |= other.segment <= fetch.segment && other.start == fetch.start &&
                  (other.segment < fetch.segment ||
                   problem.parameters[other.parameter].type != problem.parameters[fetch.parameter].type);
    }
    EXPECT_GE(fetch.start, earliest);
    EXPECT_LE(fetch.start, fetch.segment);
    unsigned limit = std::max<int64_t>(0, static_cast<int64_t>(fetch.segment) - problem.prefetch);
    EXPECT_GE(fetch.start, limit);
    EXPECT_EQ(fetch.bound == ParameterFetch::Bound::Prefetch, fetch.start == limit);
    if (fetch.bound == ParameterFetch::Bound::Order)
      EXPECT_TRUE(isBehind);
  }
}

TEST(SegmentPlannerTest, RandomProblemsKeepTheRules) {
  Random random(7);
  int solved = 0;
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE(random.describe(round));
    SegmentProblem problem = makeProblem(random);
    SegmentPlan plan = SegmentPlanner(problem).solve();
    ASSERT_EQ(plan.segments.front().begin, 0);
    ASSERT_EQ(plan.segments.back().end, static_cast<int64_t>(problem.items.size()));
    checkUses(problem, plan);
    checkStarts(problem, plan);
    if (plan.findTooLarge(problem.maxLive))
      continue;
    ++solved;
    checkBounds(problem, plan);
  }
  EXPECT_GT(solved, 200);
}

TEST(SegmentPlannerTest, ASegmentHasOneItemThatIsTooLarge) {
  SegmentProblem problem;
  problem.parameters = {{10, 0}, {3, 0}, {2, 0}};
  problem.items = {{false, {1}}, {false, {0}}, {false, {2}}, {false, {1, 2}}};
  problem.segmentBytes = 5;
  SegmentPlan plan = SegmentPlanner(problem).solve();
  ASSERT_EQ(plan.segments.size(), 3u);
  EXPECT_EQ(plan.segments[1].volume, 10);
  // Parameters that were fetched before take no more room: the last item adds 3 to 2.
  EXPECT_EQ(plan.segments[2].volume, 5);
}

TEST(SegmentPlannerTest, AnchorsAreMetByComponents) {
  AnchorFinder finder;
  EXPECT_FALSE(finder.add("h.1"));
  EXPECT_FALSE(finder.add(".out"));
  ASSERT_TRUE(finder.add("h.1.out"));
  ASSERT_TRUE(finder.add("h\\.1.in"));
  for (const char *scope : {"h.0", "h.1", "h.1.mlp", "", "h.1", "h.10", "h\\.1.x"})
    finder.visit(scope, /*backward=*/false, /*passive=*/false);
  for (const char *scope : {"h\\.1", "h.10", "h.1", "h.0"})
    finder.visit(scope, /*backward=*/true, /*passive=*/false);
  EXPECT_TRUE(llvm::all_of(finder.getAnchors(), [](const auto &anchor) { return anchor.isMetOnce(); }));
  EXPECT_EQ(finder.getCuts(), (SmallVector<int64_t, 0>{5, 6, 8, 9}));
  finder.visit("h.1", /*backward=*/true, /*passive=*/true);
  EXPECT_TRUE(finder.getAnchors().front().isMetOnce());
  finder.visit("h.1", /*backward=*/true, /*passive=*/false);
  EXPECT_EQ(finder.getAnchors().front().entered[1], 2);
}

} // namespace
