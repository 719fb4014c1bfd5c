//===- Traffic.h - classifies collectives by their purpose -------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_OVERLAP_TRAFFIC_H
#define MESHWRIGHT_OVERLAP_TRAFFIC_H

#include "dialects/Dist/Dist.h"
#include "dialects/Net/Loops.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace meshwright::schedule {

/// Sorts the collectives of a function, in which kernels have been formed, by what they are there for. Those of loops
/// stay where they are. Nothing in it differs between ranks.
class Traffic {
public:
  enum class Purpose {
    /// Stays where it is.
    Other,
    /// Brings a parameter to a segment.
    Fetch,
    /// Reduces a gradient, which only the update and the outside wait for.
    Gradient,
    /// Reduces further what the collective of a gradient has made.
    Chained,
    /// Makes a new value whole that is only assigned or returned.
    Update
  };

  Traffic(mlir::func::FuncOp func, const net::LoopNest &nest);

  Purpose getPurpose(dist::CollectiveOp op) const { return purposes.lookup(op); }
  /// The collective that takes over from a gradient's; null where there is none.
  dist::CollectiveOp getNext(dist::CollectiveOp op) const { return nexts.lookup(op); }
  /// True if `op` belongs to the update or the end of the step: nothing in forward and backward waits for it.
  bool isLate(mlir::Operation *op) const { return late.contains(op); }
  /// True if `op` computes, from parameters and inputs alone, a value that segments or fetches read: it runs before its
  /// first user.
  bool isOnDemand(mlir::Operation *op) const { return onDemand.contains(op); }

  /// The user's name of what `op` moves, or the scope of what made it.
  static mlir::StringAttr getName(dist::CollectiveOp op);
  /// True if `op` only moves elements: a view, or a kernel that copies.
  static bool isLayout(mlir::Operation *op);
  /// True if `op` reduces the values of the members of its group.
  static bool isReducing(dist::CollectiveOp op);
  /// True if `op` makes a whole value of its members' parts, or of one member's value.
  static bool isFetching(dist::CollectiveOp op);

private:
  bool findLate(mlir::Operation *op) const;
  bool isOnlyStored(mlir::Operation *op);
  dist::CollectiveOp findNext(dist::CollectiveOp op) const;
  Purpose classify(dist::CollectiveOp op);
  void findOnDemand(mlir::Block &block, const net::LoopNest &nest);

  llvm::DenseMap<mlir::Operation *, Purpose> purposes;
  llvm::DenseMap<mlir::Operation *, dist::CollectiveOp> nexts;
  llvm::DenseSet<mlir::Operation *> late, onlyStored, onDemand;
};

} // namespace meshwright::schedule

#endif
