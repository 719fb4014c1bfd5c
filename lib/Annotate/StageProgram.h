//===- StageProgram.h - operations of a step with a stage -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_ANNOTATE_STAGEPROGRAM_H
#define MESHWRIGHT_LIB_ANNOTATE_STAGEPROGRAM_H

#include "dialects/Net/Net.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace meshwright::annotate {

/// The operations of a training step that belong to stages, in program order. All others depend on inputs and constants
/// alone, or belong to the update.
struct StageProgram {
  explicit StageProgram(mlir::func::FuncOp func);

  /// True if `op` depends on variables and constants alone.
  bool isOfVariables(mlir::Operation *op) const { return readsOf.contains(op); }
  /// The reads of variables among the operands of `op`, directly or through operations on variables alone.
  llvm::SmallVector<mlir::Operation *, 1> getReads(mlir::Operation *op) const;

  mlir::func::FuncOp func;
  /// Operations on variables alone belong to forward if forward reads their results.
  llvm::SmallVector<mlir::Operation *, 0> forward, backward;

private:
  llvm::SmallVector<mlir::Operation *, 0> findStaged();

  /// For operations on variables alone, the reads that they depend on.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Operation *, 1>> readsOf;
};

void setStage(mlir::Operation *op, int64_t stage);
int64_t getBytes(mlir::Value value);
/// The user's scope of `op`; empty if it has none.
llvm::StringRef getScope(mlir::Operation *op);

} // namespace meshwright::annotate

#endif
