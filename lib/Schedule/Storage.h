//===- Storage.h - which values share memory, and how long ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_SCHEDULE_STORAGE_H
#define MESHWRIGHT_LIB_SCHEDULE_STORAGE_H

#include "dialects/Net/Net.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace meshwright::schedule {

/// The operation behind which what `op` has started is over: a wait, or that of collectives that take the flights, the
/// last one where they are several. `op` itself where it starts nothing; null where only the end of the step tells.
mlir::Operation *findWait(mlir::Operation *op);

/// Liveness of a scheduled function. A *root* is a value with memory of its own; views, and what was waited for, are in
/// that of their root. Steps are the positions of operations.
class Storage {
public:
  explicit Storage(mlir::func::FuncOp func);

  mlir::Value getRoot(mlir::Value value) const;
  /// The bytes between the start of its root and `value`.
  int64_t getOffset(mlir::Value value) const;
  int64_t getStep(mlir::Operation *op) const { return steps.lookup(op); }
  /// The last step that reads `root`, through views too; that of its definition where nothing does. What is assigned or
  /// returned is read at the end of the step.
  int64_t getLastUse(mlir::Value root) const { return lastUses.lookup(root); }
  int64_t getEnd() const { return end; }
  /// Whether `root` is in the memory of the host: a variable's old value, or a copy of the new one.
  bool isOnHost(mlir::Value root) const;

  /// Whether part `part` of an all-reduce may leave its result where its operand is: nothing reads that any more.
  bool canReduceInPlace(dist::CollectiveOp op, unsigned part) const;

  static int64_t getBytes(mlir::Type type);
  /// Whether the result of `op` is in the persistent part: constants and coordinates.
  static bool isPersistent(mlir::Operation *op);

private:
  llvm::DenseMap<mlir::Operation *, int64_t> steps;
  llvm::DenseMap<mlir::Value, int64_t> lastUses;
  llvm::DenseSet<mlir::StringAttr> hostVariables;
  int64_t end = 0;
};

} // namespace meshwright::schedule

#endif
