//===- FetchQueue.h - when parameters are fetched ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_OVERLAP_FETCHQUEUE_H
#define MESHWRIGHT_LIB_OVERLAP_FETCHQUEUE_H

#include "LaunchTable.h"

namespace meshwright::schedule {

/// The fetches of parameters that a step still has to start, and the bytes of those that are alive.
class FetchQueue {
public:
  /// At most `liveBytes` of fetched values are alive; 0 for no bound. A fetch that is larger alone is alive alone.
  explicit FetchQueue(int64_t liveBytes) : liveBytes(liveBytes) {}

  /// Adds the fetches among `ops`, one launch for each segment, kind, type and group, in the order of the segments with
  /// which they start.
  void add(llvm::ArrayRef<mlir::Operation *> ops, const Traffic &traffic, LaunchTable &launches);
  /// The next fetch that is to start with `segment` or an earlier one and is only collected so far; null where there is
  /// none, or no memory for it yet.
  Launch *findNext(int64_t segment);
  /// Counts what `fetch` brings as alive.
  void start(const Launch &fetch) { live += fetch.liveBytes; }
  /// Counts that `reader` has read; the last reader of a value ends its life.
  void countRead(mlir::Operation *reader);
  int64_t getLiveBytes() const { return live; }

private:
  void countReaders(dist::CollectiveOp member);

  int64_t liveBytes;
  llvm::SmallVector<Launch *> fetches;
  size_t next = 0;
  /// The fetched values that an operation reads, and the number of remaining readers of each.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Operation *, 2>> fetchedBy;
  llvm::DenseMap<mlir::Operation *, int64_t> readersLeft, fetchedBytes;
  /// Bytes of fetched values that are in flight or still read.
  int64_t live = 0;
};

} // namespace meshwright::schedule

#endif
