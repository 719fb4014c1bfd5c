//===- StepSimulatorTest.cpp - when what happens in a step ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With a core for every piece of work, against the longest path by its recurrence; with fewer, against sums by hand.
//
//===----------------------------------------------------------------------===//

#include "runtime/simulate/StepSimulator.h"
#include "test/unit/Random.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace meshwright::runtime;
using namespace meshwright::test;

namespace {

using Item = SimulatedItem;

double getEnd(const StepProblem &problem) {
  auto spans = simulate(problem);
  EXPECT_TRUE(spans.ok()) << spans.status().message();
  double end = 0;
  for (const SimulatedSpan &span : *spans)
    end = std::max(end, span.end);
  return end;
}

/// A mesh of 2 x 3 ranks; groups 0 and 1 are its rows, 2 to 4 its columns, 5 all of it.
uint32_t getGroup(int64_t kind, size_t rank) {
  return static_cast<uint32_t>(kind == 0 ? rank / 3 : kind == 1 ? 2 + rank % 3 : 5);
}

/// All ranks do the same; only the times differ.
StepProblem makeProblem(Random &random, size_t items) {
  StepProblem problem{100, {3, 3, 2, 2, 2, 6}, std::vector<std::vector<Item>>(6)};
  auto pickTime = [&] { return static_cast<double>(random.pick(0, 1000)) / 1000; };
  std::vector<uint32_t> inFlight;
  uint32_t issued = 0;
  for (size_t i = 0; i != items; ++i) {
    int64_t what = random.pick(0, 9), group = random.pick(0, 2);
    double delay = pickTime();
    if (what >= 8 && !inFlight.empty()) {
      size_t at = random.pick(0, static_cast<int64_t>(inFlight.size()) - 1);
      for (auto &rank : problem.ranks)
        rank.push_back({Item::Wait, 0, inFlight[at]});
      inFlight.erase(inFlight.begin() + static_cast<std::ptrdiff_t>(at));
      continue;
    }
    Item::Kind kind = what < 4 ? Item::Compute : what < 7 ? Item::Start : Item::Execute;
    for (size_t rank = 0; rank != 6; ++rank)
      problem.ranks[rank].push_back({kind, pickTime(), getGroup(group, rank), delay});
    if (kind == Item::Start)
      inFlight.push_back(issued);
    issued += kind != Item::Compute;
  }
  return problem;
}

/// The longest path: item by item, with the time at which each rank's two sides are free.
double getLongestPath(const StepProblem &problem) {
  size_t n = problem.ranks.size();
  std::vector<double> computed(n), moved(n);
  std::vector<std::vector<double>> ends(n);
  for (size_t i = 0; i != problem.ranks[0].size(); ++i) {
    Item::Kind kind = problem.ranks[0][i].kind;
    std::vector<double> begin(6), work(6);
    for (size_t rank = 0; rank != n; ++rank) {
      const Item &item = problem.ranks[rank][i];
      if (kind == Item::Compute)
        computed[rank] += item.work;
      if (kind == Item::Wait)
        computed[rank] = std::max(computed[rank], ends[rank][item.which]);
      begin[item.which % 6] = std::max({begin[item.which % 6], computed[rank], moved[rank]});
      work[item.which % 6] = std::max(work[item.which % 6], item.work);
    }
    if (kind == Item::Compute || kind == Item::Wait)
      continue;
    for (size_t rank = 0; rank != n; ++rank) {
      const Item &item = problem.ranks[rank][i];
      moved[rank] = begin[item.which] + std::max(work[item.which], item.delay);
      ends[rank].push_back(moved[rank]);
      if (kind == Item::Execute)
        computed[rank] = moved[rank];
    }
  }
  return std::max(*std::max_element(computed.begin(), computed.end()), *std::max_element(moved.begin(), moved.end()));
}

} // namespace

TEST(StepSimulator, WithEnoughCoresItIsTheLongestPath) {
  Random random;
  for (int round = 0; round != 300; ++round) {
    StepProblem problem = makeProblem(random, random.pick(1, 60));
    EXPECT_NEAR(getEnd(problem), getLongestPath(problem), 1e-9);
  }
}

TEST(StepSimulator, WorkSharesTheCores) {
  // On two cores, three pieces go on at 2/3: the first ends at 1.5, the others' 1 and 2 that are left at 2.5 and 3.5.
  StepProblem problem{2, {}, {{{Item::Compute, 1}}, {{Item::Compute, 2}}, {{Item::Compute, 3}}}};
  auto spans = simulate(problem);
  ASSERT_TRUE(spans.ok());
  ASSERT_EQ(spans->size(), 3u);
  EXPECT_DOUBLE_EQ((*spans)[0].end, 1.5);
  EXPECT_DOUBLE_EQ((*spans)[1].end, 2.5);
  EXPECT_DOUBLE_EQ((*spans)[2].end, 3.5);
  // Links take no core: 32 ranks on one core compute 1 each during a link time of 40.
  StepProblem linked{1, {32}, {}};
  for (int rank = 0; rank != 32; ++rank)
    linked.ranks.push_back({{Item::Start, 0, 0, 40}, {Item::Compute, 1}, {Item::Wait, 0, 0}});
  EXPECT_DOUBLE_EQ(getEnd(linked), 40);
  for (auto &rank : linked.ranks)
    rank[0].kind = Item::Execute, rank.pop_back();
  EXPECT_DOUBLE_EQ(getEnd(linked), 72);
}

TEST(StepSimulator, SpansSayWhatWasExposed) {
  // Rank 1 comes a second late; the link takes 2; rank 0 computes 1.5 meanwhile.
  StepProblem problem{8,
                      {2},
                      {{{Item::Start, 0, 0, 2}, {Item::Compute, 1.5}, {Item::Wait, 0, 0}},
                       {{Item::Compute, 1}, {Item::Execute, 0.25, 0, 2}}}};
  auto spans = simulate(problem);
  ASSERT_TRUE(spans.ok());
  auto get = [&](uint32_t rank, SimulatedSpan::Kind kind) {
    for (const SimulatedSpan &span : *spans)
      if (span.rank == rank && span.kind == kind)
        return std::pair(span.begin, span.end);
    return std::pair(-1.0, -1.0);
  };
  EXPECT_EQ(get(0, SimulatedSpan::Compute), std::pair(0.0, 1.5));
  EXPECT_EQ(get(0, SimulatedSpan::Move), std::pair(1.0, 3.0));
  EXPECT_EQ(get(0, SimulatedSpan::Wait), std::pair(1.5, 3.0));
  EXPECT_EQ(get(1, SimulatedSpan::Wait), std::pair(1.0, 3.0));
}

TEST(StepSimulator, RanksThatWaitForEverAreAnError) {
  StepProblem problem{1, {2}, {{{Item::Execute, 0, 0, 1}}, {}}};
  EXPECT_EQ(simulate(problem).status().message(), "rank 0 waits for ever at item 0 of its 1");
}
