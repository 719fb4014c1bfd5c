//===- Storage.h - values that share memory, and their lifetimes -*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_MEMORY_STORAGE_H
#define MESHWRIGHT_MEMORY_STORAGE_H

#include "dialects/Dist/Dist.h"
#include "dialects/Net/Loops.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace meshwright::schedule {

/// The operation after which the transfer that `op` starts is over: its wait, or the last wait of collectives that take
/// its async handles. `op` itself if it starts none; null if only the end of the step ends it.
mlir::Operation *findWait(mlir::Operation *op);

/// The input of a kernel whose memory `result` may overwrite; null if `result` says of none.
mlir::Value getInPlaceInput(mlir::OpResult result);

/// Liveness of a scheduled function. A *root* is a value with memory of its own; views, what was waited for, parts of
/// stacks that are taken where they are, and what carried values become are in that of their root. Steps are the
/// positions of operations. What was made before a loop and is read in it lives until its end, and so do carried
/// values; these and stacks have their memory from its beginning on.
class Storage {
public:
  explicit Storage(mlir::func::FuncOp func);

  mlir::Value getRoot(mlir::Value value) const;
  /// The bytes between the start of its root and `value`.
  int64_t getOffset(mlir::Value value) const;
  int64_t getStep(mlir::Operation *op) const { return steps.lookup(op); }
  /// The first step in which `root` has its memory.
  int64_t getFirst(mlir::Value root) const;
  /// The last step that reads `root`, through views too; that of its definition where nothing does. What is assigned or
  /// returned is read at the end of the step.
  int64_t getLastUse(mlir::Value root) const { return lastUses.lookup(root); }
  /// The last step of an iteration that reads a carried value as of that iteration; 0 if none does.
  int64_t getLastReadOfCarry(net::CarryOp carry) const { return iterationReads.lookup(carry); }
  /// The last step of an iteration of `loop` that reads its own part of `root`, if iterations read nothing else of it
  /// and nothing reads it after the loop; otherwise nullopt. Then, after that step, each may overwrite its part.
  std::optional<int64_t> getLastReadOfPart(mlir::Value root, net::LoopOp loop) const;
  /// The values that iterations of `loop` take parts of where they are.
  llvm::ArrayRef<mlir::Value> getTaken(net::LoopOp loop) const;
  int64_t getEnd() const { return end; }
  const net::LoopNest &getNest() const { return nest; }
  /// True if `root` is in the memory of the host: a variable's old value, or a copy of the new one.
  bool isOnHost(mlir::Value root) const;

  /// True if part `part` of an all-reduce may overwrite its operand with the result: nothing reads the operand later.
  bool canReduceInPlace(dist::CollectiveOp op, unsigned part) const;

  /// True if the results of `op` are in memory: all but iteration numbers and values of other ranks.
  static bool hasMemory(mlir::Operation *op) { return !mlir::isa<dist::AbsentOp, net::LoopOp>(op); }
  /// The carried value or the stack in whose place `value`, made in an iteration, is according to `dist.offsets`; null
  /// if it has a place of its own.
  mlir::Value getHost(mlir::OpResult value) const;
  /// The value whose parts the parts of `stack` replace according to `dist.offsets`; null if there is none.
  mlir::Value getReplaced(net::StackOp stack) const;
  static int64_t getBytes(mlir::Type type);
  /// True if the result of `op` is in the persistent part: constants and coordinates.
  static bool isPersistent(mlir::Operation *op);

private:
  int64_t getReadEnd(mlir::Operation *op) const;
  void addReads(mlir::Operation *op);
  int64_t getReadStep(mlir::Operation *reader, int64_t step, mlir::Value root) const;

  net::LoopNest nest;
  /// The positions of operations, and for carried values and parts that are taken where they are the last positions
  /// within an iteration that read them.
  llvm::DenseMap<mlir::Operation *, int64_t> steps, iterationReads;
  llvm::DenseMap<mlir::Operation *, llvm::SmallSetVector<mlir::Value, 4>> taken;
  llvm::DenseMap<mlir::Value, int64_t> lastUses;
  llvm::DenseSet<mlir::StringAttr> hostVariables;
  int64_t end = 0;
};

} // namespace meshwright::schedule

#endif
