//===- StorageTest.cpp - owners and slices against brute force ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares balanced owners with the optimum of small cases, found by trying all assignments, and checks that slices
// take a dimension that divides and hold every element equally often.
//
//===----------------------------------------------------------------------===//

#include "lib/Annotate/Storage.h"
#include "dialects/Dist/ShardingRule.h"
#include "test/unit/Random.h"
#include "gtest/gtest.h"
#include <numeric>

using namespace meshwright;
using namespace meshwright::annotate;
using namespace meshwright::dist;

static int64_t getLargest(llvm::ArrayRef<int64_t> loads, llvm::ArrayRef<int64_t> owners, int64_t count) {
  std::vector<int64_t> sums(count, 0);
  for (size_t i = 0; i < loads.size(); ++i)
    sums.at(owners[i]) += loads[i];
  return *std::max_element(sums.begin(), sums.end());
}

/// The least largest sum over all assignments.
static int64_t findOptimum(llvm::ArrayRef<int64_t> loads, std::vector<int64_t> &sums, size_t next, int64_t best) {
  if (next == loads.size())
    return *std::max_element(sums.begin(), sums.end());
  for (int64_t &sum : sums) {
    if (sum + loads[next] >= best)
      continue;
    sum += loads[next];
    best = std::min(best, findOptimum(loads, sums, next + 1, best));
    sum -= loads[next];
    // Owners with nothing yet are alike.
    if (sum == 0)
      break;
  }
  return best;
}

TEST(StorageTest, BalancedOwnersAreNearTheOptimum) {
  test::Random random(1);
  double worst = 1;
  int optimal = 0;
  constexpr int kRounds = 400;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(random.describe(round));
    int64_t count = random.pick(1, 4);
    std::vector<int64_t> loads;
    for (int64_t i = random.pick(0, 9); i > 0; --i)
      loads.push_back(random.chance(30) ? 768 : random.pick(1, 1000));
    llvm::SmallVector<int64_t> owners = balanceOwners(loads, count);
    ASSERT_EQ(owners.size(), loads.size());
    std::vector<int64_t> sums(count, 0);
    int64_t total = std::accumulate(loads.begin(), loads.end(), int64_t(0));
    int64_t optimum = findOptimum(loads, sums, 0, total + 1), found = getLargest(loads, owners, count);
    ASSERT_GE(found, optimum);
    // Graham's bound for the largest first; what follows only makes it better.
    ASSERT_LE(found * 3 * count, optimum * (4 * count - 1) + 3 * count);
    optimal += found == optimum;
    if (optimum > 0)
      worst = std::max(worst, double(found) / optimum);
  }
  RecordProperty("optimal", optimal);
  EXPECT_GE(optimal, kRounds * 8 / 10) << "worst " << worst;
}

TEST(StorageTest, OwnersInOrder) {
  // Before a load is placed the next owner takes over once the sum so far exceeds his predecessors' part.
  EXPECT_EQ(orderOwners({4, 4, 4, 4}, 2), (llvm::SmallVector<int64_t>{0, 0, 0, 1}));
  EXPECT_EQ(orderOwners({5, 4, 4, 3}, 2), (llvm::SmallVector<int64_t>{0, 0, 1, 1}));
  EXPECT_EQ(orderOwners({10, 1, 1}, 3), (llvm::SmallVector<int64_t>{0, 1, 2}));
  // One large load moves on by one owner only.
  EXPECT_EQ(orderOwners({90, 1, 1, 1, 7}, 10), (llvm::SmallVector<int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(orderOwners({1}, 8), (llvm::SmallVector<int64_t>{0}));
  EXPECT_TRUE(orderOwners({}, 3).empty());
}

TEST(StorageTest, SlicesTakeTheOutermostDimensionThatDivides) {
  Mesh mesh({"tp", "a", "b"}, {2, 4, 3});
  auto slice = [&](std::vector<int64_t> shape, std::vector<Axis> axes, bool tensor) {
    Placement placement = Placement::replicated(shape.size());
    if (tensor)
      EXPECT_TRUE(placement.insert(0, {0, shape[0], shape[0] / 2}));
    addSlices(placement, shape, mesh, axes);
    return placement.getLocalShape(shape);
  };
  using Shape = llvm::SmallVector<int64_t>;
  EXPECT_EQ(slice({8, 4}, {1}, false), (Shape{2, 4}));
  EXPECT_EQ(slice({7, 8}, {1}, false), (Shape{7, 2}));
  EXPECT_EQ(slice({8, 8}, {1}, true), (Shape{1, 8}));
  EXPECT_EQ(slice({6, 8}, {1}, true), (Shape{3, 2}));
  EXPECT_EQ(slice({5, 24}, {1, 2}, false), (Shape{5, 2}));
  // Nothing divides: the fewest elements are left.
  EXPECT_EQ(slice({5, 7}, {1}, false), (Shape{5, 2}));
  EXPECT_EQ(slice({3}, {1}, false), (Shape{1}));
  EXPECT_EQ(slice({1}, {1}, false), (Shape{1}));
  EXPECT_EQ(slice({}, {1}, false), (Shape{}));
}

TEST(StorageTest, SlicesLeavePartsOfUnequalSizeWhole) {
  // 64 rows over three ranks are parts of 22, 22 and 20: halves of them would be 11 of 22 indices, and 22 does not
  // divide 64.
  Mesh mesh({"tp", "dp", "ep"}, {3, 2, 3});
  auto slice = [&](std::vector<int64_t> shape, std::vector<Axis> axes) {
    Placement placement = Placement::replicated(shape.size());
    EXPECT_TRUE(placement.insert(0, {0, shape[0], (shape[0] + 2) / 3}));
    addSlices(placement, shape, mesh, axes);
    return placement.dims;
  };
  using Dims = decltype(Placement::dims);
  EXPECT_EQ(slice({64, 8}, {1}), (Dims{{{0, 64, 22}}, {{1, 8, 4}}}));
  EXPECT_EQ(slice({64, 7}, {1}), (Dims{{{0, 64, 22}}, {{1, 7, 4}}}));
  EXPECT_EQ(slice({64}, {1}), (Dims{{{0, 64, 22}}}));
  EXPECT_EQ(slice({66, 8}, {1}), (Dims{{{0, 66, 22}, {1, 22, 11}}, {}}));
  // Axes that divide come first, and one that does not is the last.
  EXPECT_EQ(slice({66}, {2, 1}), (Dims{{{0, 66, 22}, {1, 22, 11}, {2, 11, 4}}}));
  EXPECT_EQ(slice({63}, {2, 1}), (Dims{{{0, 63, 21}, {2, 21, 7}, {1, 7, 4}}}));
  // A dimension that does not take all axes leaves them to another one.
  EXPECT_EQ(slice({10, 3}, {1, 2}), (Dims{{{0, 10, 4}}, {{2, 3, 1}}}));
  EXPECT_EQ(slice({10, 5, 3}, {1, 2}), (Dims{{{0, 10, 4}}, {{1, 5, 3}}, {{2, 3, 1}}}));
  EXPECT_EQ(slice({60}, {2, 1}), (Dims{{{0, 60, 20}, {1, 20, 10}, {2, 10, 4}}}));
}

TEST(StorageTest, SlicesRunInElementwiseOperations) {
  test::Random random(3);
  for (int round = 0; round < 500; ++round) {
    SCOPED_TRACE(random.describe(round));
    Mesh mesh({"tp", "a", "b"}, {random.pick(1, 4), random.pick(1, 5), random.pick(1, 4)});
    std::vector<int64_t> shape;
    for (int64_t dims = random.pick(1, 3); dims > 0; --dims)
      shape.push_back(random.pick(1, 70));
    Placement placement = Placement::replicated(shape.size());
    size_t dim = random.pick(0, shape.size() - 1);
    int64_t stride = (shape[dim] + mesh.getSize(0) - 1) / mesh.getSize(0);
    if (mesh.getSize(0) > 1)
      ASSERT_TRUE(placement.insert(dim, {0, shape[dim], stride}));
    addSlices(placement, shape, mesh, {1, 2});
    ShardingRule rule = ShardingRule::elementwise(shape, 1);
    for (auto [index, splits] : llvm::enumerate(placement.dims))
      for (const Split &split : splits)
        EXPECT_TRUE(toFactorSplit(rule.operands[0], index, split.extent, split.stride, mesh.getSize(split.axis)))
            << split.stride << " of " << split.extent << " of " << shape[index];
  }
}

TEST(StorageTest, RandomSlicesHoldEveryElementEquallyOften) {
  test::Random random(2);
  for (int round = 0; round < 500; ++round) {
    SCOPED_TRACE(random.describe(round));
    Mesh mesh({"a", "b"}, {random.pick(1, 5), random.pick(1, 4)});
    std::vector<int64_t> shape;
    for (int64_t dims = random.pick(1, 3); dims > 0; --dims)
      shape.push_back(random.pick(1, 13));
    Placement placement = Placement::replicated(shape.size());
    bool sliced = addSlices(placement, shape, mesh, {0, 1});
    EXPECT_EQ(sliced, !placement.isReplicated());
    if (!sliced)
      continue;
    llvm::SmallVector<int64_t> local = placement.getLocalShape(shape);
    std::vector<int> seen(shape[0] * (shape.size() > 1 ? shape[1] : 1) * (shape.size() > 2 ? shape[2] : 1), 0);
    int64_t elements = std::accumulate(local.begin(), local.end(), int64_t(1), std::multiplies<>());
    for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank)
      for (int64_t element = 0; element < elements; ++element) {
        int64_t rest = element, whole = 0, stride = 1;
        bool inside = true;
        for (size_t dim = shape.size(); dim-- > 0; stride *= shape[dim]) {
          auto index = placement.getGlobalIndex(dim, shape[dim], rest % local[dim],
                                                {mesh.getCoordinate(rank, 0), mesh.getCoordinate(rank, 1)});
          rest /= local[dim];
          inside &= index.has_value();
          whole += index.value_or(0) * stride;
        }
        if (inside)
          ++seen.at(whole);
      }
    // Ranks along an axis that fits no dimension hold the same.
    int64_t holders = 1;
    for (Axis axis : {0, 1})
      holders *= placement.findSplit(axis) ? 1 : mesh.getSize(axis);
    EXPECT_EQ(std::count(seen.begin(), seen.end(), holders), static_cast<long>(seen.size()));
  }
}
