//===- LaunchTable.h - launches of a step and their members -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_OVERLAP_LAUNCHTABLE_H
#define MESHWRIGHT_LIB_OVERLAP_LAUNCHTABLE_H

#include "meshwright/Overlap/Traffic.h"
#include "llvm/ADT/MapVector.h"
#include <deque>

namespace meshwright::schedule {

/// Collectives that are issued as one, each with what takes over from it.
struct Launch {
  Traffic::Purpose purpose;
  /// The place of this one among all.
  unsigned number = 0;
  llvm::SmallVector<dist::CollectiveOp> members, nexts;
  int64_t bytes = 0;
  /// The segments with which a fetch starts and for which it is.
  int64_t startsAt = 0, segment = 0;
  /// For a fetch: the bytes alive once it has started, including copies in another layout.
  int64_t liveBytes = 0;
  enum { Collecting, Started, Over } state = Collecting;
  /// The issued operations, the last of them with the results, and the amount computed before they were issued.
  llvm::SmallVector<dist::CollectiveOp, 2> issued;
  int64_t computedBefore = 0;
  /// Operations put off until the launch is over.
  llvm::SmallVector<mlir::Operation *> waiting;
};

/// The launches of a function, and the operations that belong to each.
class LaunchTable {
public:
  explicit LaunchTable(const Traffic &traffic) : traffic(traffic) {}

  Launch &create(Traffic::Purpose purpose);
  /// Makes `op` a member of `launch`, with the collective that takes over from it.
  void add(Launch &launch, dist::CollectiveOp op);
  /// The launch of `op`, or of the collective that it views the result of; null where there is none.
  Launch *find(mlir::Operation *op) const { return launchOf.lookup(op); }
  bool contains(mlir::Operation *op) const { return launchOf.contains(op); }

  /// The launch that collects the gradients or updates that can be one with `op`: a new one where none is open.
  Launch &getBucket(dist::CollectiveOp op);
  /// Lets `launch` take no more members.
  void close(Launch &launch);
  /// Takes `launch` off the list of those that have not started.
  void start(Launch &launch);
  /// Buckets that have not started, in the order in which they were opened.
  llvm::ArrayRef<Launch *> getUnsent() const { return unsent; }

  /// A key that is equal for all collectives that can be one launch.
  mlir::Attribute getKey(dist::CollectiveOp op) const;

private:
  const Traffic &traffic;
  std::deque<Launch> launches;
  llvm::DenseMap<mlir::Operation *, Launch *> launchOf;
  llvm::MapVector<mlir::Attribute, Launch *> buckets;
  llvm::SmallVector<Launch *> unsent;
};

} // namespace meshwright::schedule

#endif
