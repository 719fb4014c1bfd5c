//===- ReshardPlannerTest.cpp - plans move the right data, cheaply --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Executes planned conversions between random placements element by element and checks the result, compares their bytes
// with those of other sequences, and compares chosen plans with expected ones.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Partition/ReshardPlanner.h"
#include "dialects/Dist/Dist.h"
#include "mlir/IR/MLIRContext.h"
#include "test/lib/Simulate/Ranks.h"
#include "test/unit/Partition/RandomPlacement.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <gtest/gtest.h>
#include <map>

using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::partition;
using namespace meshwright::test;
using llvm::ArrayRef;
using llvm::SmallVector;

using Kind = ReshardStep::Kind;

namespace {

int64_t getCost(const ReshardPlanner &planner, ArrayRef<ReshardStep> steps) {
  int64_t cost = 0;
  for (const ReshardStep &step : steps)
    cost += planner.getCost(step);
  return cost;
}

std::vector<Kind> getKinds(ArrayRef<ReshardStep> steps) {
  std::vector<Kind> kinds;
  for (const ReshardStep &step : steps)
    kinds.push_back(step.kind);
  return kinds;
}

Placement split(unsigned rank, std::vector<std::pair<unsigned, Split>> digits, SmallVector<Axis, 2> partial = {}) {
  Placement placement = Placement::replicated(rank);
  for (auto &[dim, digit] : digits)
    placement.dims[dim].push_back(digit);
  placement.partialAxes = partial;
  return placement;
}

/// Returns the error of the steps as text; empty if they are right.
std::string describe(ArrayRef<ReshardStep> steps, const Mesh &mesh, ArrayRef<int64_t> shape) {
  mlir::MLIRContext context;
  context.loadDialect<DistDialect>();
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (const ReshardStep &step : steps) {
    stream << "step " << static_cast<int>(step.kind) << " over";
    for (Axis axis : step.axes)
      stream << " " << mesh.getName(axis) << "=" << mesh.getSize(axis);
    stream << " from " << step.from.toAttr(&context, mesh, shape) << " to " << step.to.toAttr(&context, mesh, shape)
           << "\n";
  }
  return text;
}

/// Parts of a partial value with random terms: the reduction of what the ranks hold is `whole`.
PerRank scatterTerms(Random &random, ArrayRef<double> whole, const Placement &placement, const Mesh &mesh,
                     ArrayRef<int64_t> shape) {
  PerRank parts = distribute(whole, placement, mesh, shape, placement.partialKind == ReduceKind::Sum ? 0 : -1e9, NAN);
  if (placement.partialAxes.empty())
    return parts;
  for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank) {
    Axis axis = placement.partialAxes.front();
    if (mesh.getCoordinate(rank, axis) == 0)
      continue;
    SmallVector<int64_t> coordinates;
    for (Axis other = 0; other < mesh.getNumAxes(); ++other)
      coordinates.push_back(other == axis ? 0 : mesh.getCoordinate(rank, other));
    int64_t holder = mesh.getRank(coordinates);
    // One rank adds a term that its partner subtracts, equally on all ranks with the same coordinates on the partial
    // axes.
    for (size_t position = 0; position < parts[rank].size(); ++position) {
      double term = static_cast<double>((position * 7 + mesh.getCoordinate(rank, axis) * 3) % 11);
      if (placement.partialKind == ReduceKind::Sum) {
        parts[rank][position] += term;
        parts[holder][position] -= term;
      }
    }
  }
  return parts;
}

Placement hold(Placement placement, Axis axis, int64_t holder) {
  placement.setHolder(axis, holder);
  return placement;
}

double getNeutral(ReduceKind kind) { return kind == ReduceKind::Sum ? 0 : kind == ReduceKind::Max ? -1e9 : 1; }

// Tests on random placements, even and uneven, that executing a plan by the definition of its steps yields the value
// in the placement that was asked for, and that it is never dearer than reducing and gathering everything.
TEST(ReshardPlanner, movesTheRightDataForNoMoreThanTheNaivePlan) {
  Random random(11);
  for (int64_t round = 0; round < 1500; ++round) {
    SCOPED_TRACE(random.describe(round));
    Mesh mesh = makeMesh(random, 3, 16);
    SmallVector<int64_t> shape;
    for (int64_t dim = random.pick(0, 3); dim > 0; --dim)
      shape.push_back(random.pick(1, 13));
    auto pickKind = [&] { return random.chance(80) ? ReduceKind::Sum : ReduceKind::Max; };
    Placement from = makePlacement(random, mesh, shape, pickKind(), /*withHolders=*/true);
    Placement to = makePlacement(random, mesh, shape, pickKind(), /*withHolders=*/true);
    std::vector<double> whole;
    int64_t size = 1;
    for (int64_t extent : shape)
      size *= extent;
    for (int64_t element = 0; element < size; ++element)
      whole.push_back(random.pick(-50, 50));

    ReshardPlanner planner(mesh, shape);
    std::vector<ReshardStep> steps = planner.plan(from, to);
    PerRank parts = scatterTerms(random, whole, from, mesh, shape);
    Placement current = from;
    for (const ReshardStep &step : steps) {
      ASSERT_TRUE(step.from == current);
      if (step.kind != Kind::Relabel)
        parts = convert(parts, step.from, step.to, step.axes, mesh, shape, getNeutral(step.to.partialKind), NAN);
      current = step.to;
    }
    ASSERT_TRUE(current == to);
    auto result = collect(parts, to, mesh, shape);
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(*result, whole) << describe(steps, mesh, shape);

    Placement replicated = Placement::replicated(shape.size());
    std::vector<ReshardStep> naive = planner.plan(from, replicated);
    EXPECT_LE(getCost(planner, steps), getCost(planner, naive));
    EXPECT_EQ(getCost(planner, planner.plan(replicated, to)), 0);
  }
}

// Tests each row of the table of conversions on one axis.
TEST(ReshardPlanner, picksTheConversionOfTheTable) {
  Mesh mesh({"tp"}, {2});
  SmallVector<int64_t> shape{8, 4};
  ReshardPlanner planner(mesh, shape);
  Placement replicated = Placement::replicated(2), partial = split(2, {}, {0});
  Placement rows = split(2, {{0, {0, 8, 4}}}), columns = split(2, {{1, {0, 4, 2}}});
  Placement maximum = partial;
  maximum.partialKind = ReduceKind::Max;
  using Kinds = std::vector<Kind>;
  EXPECT_EQ(getKinds(planner.plan(partial, replicated)), Kinds{Kind::AllReduce});
  EXPECT_EQ(getKinds(planner.plan(partial, rows)), Kinds{Kind::ReduceScatter});
  EXPECT_EQ(getKinds(planner.plan(rows, replicated)), Kinds{Kind::AllGather});
  EXPECT_EQ(getKinds(planner.plan(rows, columns)), Kinds{Kind::AllToAll});
  EXPECT_EQ(getKinds(planner.plan(rows, split(2, {{0, {0, 4, 2}}}))), Kinds{Kind::AllToAll});
  EXPECT_EQ(getKinds(planner.plan(replicated, rows)), Kinds{Kind::Shard});
  EXPECT_EQ(getKinds(planner.plan(replicated, partial)), Kinds{Kind::ToPartial});
  EXPECT_EQ(getKinds(planner.plan(replicated, maximum)), Kinds{Kind::Relabel});
  EXPECT_EQ(getKinds(planner.plan(partial, maximum)), (Kinds{Kind::AllReduce, Kind::Relabel}));
  EXPECT_EQ(getKinds(planner.plan(rows, partial)), (Kinds{Kind::AllGather, Kind::ToPartial}));
  EXPECT_TRUE(planner.plan(rows, rows).empty());
  Placement held = hold(replicated, 0, 1), other = hold(replicated, 0, 0);
  EXPECT_EQ(getKinds(planner.plan(held, replicated)), Kinds{Kind::Broadcast});
  EXPECT_EQ(getKinds(planner.plan(partial, held)), Kinds{Kind::Reduce});
  EXPECT_EQ(getKinds(planner.plan(held, partial)), Kinds{Kind::ToPartial});
  EXPECT_EQ(getKinds(planner.plan(held, maximum)), Kinds{Kind::ToPartial});
  EXPECT_EQ(getKinds(planner.plan(replicated, held)), Kinds{Kind::Relabel});
  EXPECT_EQ(getKinds(planner.plan(held, other)), Kinds{Kind::Send});
  EXPECT_EQ(getKinds(planner.plan(rows, held)), (Kinds{Kind::AllGather, Kind::Relabel}));
  EXPECT_EQ(getKinds(planner.plan(held, rows)), (Kinds{Kind::Broadcast, Kind::Shard}));
}

// Tests whole ownership inside of replicas: gradients are reduced in the sharding group before owners alone reduce them
// over the replicas, and parameters are not sent by anyone but their owner.
TEST(ReshardPlanner, reducesToTheOwnerBeforeOverReplicas) {
  constexpr int64_t kElements = 48, kOuter = 4, kZero = 8;
  Mesh mesh({"outer", "zero"}, {kOuter, kZero});
  SmallVector<int64_t> shape{kElements};
  ReshardPlanner planner(mesh, shape);
  Placement owned = hold(Placement::replicated(1), 1, 5);
  std::vector<ReshardStep> steps = planner.plan(split(1, {}, {0, 1}), owned);
  ASSERT_EQ(getKinds(steps), (std::vector<Kind>{Kind::Reduce, Kind::AllReduce}));
  EXPECT_EQ(steps[0].axes, (SmallVector<Axis, 2>{1}));
  EXPECT_EQ(steps[1].axes, (SmallVector<Axis, 2>{0}));
  // B(n-1)/n on every rank, then 2B(m-1)/m on one of n.
  int64_t ranks = kOuter * kZero;
  EXPECT_EQ(getCost(planner, steps),
            kElements * (kZero - 1) * ranks / kZero + 2 * kElements * (kOuter - 1) * (ranks / kZero) / kOuter);
  steps = planner.plan(owned, Placement::replicated(1));
  ASSERT_EQ(getKinds(steps), std::vector<Kind>{Kind::Broadcast});
  EXPECT_EQ(getCost(planner, steps), kElements * (kZero - 1) * ranks / kZero);
}

// Tests that holders on two axes are one rank of one group, and that what is split over another axis is sent in parts.
TEST(ReshardPlanner, plansHoldersOfSeveralAxes) {
  Mesh mesh({"dp", "tp"}, {2, 4});
  SmallVector<int64_t> shape{16, 4};
  ReshardPlanner planner(mesh, shape);
  Placement replicated = Placement::replicated(2), both = hold(hold(replicated, 1, 3), 0, 1);
  std::vector<ReshardStep> steps = planner.plan(both, replicated);
  ASSERT_EQ(getKinds(steps), std::vector<Kind>{Kind::Broadcast});
  EXPECT_EQ(steps[0].axes, (SmallVector<Axis, 2>{0, 1}));
  EXPECT_EQ(getCost(planner, steps), 64 * 7);
  steps = planner.plan(split(2, {}, {0, 1}), both);
  ASSERT_EQ(getKinds(steps), std::vector<Kind>{Kind::Reduce});
  EXPECT_EQ(getCost(planner, steps), 64 * 7);
  // Parts over tp first: a quarter travels over dp.
  Placement columns = split(2, {{1, {1, 4, 1}}});
  steps = planner.plan(hold(replicated, 0, 1), columns);
  EXPECT_EQ(getKinds(steps), (std::vector<Kind>{Kind::Shard, Kind::Broadcast}));
  EXPECT_EQ(getCost(planner, steps), 16 * 1 * 4);
}

// Tests that a sum is reduced over times before it is over ranks, once and not at every time, unless ranks are to keep
// parts of it all the way; and that a slice is taken before anything is sent.
TEST(ReshardPlanner, reducesTimeBeforeSpace) {
  using Kinds = std::vector<Kind>;
  constexpr int64_t kElements = 64, kRanks = 4, kSlices = 8;
  Mesh mesh({"dp", "micro"}, {kRanks, kSlices}, {AxisKind::Ranks, AxisKind::Slices});
  SmallVector<int64_t> shape{kElements};
  ReshardPlanner planner(mesh, shape), scattering(mesh, shape, /*scattersFirst=*/true);
  Placement replicated = Placement::replicated(1), owed = split(1, {}, {0, 1});
  Placement rows = split(1, {{0, {0, kElements, kElements / kRanks}}});
  Placement slices = split(1, {{0, {1, kElements, kElements / kSlices}}});
  std::vector<ReshardStep> steps = planner.plan(owed, replicated);
  EXPECT_EQ(getKinds(steps), (Kinds{Kind::Accumulate, Kind::AllReduce}));
  EXPECT_EQ(getCost(planner, steps), 2 * kElements * (kRanks - 1));
  steps = planner.plan(owed, rows);
  EXPECT_EQ(getKinds(steps), (Kinds{Kind::Accumulate, Kind::ReduceScatter}));
  EXPECT_EQ(getCost(planner, steps), kElements * (kRanks - 1));
  steps = scattering.plan(owed, rows);
  EXPECT_EQ(getKinds(steps), (Kinds{Kind::ReduceScatter, Kind::Accumulate}));
  EXPECT_EQ(getCost(scattering, steps), kElements * (kRanks - 1) * kSlices);
  // No rank keeps a part of a value that all ranks need whole.
  EXPECT_EQ(getKinds(scattering.plan(owed, replicated)), (Kinds{Kind::Accumulate, Kind::AllReduce}));
  EXPECT_EQ(getKinds(planner.plan(replicated, slices)), Kinds{Kind::Shard});
  EXPECT_EQ(getKinds(planner.plan(slices, replicated)), Kinds{Kind::Collect});
}

// Tests that what several axes need alike is one collective.
TEST(ReshardPlanner, joinsAxes) {
  Mesh mesh({"dp", "tp"}, {2, 4});
  SmallVector<int64_t> shape{16, 4};
  ReshardPlanner planner(mesh, shape);
  Placement replicated = Placement::replicated(2);
  std::vector<ReshardStep> steps = planner.plan(split(2, {}, {0, 1}), replicated);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].axes, (SmallVector<Axis, 2>{0, 1}));
  Placement nested = split(2, {{0, {0, 16, 8}}, {0, {1, 8, 2}}});
  steps = planner.plan(nested, replicated);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].axes, (SmallVector<Axis, 2>{0, 1}));
  steps = planner.plan(split(2, {}, {0, 1}), nested);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].kind, Kind::ReduceScatter);
}

// Tests that what shrinks the data comes before what sends it.
TEST(ReshardPlanner, shrinksBeforeItSends) {
  Mesh mesh({"dp", "tp"}, {2, 4});
  SmallVector<int64_t> shape{16, 4};
  ReshardPlanner planner(mesh, shape);
  std::vector<ReshardStep> steps = planner.plan(split(2, {}, {1}), split(2, {{0, {0, 16, 8}}}));
  EXPECT_EQ(getKinds(steps), (std::vector<Kind>{Kind::Shard, Kind::AllReduce}));
  steps = planner.plan(split(2, {{1, {1, 4, 1}}}), split(2, {{0, {0, 16, 8}}}));
  EXPECT_EQ(getKinds(steps), (std::vector<Kind>{Kind::Shard, Kind::AllGather}));
}

// Tests that a major digit can be gathered under a minor one where sizes divide, and takes the minor one along where
// they do not.
TEST(ReshardPlanner, gathersMajorDigits) {
  Mesh mesh({"dp", "tp"}, {2, 2});
  SmallVector<int64_t> even{8};
  std::vector<ReshardStep> steps =
      ReshardPlanner(mesh, even).plan(split(1, {{0, {0, 8, 4}}, {0, {1, 4, 2}}}), split(1, {{0, {1, 4, 2}}}));
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].axes, (SmallVector<Axis, 2>{0}));
  SmallVector<int64_t> odd{7};
  steps = ReshardPlanner(mesh, odd).plan(split(1, {{0, {0, 7, 4}}, {0, {1, 4, 2}}}), split(1, {{0, {1, 7, 4}}}));
  EXPECT_EQ(getKinds(steps), (std::vector<Kind>{Kind::AllGather, Kind::Shard}));
}

// Tests the bytes of an exchange along one dimension: of the six parts of a fused projection each rank keeps two.
TEST(ReshardPlanner, exchangesThirds) {
  Mesh mesh({"dp", "tp"}, {3, 2});
  SmallVector<int64_t> shape{6, 96};
  ReshardPlanner planner(mesh, shape);
  std::vector<ReshardStep> steps =
      planner.plan(split(2, {{0, {0, 6, 2}}, {1, {1, 96, 48}}}), split(2, {{0, {0, 6, 2}}, {1, {1, 32, 16}}}));
  ASSERT_EQ(getKinds(steps), std::vector<Kind>{Kind::AllToAll});
  // Two rows of sixteen features from each of six ranks.
  EXPECT_EQ(getCost(planner, steps), 2 * 16 * 6);
}

/// True if ranks exchange the parts of the two splits of an axis: those of one dimension have to divide it evenly.
bool areExchanged(const Placement &from, const Placement &to, Axis axis, const Mesh &mesh, ArrayRef<int64_t> shape) {
  unsigned dim = from.findSplit(axis)->first;
  auto isEven = [&](const Split &split) {
    bool isCovered = split.axis != axis || split.extent == mesh.getSize(axis) * split.stride;
    return isCovered && split.extent % split.stride == 0 && shape[dim] % split.extent == 0;
  };
  return dim != to.findSplit(axis)->first ||
         (llvm::all_of(from.dims[dim], isEven) && llvm::all_of(to.dims[dim], isEven));
}

/// Every way from `from` to `to` with at most `depth` steps over placements in which each axis is as at the start,
/// replicated, or as at the end; the cheapest. Written from the table of conversions, one axis or pair at a time.
int64_t searchAll(const ReshardPlanner &planner, const Mesh &mesh, ArrayRef<int64_t> shape, const Placement &from,
                  const Placement &to, const Placement &start, int depth) {
  if (from == to)
    return 0;
  int64_t best = INT64_MAX / 4;
  if (depth == 0)
    return best;
  auto set = [&](Placement placement, Axis axis, const Placement &like) -> std::optional<Placement> {
    placement.erase(axis);
    if (auto digit = like.findSplit(axis)) {
      if (!placement.insert(digit->first, digit->second))
        return std::nullopt;
    } else if (std::optional<int64_t> holder = like.getHolder(axis)) {
      placement.setHolder(axis, *holder);
    } else if (like.isPartial(axis)) {
      placement.partialAxes.push_back(axis);
      llvm::sort(placement.partialAxes);
    }
    bool isLegal = isNested(placement, shape) && keepsDigits(from, placement, shape);
    return isLegal ? std::optional<Placement>(placement) : std::nullopt;
  };
  auto getState = [](const Placement &placement, Axis axis) {
    return placement.isPartial(axis) ? 'P' : placement.findSplit(axis) ? 'S' : placement.getHolder(axis) ? 'H' : 'R';
  };
  auto tryStep = [&](const Placement &next, ArrayRef<Axis> axes) {
    std::string change{getState(from, axes[0]), getState(next, axes[0])};
    static const std::map<std::string, Kind> table{
        {"PR", Kind::AllReduce}, {"PS", Kind::ReduceScatter}, {"SR", Kind::AllGather}, {"SS", Kind::AllToAll},
        {"RS", Kind::Shard},     {"RP", Kind::ToPartial},     {"HR", Kind::Broadcast}, {"PH", Kind::Reduce},
        {"RH", Kind::Relabel},   {"HP", Kind::ToPartial},     {"HH", Kind::Send}};
    auto it = table.find(change);
    if (it == table.end() || (change == "SS" && !areExchanged(from, next, axes[0], mesh, shape)))
      return;
    ReshardStep step{it->second, SmallVector<Axis, 2>(axes), from, next};
    best = std::min(best, planner.getCost(step) + searchAll(planner, mesh, shape, next, to, start, depth - 1));
  };
  Placement replicated = Placement::replicated(shape.size());
  for (Axis axis = 0; axis < mesh.getNumAxes(); ++axis)
    for (const Placement *like : std::initializer_list<const Placement *>{&start, &to, &replicated})
      if (auto next = set(from, axis, *like); next && !(*next == from))
        tryStep(*next, {axis});
  auto areNeighbours = [](const Placement &placement) {
    auto a = placement.findSplit(0), b = placement.findSplit(1);
    return a && b && a->first == b->first &&
           (a->second.stride == b->second.extent || b->second.stride == a->second.extent);
  };
  if (mesh.getNumAxes() == 2 && getState(from, 0) == getState(from, 1) && getState(from, 0) != 'R') {
    Placement next = from;
    next.erase(0);
    next.erase(1);
    if (getState(from, 0) != 'S' || areNeighbours(from))
      tryStep(next, {0, 1});
    if (getState(from, 0) == 'P' && (areNeighbours(to) || (getState(to, 0) == 'H' && getState(to, 1) == 'H')))
      tryStep(to, {0, 1});
  }
  return best;
}

// Tests on small cases that no other sequence of steps is cheaper.
TEST(ReshardPlanner, isAsCheapAsAnySequence) {
  Random random(12);
  for (int64_t round = 0; round < 300; ++round) {
    SCOPED_TRACE(random.describe(round));
    Mesh mesh = random.chance(30) ? Mesh({"tp"}, {random.pick(2, 4)})
                                  : Mesh({"dp", "tp"}, {random.pick(2, 3), random.pick(2, 4)});
    SmallVector<int64_t> shape{random.pick(1, 9), random.pick(4, 12)};
    Placement from = makePlacement(random, mesh, shape, ReduceKind::Sum, /*withHolders=*/true);
    Placement to = makePlacement(random, mesh, shape, ReduceKind::Sum, /*withHolders=*/true);
    ReshardPlanner planner(mesh, shape);
    std::vector<ReshardStep> steps = planner.plan(from, to);
    EXPECT_EQ(getCost(planner, steps), searchAll(planner, mesh, shape, from, to, from, 5))
        << describe(steps, mesh, shape);
  }
}

} // namespace
