//===- ArenaTest.cpp - offsets of buffers in one piece of memory ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Memory/Arena.h"
#include "test/unit/Random.h"
#include "gtest/gtest.h"

using namespace meshwright;
using namespace meshwright::schedule;

/// Every pair by itself, where the library sweeps.
static bool overlapsAnywhere(const ArenaProblem &problem, const ArenaLayout &layout) {
  for (size_t left = 0; left < problem.buffers.size(); ++left)
    for (size_t right = left + 1; right < problem.buffers.size(); ++right) {
      const auto &a = problem.buffers[left], &b = problem.buffers[right];
      bool together = a.first <= b.last && b.first <= a.last;
      bool meet = layout.offsets[left] < layout.offsets[right] + b.bytes &&
                  layout.offsets[right] < layout.offsets[left] + a.bytes;
      if (together && meet && a.bytes > 0 && b.bytes > 0)
        return true;
    }
  return false;
}

TEST(Arena, BuffersThatDoNotMeetShareMemory) {
  ArenaProblem problem{{{100, 0, 1}, {100, 2, 3}, {100, 4, 5}}, 64};
  ArenaLayout layout = layOut(problem);
  EXPECT_EQ(layout.bytes, 128);
  EXPECT_EQ(problem.getLowerBound(), 128);
  EXPECT_EQ(layout.offsets[0], layout.offsets[2]);
}

TEST(Arena, BuffersThatMeetInOneStepDoNot) {
  ArenaProblem problem{{{64, 0, 1}, {64, 1, 2}}, 64};
  ArenaLayout layout = layOut(problem);
  EXPECT_EQ(layout.bytes, 128);
  EXPECT_NE(layout.offsets[0], layout.offsets[1]);
}

TEST(Arena, AnEmptyBufferTakesNothing) {
  ArenaProblem problem{{{0, 0, 9}, {64, 0, 9}}, 64};
  EXPECT_EQ(layOut(problem).bytes, 64);
}

TEST(Arena, FindsOverlapsAndBuffersOutside) {
  ArenaProblem problem{{{64, 0, 1}, {64, 1, 2}}, 64};
  EXPECT_TRUE(findOverlap(problem, {{0, 0}, 128}));
  EXPECT_TRUE(findOverlap(problem, {{0, 32}, 128}));
  EXPECT_TRUE(findOverlap(problem, {{0, 128}, 128}));
  EXPECT_FALSE(findOverlap(problem, {{0, 64}, 128}));
}

TEST(Arena, RandomLifetimesNeverOverlapAndStayNearTheLowerBound) {
  test::Random random;
  double sum = 0, worst = 1;
  constexpr int rounds = 200;
  for (int round = 0; round < rounds; ++round) {
    ArenaProblem problem;
    int count = 1 + random.pick(0, 60 - 1);
    for (int index = 0; index < count; ++index) {
      int64_t first = random.pick(0, 100 - 1), length = random.pick(0, 10 - 1) == 0 ? 60 : random.pick(0, 6 - 1);
      problem.buffers.push_back({random.pick(0, 4999), first, first + length});
    }
    ArenaLayout layout = layOut(problem);
    ASSERT_FALSE(overlapsAnywhere(problem, layout)) << "round " << round;
    ASSERT_FALSE(findOverlap(problem, layout)) << "round " << round;
    // A layout with a mistake in it is found out.
    if (int64_t bound = problem.getLowerBound()) {
      double ratio = static_cast<double>(layout.bytes) / bound;
      sum += ratio;
      worst = std::max(worst, ratio);
    } else {
      sum += 1;
    }
  }
  printf("arena over lower bound: mean %.3f, worst %.3f\n", sum / rounds, worst);
  EXPECT_LT(sum / rounds, 1.01);
  EXPECT_LT(worst, 1.2);
}

TEST(Arena, TheSweepAgreesWithAllPairsOnRandomOffsets) {
  test::Random random(1);
  int found = 0;
  for (int round = 0; round < 300; ++round) {
    ArenaProblem problem;
    ArenaLayout layout;
    for (int index = 0; index < 6; ++index) {
      int64_t first = random.pick(0, 20 - 1);
      problem.buffers.push_back({64 * random.pick(1, 3), first, first + random.pick(0, 4)});
      layout.offsets.push_back(64 * random.pick(0, 12 - 1));
    }
    layout.bytes = 64 * 16;
    found += overlapsAnywhere(problem, layout);
    ASSERT_EQ(overlapsAnywhere(problem, layout), findOverlap(problem, layout).has_value()) << "round " << round;
  }
  EXPECT_GT(found, 30);
  EXPECT_LT(found, 270);
}
