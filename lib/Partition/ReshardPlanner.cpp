//===- ReshardPlanner.cpp - shortest paths between two placements ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dijkstra's algorithm over the placements between the two. The queue is ordered by bytes, then steps, then bytes
// touched by local steps, then discovery, so the answer is the same on every machine.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Partition/ReshardPlanner.h"
#include "dialects/Dist/Collectives.h"
#include "dialects/Dist/Conversions.h"
#include "dialects/Dist/Regrouping.h"
#include <map>
#include <queue>
#include <tuple>

using namespace meshwright::dist;
using namespace meshwright::partition;
using llvm::ArrayRef;
using llvm::SmallVector;

using Kind = ReshardStep::Kind;

static int64_t getNumElements(ArrayRef<int64_t> shape) {
  int64_t elements = 1;
  for (int64_t size : shape)
    elements *= size;
  return elements;
}

/// The collective of a step; nullopt for a local step. Collectives come first, in the order of their kinds.
static std::optional<CollectiveKind> getCollectiveKind(Kind kind) {
  return kind < Kind::Shard ? std::optional(static_cast<CollectiveKind>(kind)) : std::nullopt;
}

int64_t ReshardPlanner::getCost(const ReshardStep &step) const {
  int64_t n = mesh.getGroupSize(step.axes);
  int64_t ranks = mesh.getNumRanks();
  for (const auto &[axis, coordinates] : step.from.support)
    if (!llvm::is_contained(step.axes, axis))
      ranks = ranks / mesh.getSize(axis) * static_cast<int64_t>(coordinates.size());
  int64_t groups = ranks / n;
  for (Axis axis = mesh.getNumRankAxes(); axis < mesh.getNumAxes(); ++axis)
    if (step.from.isPartial(axis) || step.from.findSplit(axis))
      groups *= mesh.getSize(axis);
  std::optional<CollectiveKind> kind = getCollectiveKind(step.kind);
  if (!kind)
    return 0;
  return countElements(*kind, step.from, step.to, step.axes, shape, mesh) * countCrossings(*kind, n) * groups;
}

namespace {

/// The search for one conversion.
class Search {
public:
  Search(const ReshardPlanner &planner, const Mesh &mesh, ArrayRef<int64_t> shape, const Placement &to,
         bool scattersFirst)
      : planner(planner), mesh(mesh), shape(shape), to(to), scattersFirst(scattersFirst) {}

  std::vector<ReshardStep> run(const Placement &from);

private:
  /// Bytes sent, steps, elements touched.
  using Cost = std::tuple<int64_t, int64_t, int64_t>;
  struct Node {
    Placement placement;
    Cost cost;
    /// The previous node and the step from it; the start has neither.
    int parent = -1;
    std::optional<ReshardStep> step;
    bool done = false;
  };

  void expand(int index);
  void expandReductions(int index);
  void expandAxis(int index, Axis axis);
  bool canRegroup(const Placement &before, const Placement &after, Axis axis) const;
  void expandTime(int index, Axis axis);
  bool isScattered(const Placement &placement) const;
  void expandGathers(int index, unsigned dim);
  void reach(int parent, Kind kind, ArrayRef<Axis> axes, Placement next);
  int find(const Placement &placement) const;
  /// `placement` with `axis` as in `to`; nullopt if its digit does not nest yet.
  std::optional<Placement> adopt(Placement placement, Axis axis) const;

  const ReshardPlanner &planner;
  const Mesh &mesh;
  ArrayRef<int64_t> shape;
  const Placement &to;
  bool scattersFirst;
  std::vector<Node> nodes;
  using Entry = std::pair<Cost, int>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue;
};

} // namespace

int Search::find(const Placement &placement) const {
  for (auto [index, node] : llvm::enumerate(nodes))
    if (node.placement == placement)
      return index;
  return -1;
}

void Search::reach(int parent, Kind kind, ArrayRef<Axis> axes, Placement next) {
  next = normalize(next, mesh);
  if (!isNested(next, shape) || !keepsDigits(nodes[parent].placement, next, shape))
    return;
  ReshardStep step{kind, llvm::to_vector<2>(axes), nodes[parent].placement, next};
  auto [bytes, steps, touched] = nodes[parent].cost;
  int64_t elements = getNumElements(step.from.getLocalShape(shape)) + getNumElements(next.getLocalShape(shape));
  Cost cost{bytes + planner.getCost(step), steps + (kind == Kind::Relabel ? 0 : 1),
            touched + (kind == Kind::Relabel ? 0 : elements)};
  int index = find(next);
  if (index < 0) {
    index = nodes.size();
    nodes.push_back({next, cost, parent, step});
  } else if (nodes[index].done || nodes[index].cost <= cost) {
    return;
  } else {
    nodes[index] = {next, cost, parent, step};
  }
  queue.push({cost, index});
}

std::optional<Placement> Search::adopt(Placement placement, Axis axis) const {
  placement.erase(axis);
  if (std::optional<int64_t> holder = to.getHolder(axis)) {
    placement.setHolder(axis, *holder);
    return placement;
  }
  if (to.isPartial(axis)) {
    if (!placement.partialAxes.empty() && placement.partialKind != to.partialKind)
      return std::nullopt;
    placement.partialKind = to.partialKind;
    placement.partialAxes.push_back(axis);
    llvm::sort(placement.partialAxes);
    return placement;
  }
  if (auto split = to.findSplit(axis))
    if (!placement.insert(split->first, split->second))
      return std::nullopt;
  return placement;
}

/// All-reduces over every set of axes that are partial and unwanted as such. Sets that leave one out matter if another
/// step shrinks the value in between; the largest set comes first.
void Search::expandReductions(int index) {
  SmallVector<Axis> owed;
  for (Axis axis : nodes[index].placement.partialAxes)
    if (!mesh.isTime(axis) && (!to.isPartial(axis) || to.partialKind != nodes[index].placement.partialKind))
      owed.push_back(axis);
  for (unsigned set = (1u << owed.size()) - 1; set > 0; --set) {
    Placement next = nodes[index].placement;
    SmallVector<Axis> axes;
    for (auto [bit, axis] : llvm::enumerate(owed))
      if (set >> bit & 1) {
        axes.push_back(axis);
        next.erase(axis);
      }
    reach(index, Kind::AllReduce, axes, next);
  }
}

/// Gathers of every run of neighbouring digits of one dimension.
void Search::expandGathers(int index, unsigned dim) {
  SmallVector<Split, 2> splits = nodes[index].placement.dims[dim];
  for (size_t first = 0; first < splits.size(); ++first) {
    Placement next = nodes[index].placement;
    SmallVector<Axis> axes;
    for (size_t last = first; last < splits.size(); ++last) {
      if (mesh.isTime(splits[last].axis) || (last > first && splits[last].extent != splits[last - 1].stride))
        break;
      axes.push_back(splits[last].axis);
      next.erase(splits[last].axis);
      SmallVector<Axis> sorted(axes);
      llvm::sort(sorted);
      reach(index, Kind::AllGather, sorted, next);
    }
  }
}

/// True if ranks exchange parts of the dimension that `axis` splits in both placements.
bool Search::canRegroup(const Placement &before, const Placement &after, Axis axis) const {
  unsigned dim = before.findSplit(axis)->first;
  return Regrouping::find(shape[dim], before.dims[dim], after.dims[dim], axis, mesh.getSize(axis)).has_value();
}

void Search::expandAxis(int index, Axis axis) {
  const Placement current = nodes[index].placement;
  auto have = current.findSplit(axis), want = to.findSplit(axis);
  std::optional<int64_t> holder = current.getHolder(axis), wanted = to.getHolder(axis);
  if (have == want && current.isPartial(axis) == to.isPartial(axis) && holder == wanted)
    return;
  if (holder) {
    Placement everywhere = current;
    everywhere.erase(axis);
    reach(index, Kind::Broadcast, {axis}, everywhere);
  }
  std::optional<Placement> next = adopt(current, axis);
  if (!next)
    return;
  if (current.isPartial(axis)) {
    if (want || wanted)
      reach(index, want ? Kind::ReduceScatter : Kind::Reduce, {axis}, *next);
  } else if (holder && wanted) {
    reach(index, Kind::Send, {axis}, *next);
  } else if (holder) {
    if (to.isPartial(axis))
      reach(index, Kind::ToPartial, {axis}, *next);
  } else if (have) {
    if (want && (want->first != have->first || canRegroup(current, *next, axis)))
      reach(index, Kind::AllToAll, {axis}, *next);
  } else if (want) {
    reach(index, Kind::Shard, {axis}, *next);
  } else if (wanted) {
    reach(index, Kind::Relabel, {axis}, *next);
  } else if (to.isPartial(axis)) {
    reach(index, isIdempotent(to.partialKind) ? Kind::Relabel : Kind::ToPartial, {axis}, *next);
  }
}

/// True if no sum is left of which ranks are to keep parts.
bool Search::isScattered(const Placement &placement) const {
  return llvm::none_of(placement.partialAxes,
                       [&](Axis axis) { return !mesh.isTime(axis) && (to.findSplit(axis) || to.getHolder(axis)); });
}

/// Ends the times of an axis: accumulates a partial value, collects a split one.
void Search::expandTime(int index, Axis axis) {
  const Placement current = nodes[index].placement;
  if (!current.isPartial(axis) && !current.findSplit(axis))
    return expandAxis(index, axis);
  if (current.findSplit(axis) == to.findSplit(axis) && current.isPartial(axis) == to.isPartial(axis))
    return;
  Placement over = current;
  over.erase(axis);
  if (current.findSplit(axis))
    reach(index, Kind::Collect, {axis}, over);
  else if (!scattersFirst || isScattered(current))
    reach(index, Kind::Accumulate, {axis}, over);
}

void Search::expand(int index) {
  expandReductions(index);
  for (Axis axis = 0; axis < mesh.getNumAxes(); ++axis)
    if (mesh.getSize(axis) > 1)
      mesh.isTime(axis) ? expandTime(index, axis) : expandAxis(index, axis);
  for (unsigned dim = 0; dim < shape.size(); ++dim)
    expandGathers(index, dim);
}

/// True if one operation can do two steps that make a value partial: the value has owners in both, or in neither.
static bool areHeldAlike(const ReshardStep &step, const ReshardStep &next) {
  return step.from.getHolder(step.axes.front()).has_value() == next.from.getHolder(next.axes.front()).has_value();
}

/// Joins neighbouring steps of a kind that one operation can do: reduce-scatters of digits that nest, the owners of a
/// partial value, broadcasts and reductions whose roots are one rank of the larger group.
static void joinSteps(std::vector<ReshardStep> &steps) {
  for (size_t index = 0; index + 1 < steps.size();) {
    ReshardStep &step = steps[index], &next = steps[index + 1];
    bool join = step.kind == next.kind && (step.kind == Kind::Broadcast || step.kind == Kind::Reduce ||
                                           (step.kind == Kind::ToPartial && areHeldAlike(step, next)));
    if (step.kind == next.kind && step.kind == Kind::ReduceScatter) {
      const auto [dim, split] = *next.to.findSplit(next.axes.front());
      join = llvm::any_of(step.axes, [&](Axis axis) {
        auto [otherDim, other] = *next.to.findSplit(axis);
        return otherDim == dim && (other.stride == split.extent || split.stride == other.extent);
      });
    }
    if (!join) {
      ++index;
      continue;
    }
    step.axes.append(next.axes);
    llvm::sort(step.axes);
    step.to = next.to;
    steps.erase(steps.begin() + index + 1);
  }
}

std::vector<ReshardStep> Search::run(const Placement &from) {
  nodes.push_back({from, Cost{0, 0, 0}, -1, std::nullopt});
  queue.push({Cost{0, 0, 0}, 0});
  int found = -1;
  while (!queue.empty() && found < 0) {
    auto [cost, index] = queue.top();
    queue.pop();
    if (nodes[index].done || nodes[index].cost != cost)
      continue;
    nodes[index].done = true;
    if (nodes[index].placement == to)
      found = index;
    else
      expand(index);
  }
  assert(found >= 0 && "reducing, broadcasting, gathering and taking parts is always possible");
  std::vector<ReshardStep> steps;
  for (int index = found; nodes[index].step; index = nodes[index].parent)
    steps.push_back(*nodes[index].step);
  std::reverse(steps.begin(), steps.end());
  joinSteps(steps);
  return steps;
}

std::vector<ReshardStep> ReshardPlanner::plan(const Placement &from, const Placement &to) const {
  Placement start = normalize(from, mesh), goal = normalize(to, mesh);
  return Search(*this, mesh, shape, goal, scattersFirst).run(start);
}
