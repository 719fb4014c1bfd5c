//===- Loops.h - the loops of a program -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop is the operations between its `net.loop` and its `net.end_loop`. Passes that go through a block in order need
// not know of loops; those that put operations somewhere else ask here where they may stand.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_LOOPS_H
#define MESHWRIGHT_DIALECTS_NET_LOOPS_H

#include "dialects/Net/Net.h"
#include "llvm/ADT/DenseMap.h"

namespace meshwright::net {

/// Which operations of a block are in which loops, as they stood when it was made. The operations that begin and end a
/// loop are of its body. Linear in the operations.
class LoopNest {
public:
  /// Finds the loops of `block`; an error at the first operation that breaks the rules of `net.loop`.
  static mlir::FailureOr<LoopNest> find(mlir::Block &block);

  /// The same of a block that may break the rules in what its operations read: while it is being rewritten.
  static LoopNest findBodies(mlir::Block &block);

  bool empty() const { return ends.empty(); }
  /// The innermost loop whose body `op` is in; null where it is in none.
  LoopOp getLoop(mlir::Operation *op) const { return loopOf.lookup(op); }
  /// The loop around `loop`; null where there is none.
  LoopOp getParent(LoopOp loop) const { return parents.lookup(loop); }
  /// The outermost loop whose body `op` is in; null where it is in none.
  LoopOp getOutermost(mlir::Operation *op) const;
  EndLoopOp getEnd(LoopOp loop) const { return ends.lookup(loop); }
  /// Whether `op` is in the body of `loop`, or of a loop in there; every operation is in the null loop.
  bool contains(LoopOp loop, mlir::Operation *op) const;
  /// How many times `op` is done in a step; the largest number where that is more.
  int64_t getTrips(mlir::Operation *op) const;
  /// The last operation in front of which something that reads `values` alone may stand to be read by `user`: `user`,
  /// or the outermost of the loops that it is in and that make none of `values`.
  mlir::Operation *hoist(mlir::Operation *user, mlir::ValueRange values) const;
  /// Says that `op`, which is new, is in the innermost loop of `like`.
  void add(mlir::Operation *op, mlir::Operation *like);
  /// The same of `op`, which stands in front of `next`.
  void addBefore(mlir::Operation *op, mlir::Operation *next);
  /// Moves `op` in front of the outermost loop that makes none of its operands.
  void hoist(mlir::Operation *op);

private:
  void enter(mlir::Operation *op, LoopOp &current);
  void leave(mlir::Operation *op, LoopOp &current);

  llvm::DenseMap<mlir::Operation *, LoopOp> loopOf;
  llvm::DenseMap<mlir::Operation *, LoopOp> parents;
  llvm::DenseMap<mlir::Operation *, EndLoopOp> ends;
};

/// Whether the result of `op` is there behind the loop that `op` stands in, and only there.
bool leavesLoop(mlir::Operation *op);
/// The `net.next` of a carried value.
NextOp getNext(CarryOp carry);

} // namespace meshwright::net

#endif
