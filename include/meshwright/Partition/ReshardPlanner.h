//===- ReshardPlanner.h - plans a reshard as cheapest conversion steps -*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITION_RESHARDPLANNER_H
#define MESHWRIGHT_PARTITION_RESHARDPLANNER_H

#include "dialects/Dist/Placement.h"
#include <vector>

namespace meshwright::partition {

/// One step of a conversion: an operation of `dist`, except `Relabel`, which leaves the data unchanged (a replicated
/// value read as partial of an idempotent kind or by one owner alone; axes of size 1). Along a time axis, a partial
/// value is accumulated and a split value is collected.
struct ReshardStep {
  enum class Kind {
#define COLLECTIVE(KIND, PACKAGED, NAME, OPERATION, BEFORE, AFTER, CROSSINGS) KIND,
#include "meshwright/runtime/Collectives.def"
    Shard,
    ToPartial,
    Relabel,
    Accumulate,
    Collect
  } kind;
  llvm::SmallVector<dist::Axis, 2> axes;
  dist::Placement from;
  dist::Placement to;
};

/// Finds the steps from one placement of a value to another that send the fewest bytes around the rings, and among
/// those the fewest steps. Plain data in, plain data out.
///
/// The search runs over the states that each differing axis may have on the way: its present one, replicated, or the
/// wanted one. With k such axes there are at most 3^k placements; k is rarely more than two. A way always exists:
/// reduce, broadcast, gather from minor to major, take parts from major to minor. If a value has an owner on one axis,
/// only owners take part in steps over other axes.
///
/// Steps along a time axis send nothing, but a step before the last time is repeated at every time. So a sum is reduced
/// over times first, unless `scattersFirst` is set: then a sum of which ranks keep parts is reduce-scattered at every
/// time, and only the parts are accumulated.
class ReshardPlanner {
public:
  ReshardPlanner(const dist::Mesh &mesh, llvm::ArrayRef<int64_t> shape, bool scattersFirst = false)
      : mesh(mesh), shape(shape), scattersFirst(scattersFirst) {}

  /// The steps from `from` to `to`; empty if both placements mean the same. Supports have to be single coordinates.
  std::vector<ReshardStep> plan(const dist::Placement &from, const dist::Placement &to) const;

  /// The cost of one step in elements: the average number that a rank sends, times the number of ranks of the mesh,
  /// which keeps it an integer (`dist::countCrossings` per group). Local steps and ranks that take no part send
  /// nothing. A step on a value that is split or partial along times is counted at each of them.
  int64_t getCost(const ReshardStep &step) const;

private:
  const dist::Mesh &mesh;
  llvm::ArrayRef<int64_t> shape;
  bool scattersFirst;
};

} // namespace meshwright::partition

#endif
