//===- ReshardPlanner.h - a conversion as a sequence of steps ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITION_RESHARDPLANNER_H
#define MESHWRIGHT_PARTITION_RESHARDPLANNER_H

#include "dialects/Dist/Placement.h"
#include <vector>

namespace meshwright::partition {

/// One step of a conversion: an operation of `dist`, but for `Relabel`, which leaves the data as they are (a replicated
/// value read as partial of an idempotent kind, or by one holder alone; axes of size 1). Along an axis of times a
/// partial value is accumulated, and one that is split is collected.
struct ReshardStep {
  enum class Kind {
    AllReduce,
    ReduceScatter,
    AllGather,
    AllToAll,
    Broadcast,
    Reduce,
    Send,
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
/// The search runs over what every axis that takes part may be on the way: as it is, replicated, or as it is wanted.
/// With k such axes these are at most 3^k placements; k is the number of axes that differ, rarely more than two. A way
/// always exists: reduce, broadcast, gather from minor to major, take parts from major to minor. A step over other axes
/// than the one on which a value has a holder is taken by the holders alone.
///
/// Along an axis of times nothing is sent, but what is sent before the times are over is sent at each of them. So a sum
/// is reduced over times first, unless `scattersFirst`: then a sum that ranks keep parts of is reduced to these at
/// every time, and only parts are accumulated.
class ReshardPlanner {
public:
  ReshardPlanner(const dist::Mesh &mesh, llvm::ArrayRef<int64_t> shape, bool scattersFirst = false)
      : mesh(mesh), shape(shape), scattersFirst(scattersFirst) {}

  /// The steps from `from` to `to`; none where the placements mean the same. Supports are single coordinates.
  std::vector<ReshardStep> plan(const dist::Placement &from, const dist::Placement &to) const;

  /// What one step costs: elements that a rank sends on average, times the number of ranks of the mesh, so that it is
  /// whole: `dist::countCrossings` per group. Local steps send nothing, and so do ranks that take no part. A step on
  /// what is split or partial along times is taken at each of them.
  int64_t getCost(const ReshardStep &step) const;

private:
  const dist::Mesh &mesh;
  llvm::ArrayRef<int64_t> shape;
  bool scattersFirst;
};

} // namespace meshwright::partition

#endif
