//===- RegroupingTest.cpp - exchanges along one dimension, by index -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every rank holds the global indices of its positions. The exchange is carried out by the tables alone, and each rank
// has to end with the indices that its new placement has.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Regrouping.h"
#include "dialects/Dist/Support.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "test/unit/Random.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace meshwright::dist;
using meshwright::test::Random;

using Indices = SmallVector<int64_t>;

namespace {

/// The global indices that each rank holds of a dimension, in order.
SmallVector<Indices> getIndices(const Placement &placement, const Mesh &mesh, int64_t size) {
  SmallVector<Indices> held(mesh.getNumRanks());
  for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank)
    for (int64_t local = 0; local < placement.getLocalShape(size)[0]; ++local)
      held[rank].push_back(*placement.getGlobalIndex(0, size, local, getCoordinates(mesh, rank)));
  return held;
}

/// The units number `numbers` of `values`, one after another.
Indices take(ArrayRef<int64_t> values, ArrayRef<int32_t> numbers, int64_t unit) {
  Indices taken;
  for (int32_t number : numbers)
    taken.append(values.begin() + number * unit, values.begin() + (number + 1) * unit);
  return taken;
}

/// The indices that each rank holds after the exchange over axis 0.
SmallVector<Indices> exchange(const SmallVector<Indices> &before, const Regrouping &regrouping, const Mesh &mesh) {
  int64_t unit = before.front().size() / regrouping.numUnits, n = regrouping.n, slots = regrouping.slots;
  EXPECT_EQ(static_cast<int64_t>(before.front().size()), unit * regrouping.numUnits);
  SmallVector<Indices> after;
  for (int64_t receiver = 0; receiver < mesh.getNumRanks(); ++receiver) {
    Indices coordinates = getCoordinates(mesh, receiver), all = before[receiver];
    int64_t mine = coordinates[0];
    for (coordinates[0] = 0; coordinates[0] < n; ++coordinates[0]) {
      ArrayRef<int32_t> sent = ArrayRef(regrouping.sent).slice((coordinates[0] * n + mine) * slots, slots);
      all.append(take(before[mesh.getRank(coordinates)], sent, unit));
    }
    after.push_back(take(all, ArrayRef(regrouping.taken).slice(mine * regrouping.numUnits, regrouping.numUnits), unit));
  }
  return after;
}

/// A random placement of one dimension whose digits divide evenly.
Placement makePlacement(Random &random, const Mesh &mesh, int64_t size) {
  Placement placement = Placement::replicated(1);
  SmallVector<Axis> axes;
  for (Axis axis = 0; axis < mesh.getNumAxes(); ++axis)
    axes.insert(axes.begin() + random.pick(0, axes.size()), axis);
  int64_t extent = size;
  for (Axis axis : axes) {
    for (int64_t digit : {2, 3})
      if (extent % digit == 0 && random.chance(40))
        extent /= digit;
    if (extent % mesh.getSize(axis) != 0)
      continue;
    placement.dims[0].push_back({axis, extent, extent / mesh.getSize(axis)});
    extent /= mesh.getSize(axis);
  }
  return placement;
}

} // namespace

TEST(Regrouping, BringsEveryIndexToItsRank) {
  Random random(31);
  int64_t tried = 0, withOthers = 0, padded = 0;
  for (int64_t round = 0; round < 3000; ++round) {
    SCOPED_TRACE(random.describe(round));
    Mesh mesh({"a", "b"}, {random.pick(2, 5), random.pick(1, 3)});
    int64_t size = 1;
    for (int64_t factor : {2, 2, 2, 3, 3, 5})
      size *= random.chance(60) ? factor : 1;
    Placement from = makePlacement(random, mesh, size), to = makePlacement(random, mesh, size);
    // The other axis stays as it is.
    to.erase(1);
    auto other = from.findSplit(1), mine = from.findSplit(0);
    if (!mine || !to.findSplit(0) || (other && !to.insert(0, other->second)) || from == to)
      continue;
    int64_t n = mesh.getSize(0);
    std::optional<Regrouping> regrouping = Regrouping::find(size, from.dims[0], to.dims[0], 0, n);
    ASSERT_TRUE(regrouping.has_value());
    SmallVector<Indices> before = getIndices(from, mesh, size), after = getIndices(to, mesh, size);
    EXPECT_EQ(exchange(before, *regrouping, mesh), after);
    // No rank sends more than in a gather, and some rank sends all that is counted.
    int64_t unit = before.front().size() / regrouping->numUnits, most = 0, total = 0;
    for (int64_t sender = 0; sender < n; ++sender)
      for (int64_t receiver = 0; receiver < n; ++receiver) {
        Indices from = {sender, 0}, to = {receiver, 0};
        ArrayRef<int64_t> held = before[mesh.getRank(from)], wanted = after[mesh.getRank(to)];
        int64_t moved = llvm::count_if(held, [&](int64_t index) { return llvm::is_contained(wanted, index); });
        most = std::max(most, sender == receiver ? 0 : moved);
        total += sender == receiver ? 0 : moved;
      }
    EXPECT_EQ(regrouping->slots * unit, most);
    EXPECT_LE(regrouping->slots, regrouping->numUnits);
    ++tried;
    withOthers += other.has_value();
    padded += total < most * n * (n - 1);
  }
  EXPECT_GE(tried, 500);
  EXPECT_GE(withOthers, 100);
  EXPECT_GE(padded, 100);
}

TEST(Regrouping, ExchangesThirds) {
  // The example in the header.
  std::optional<Regrouping> found = Regrouping::find(96, Split{0, 96, 48}, Split{0, 32, 16}, 0, 2);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->numUnits, 3);
  EXPECT_EQ(found->slots, 1);
  EXPECT_EQ(found->sent, (SmallVector<int32_t, 0>{0, 1, 1, 0}));
  // Rank 0 keeps its units 0 and 2, and receives the second unit; rank 1 the first.
  EXPECT_EQ(found->taken, (SmallVector<int32_t, 0>{0, 2, 4, 3, 0, 2}));
}

TEST(Regrouping, LeavesOtherDigitsAlone) {
  EXPECT_FALSE(Regrouping::find(8, Split{0, 8, 4}, Split{0, 8, 4}, 0, 2));
  // Seven indices over two ranks, eight over three.
  EXPECT_FALSE(Regrouping::find(7, Split{0, 7, 4}, Split{0, 1, 1}, 0, 2));
  EXPECT_FALSE(Regrouping::find(8, Split{0, 8, 3}, Split{0, 4, 2}, 0, 3));
  // Single indices of a large dimension dealt out one by one.
  EXPECT_FALSE(Regrouping::find(1 << 20, Split{0, 1 << 20, 1 << 19}, Split{0, 2, 1}, 0, 2));
  EXPECT_TRUE(Regrouping::find(1 << 10, Split{0, 1 << 10, 1 << 9}, Split{0, 2, 1}, 0, 2));
}
