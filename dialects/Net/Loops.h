//===- Loops.h - the nest of counted loops of a block -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop consists of the operations from its `net.loop` to its `net.end_loop`. Passes that visit a block in order need
// no knowledge of loops; passes that insert or move operations ask `LoopNest` for a legal position.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_LOOPS_H
#define MESHWRIGHT_DIALECTS_NET_LOOPS_H

#include "dialects/Net/Net.h"
#include "llvm/ADT/DenseMap.h"

namespace meshwright::net {

/// Maps the operations of a block to the loops that contain them, as of the time of construction. The `net.loop` and
/// the `net.end_loop` of a loop count as part of its body. Construction is linear in the number of operations.
class LoopNest {
public:
  /// Finds the loops of `block`; emits an error at the first operation that violates a constraint of `net.loop`.
  static mlir::FailureOr<LoopNest> find(mlir::Block &block);

  /// Finds the loops of `block` without checking operands, for a block that is being rewritten.
  static LoopNest findBodies(mlir::Block &block);

  bool empty() const { return ends.empty(); }
  /// The innermost loop that contains `op`; null if no loop does.
  LoopOp getLoop(mlir::Operation *op) const { return loopOf.lookup(op); }
  /// The loop around `loop`; null if there is none.
  LoopOp getParent(LoopOp loop) const { return parents.lookup(loop); }
  /// The outermost loop that contains `op`; null if no loop does.
  LoopOp getOutermost(mlir::Operation *op) const;
  EndLoopOp getEnd(LoopOp loop) const { return ends.lookup(loop); }
  /// True if `op` is in `loop` or in a loop nested in it. The null loop contains every operation.
  bool contains(LoopOp loop, mlir::Operation *op) const;
  /// The number of times that `op` is executed in a step; saturates at the largest int64_t.
  int64_t getIterations(mlir::Operation *op) const;
  /// The outermost legal position for an operation that reads only `values` and is read by `user`: before the outermost
  /// loop that contains `user` and defines none of `values`, or else before `user`.
  mlir::Operation *hoist(mlir::Operation *user, mlir::ValueRange values) const;
  /// Registers the new operation `op` in the innermost loop of `like`.
  void add(mlir::Operation *op, mlir::Operation *like);
  /// Registers the new operation `op`, which was inserted before `next`.
  void addBefore(mlir::Operation *op, mlir::Operation *next);
  /// Moves `op` before the outermost loop that contains it and defines none of its operands.
  void hoist(mlir::Operation *op);

private:
  void enter(mlir::Operation *op, LoopOp &current);
  void leave(mlir::Operation *op, LoopOp &current);

  llvm::DenseMap<mlir::Operation *, LoopOp> loopOf;
  llvm::DenseMap<mlir::Operation *, LoopOp> parents;
  llvm::DenseMap<mlir::Operation *, EndLoopOp> ends;
};

/// True if the result of `op` is defined after the loop that contains `op`, and only there.
bool leavesLoop(mlir::Operation *op);
/// The `net.next` of a carried value.
NextOp getNext(CarryOp carry);

} // namespace meshwright::net

#endif
