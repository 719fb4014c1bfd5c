//===- StagePartitionTest.cpp - a row of blocks in stages -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Annotate/StagePartition.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace meshwright::annotate;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

using Cut = SmallVector<int64_t>;

/// The largest cost and the sum of squares of a cut; nothing where a stage has too much.
std::optional<std::pair<int64_t, int64_t>> judge(ArrayRef<StageBlock> blocks, const Cut &cut, const StageBytes &held) {
  int64_t largest = 0, squares = 0, most = 0;
  for (size_t stage = 0; stage < cut.size(); ++stage) {
    size_t end = stage + 1 < cut.size() ? cut[stage + 1] : blocks.size();
    int64_t cost = 0;
    double bytes = 0;
    for (size_t block = cut[stage]; block < end; ++block) {
      cost += blocks[block].cost;
      bytes += static_cast<double>(blocks[block].bytes);
      if (!held.inFlight.empty())
        bytes += held.inFlight[stage] * static_cast<double>(blocks[block].inFlightBytes);
    }
    if (bytes > static_cast<double>(held.bound))
      return std::nullopt;
    most = std::max(most, static_cast<int64_t>(std::ceil(bytes)));
    largest = std::max(largest, cost);
    squares += cost * cost;
  }
  EXPECT_EQ(getLargestStage(blocks, cut, held.inFlight), most);
  return std::pair(largest, squares);
}

/// The best of all cuts, each tried.
std::optional<std::pair<int64_t, int64_t>> tryAll(ArrayRef<StageBlock> blocks, int64_t stages, const StageBytes &held) {
  std::optional<std::pair<int64_t, int64_t>> best;
  for (unsigned cuts = 0; cuts < 1u << (blocks.size() - 1); ++cuts) {
    Cut cut{0};
    for (size_t block = 1; block < blocks.size(); ++block)
      if (cuts >> (block - 1) & 1)
        cut.push_back(block);
    if (static_cast<int64_t>(cut.size()) != stages)
      continue;
    if (auto judged = judge(blocks, cut, held); judged && (!best || *judged < *best))
      best = judged;
  }
  return best;
}

TEST(StagePartition, cutsEvenlyWithTheRestAtTheEnd) {
  EXPECT_EQ(cutEvenly(8, 4), (Cut{0, 2, 4, 6}));
  EXPECT_EQ(cutEvenly(10, 4), (Cut{0, 2, 4, 7}));
  EXPECT_EQ(cutEvenly(3, 3), (Cut{0, 1, 2}));
  EXPECT_EQ(cutEvenly(5, 1), (Cut{0}));
}

TEST(StagePartition, isAsGoodAsTheBestOfAllCuts) {
  std::mt19937 random(3);
  int64_t impossible = 0;
  for (int round = 0; round < 2000; ++round) {
    SmallVector<StageBlock> blocks(1 + random() % 10);
    for (StageBlock &block : blocks)
      block = {static_cast<int64_t>(random() % 20), static_cast<int64_t>(random() % 20),
               static_cast<int64_t>(random() % 10)};
    int64_t stages = 1 + random() % blocks.size();
    SmallVector<double> inFlight(random() % 2 == 0 ? 0 : stages);
    for (double &number : inFlight)
      number = static_cast<double>(random() % 8) / 2;
    StageBytes held{inFlight, random() % 2 == 0 ? INT64_MAX : static_cast<int64_t>(random() % 60)};
    auto cut = cutByCost(blocks, stages, held);
    auto best = tryAll(blocks, stages, held);
    ASSERT_EQ(cut.has_value(), best.has_value());
    impossible += !best;
    if (!cut)
      continue;
    EXPECT_TRUE(llvm::is_sorted(*cut) && cut->front() == 0 && static_cast<int64_t>(cut->size()) == stages);
    EXPECT_EQ(judge(blocks, *cut, held), best) << "round " << round;
  }
  EXPECT_GT(impossible, 100);
}

TEST(StagePartition, hasNoCutWithEmptyStages) {
  EXPECT_FALSE(cutByCost({{1, 1}, {1, 1}}, 3).has_value());
  EXPECT_FALSE(cutByCost({}, 1).has_value());
}

} // namespace
