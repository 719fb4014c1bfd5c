//===- StageFlowTest.cpp - minimum cuts and stages against brute force ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares minimum cuts with all cuts of small random graphs, and the assignment of operations to stages with all legal
// assignments: no other one sends fewer bytes or, among equals, is nearer to the preferred stages.
//
//===----------------------------------------------------------------------===//

#include "lib/Annotate/StageFlow.h"
#include "lib/Annotate/MinimumCut.h"
#include "test/unit/Random.h"
#include "gtest/gtest.h"
#include <algorithm>

using namespace meshwright;
using namespace meshwright::annotate;
using test::Random;

//===----------------------------------------------------------------------===//
// Minimum cuts
//===----------------------------------------------------------------------===//

namespace {

struct Edge {
  int from, to;
  int64_t capacity;
};

int64_t countCut(const std::vector<Edge> &edges, llvm::function_ref<bool(int)> isEarly) {
  int64_t sum = 0;
  for (Edge edge : edges)
    sum += isEarly(edge.from) && !isEarly(edge.to) ? edge.capacity : 0;
  return sum;
}

} // namespace

TEST(MinimumCutTest, NoOtherCutIsSmaller) {
  Random random;
  for (int64_t round = 0; round < 500; ++round) {
    SCOPED_TRACE(random.describe(round));
    int numNodes = static_cast<int>(random.pick(2, 8));
    MinimumCut cut;
    while (numNodes > cut.addNode() + 1)
      ;
    std::vector<Edge> edges;
    for (int64_t count = random.pick(0, 20); count > 0; --count) {
      edges.push_back({static_cast<int>(random.pick(0, numNodes - 1)), static_cast<int>(random.pick(0, numNodes - 1)),
                       random.pick(0, 9)});
      cut.addEdge(edges.back().from, edges.back().to, edges.back().capacity);
    }
    llvm::SmallVector<bool, 0> side = cut.solve();
    ASSERT_TRUE(side[MinimumCut::kSource]);
    ASSERT_FALSE(side[MinimumCut::kSink]);
    int64_t found = countCut(edges, [&](int node) { return side[node]; });
    size_t fewest = std::count(side.begin(), side.end(), true);
    for (unsigned subset = 0; subset < (1u << (numNodes - 2)); ++subset) {
      auto isEarly = [&](int node) { return node == 0 || (node > 1 && (subset >> (node - 2) & 1)); };
      int64_t other = countCut(edges, isEarly);
      ASSERT_LE(found, other);
      if (other == found) {
        ASSERT_LE(fewest, 1 + static_cast<size_t>(llvm::popcount(subset)));
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

namespace {

StageRange pickRange(Random &random, int64_t numStages) {
  int64_t first = random.pick(0, numStages - 1);
  return {first, random.pick(first, numStages - 1)};
}

/// A few operations, each on some values of earlier ones, or on ones that are there already.
StageFlow makeFlow(Random &random) {
  StageFlow flow;
  flow.numStages = random.pick(2, 4);
  for (int64_t count = random.chance(50) ? random.pick(0, 2) : 0; count > 0; --count)
    flow.values.push_back({random.pick(1, 9), std::nullopt, pickRange(random, flow.numStages), {}});
  for (unsigned op = 0, count = random.pick(2, 6); op < count; ++op) {
    StageRange range = {0, flow.numStages - 1};
    if (random.chance(50))
      range = pickRange(random, flow.numStages);
    std::optional<int64_t> preferred;
    if (random.chance(50))
      preferred = random.pick(0, flow.numStages - 1);
    flow.ops.push_back({range, preferred});
    for (StageFlow::Value &value : flow.values)
      if (random.chance(40))
        value.readers.push_back(op);
    flow.values.push_back({random.pick(1, 9), op, {0, 0}, {}});
  }
  return flow;
}

bool isLegal(const StageFlow &flow, llvm::ArrayRef<int64_t> stages) {
  for (size_t op = 0; op < stages.size(); ++op)
    if (stages[op] < flow.ops[op].range.first || stages[op] > flow.ops[op].range.last)
      return false;
  return llvm::all_of(flow.values, [&](const StageFlow::Value &value) {
    return !value.producer ||
           llvm::all_of(value.readers, [&](unsigned reader) { return stages[*value.producer] <= stages[reader]; });
  });
}

/// Goes from border to border and counts the values that are on one side alone and read on the other.
int64_t countAtBorders(const StageFlow &flow, llvm::ArrayRef<int64_t> stages) {
  int64_t bytes = 0;
  for (int64_t border = 0; border + 1 < flow.numStages; ++border)
    for (const StageFlow::Value &value : flow.values) {
      StageRange at = value.producer ? StageRange{stages[*value.producer], stages[*value.producer]} : value.range;
      bool isBefore = at.last <= border, isBehind = at.first > border;
      bytes += llvm::any_of(value.readers,
                            [&](unsigned reader) {
                              return (isBefore && stages[reader] > border) || (isBehind && stages[reader] <= border);
                            })
                   ? value.bytes
                   : 0;
    }
  return bytes;
}

/// The sum of the distances of operations from their preferred stages.
int64_t countDistance(const StageFlow &flow, llvm::ArrayRef<int64_t> stages) {
  int64_t distance = 0;
  for (unsigned op = 0; op < stages.size(); ++op) {
    bool isRead = llvm::any_of(
        flow.values, [&](const StageFlow::Value &value) { return value.producer == op && !value.readers.empty(); });
    distance += std::abs(stages[op] - flow.ops[op].preferred.value_or(isRead ? flow.numStages - 1 : 0));
  }
  return distance;
}

/// The least bytes and distance of all legal assignments; none where there is none.
std::optional<std::pair<int64_t, int64_t>> tryAll(const StageFlow &flow) {
  std::optional<std::pair<int64_t, int64_t>> best;
  std::vector<int64_t> stages(flow.ops.size(), 0);
  while (true) {
    if (isLegal(flow, stages)) {
      std::pair cost(countAtBorders(flow, stages), countDistance(flow, stages));
      best = best ? std::min(*best, cost) : cost;
    }
    size_t next = 0;
    while (next < stages.size() && ++stages[next] == flow.numStages)
      stages[next++] = 0;
    if (next == stages.size())
      return best;
  }
}

} // namespace

TEST(StageFlowTest, NoOtherStagesSendLess) {
  Random random(1);
  int64_t conflicts = 0, sent = 0;
  for (int64_t round = 0; round < 2000; ++round) {
    SCOPED_TRACE(random.describe(round));
    StageFlow flow = makeFlow(random), narrowed = flow;
    auto best = tryAll(flow);
    auto conflict = narrowRanges(narrowed);
    ASSERT_EQ(!conflict, best.has_value());
    if (conflict) {
      EXPECT_GT(conflict->first, conflict->last);
      ++conflicts;
      continue;
    }
    llvm::SmallVector<int64_t, 0> stages = assignStages(narrowed);
    ASSERT_TRUE(isLegal(flow, stages));
    EXPECT_EQ(countBytes(flow, stages), countAtBorders(flow, stages));
    EXPECT_EQ(countAtBorders(flow, stages), best->first);
    EXPECT_EQ(countDistance(flow, stages), best->second);
    sent += best->first > 0;
  }
  EXPECT_GT(conflicts, 100);
  EXPECT_GT(sent, 200);
}

// Tests the rule for a chain between two blocks: it is cut where its value is smallest, and as early as that is where
// several are.
TEST(StageFlowTest, ChainsAreCutWhereTheyAreThin) {
  StageFlow flow;
  flow.numStages = 2;
  for (unsigned op = 0; op < 5; ++op) {
    flow.ops.push_back({{0, 1}, std::nullopt});
    flow.values.push_back({int64_t(op == 1 || op == 2 ? 4 : 8), op, {0, 0}, {op + 1}});
  }
  flow.ops.push_back({{1, 1}, std::nullopt});
  flow.ops.front().range = {0, 0};
  ASSERT_FALSE(narrowRanges(flow));
  EXPECT_EQ(assignStages(flow), (llvm::SmallVector<int64_t, 0>{0, 0, 1, 1, 1, 1}));
}
