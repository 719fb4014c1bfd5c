//===- FitTest.cpp - tests of the search for what fits --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipeline/Fit.h"
#include "test/unit/Random.h"
#include "gtest/gtest.h"

using namespace meshwright;

namespace {

/// Peaks that fall with what is computed again.
struct Peaks {
  int64_t untreated = 0;
  /// By the number of whole blocks.
  std::vector<int64_t> treated;

  int64_t get(const FitChoice &choice) const { return choice.treated ? treated[choice.numWhole] : untreated; }
};

Peaks makePeaks(test::Random &random) {
  Peaks peaks;
  int64_t peak = random.pick(1, 50);
  for (int64_t count = random.pick(1, 20); count > 0; --count)
    peaks.treated.insert(peaks.treated.begin(), peak += random.pick(0, 9));
  peaks.untreated = peak + random.pick(0, 9);
  return peaks;
}

} // namespace

/// Tests that the first choice that fits is found, in few attempts, and that what does not fit tells the least.
TEST(FitTest, FindsTheLeastThatFits) {
  test::Random random(2);
  for (int round = 0; round < 500; ++round) {
    SCOPED_TRACE(random.describe(round));
    Peaks peaks = makePeaks(random);
    unsigned numBlocks = peaks.treated.size() - 1;
    int64_t limit = random.pick(1, peaks.untreated + 5);
    FitSearch search(limit);
    search.setBlocks(numBlocks);
    while (!search.isOver())
      search.report(peaks.get(search.getChoice()));
    EXPECT_LE(search.getNumTried(), 8u);
    EXPECT_EQ(search.fits(), peaks.treated.back() <= limit);
    if (!search.fits()) {
      EXPECT_EQ(search.getLeast(), peaks.treated.back());
      continue;
    }
    FitChoice first;
    if (peaks.untreated > limit)
      for (first.treated = true; peaks.get(first) > limit;)
        ++first.numWhole;
    EXPECT_EQ(search.getChoice(), first);
  }
}

/// Tests that blocks come in the order of bytes per operation.
TEST(FitTest, SortsByGain) {
  std::vector<FitBlock> blocks = {{"a", 10, 10}, {"b", 30, 10}, {"c", 20, 20}, {"d", 1, 0}};
  sortByGain(blocks);
  std::string order;
  for (const FitBlock &block : blocks)
    order += block.name;
  EXPECT_EQ(order, "bacd");
}
