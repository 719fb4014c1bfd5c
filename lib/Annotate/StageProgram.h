//===- StageProgram.h - what of a step belongs to stages --------*- C++ -*-===//
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

/// The operations of a training step that belong to stages, in order. The others are made of inputs and constants
/// alone, or belong to the update.
struct StageProgram {
  explicit StageProgram(mlir::func::FuncOp func);

  /// Whether `op` is made of variables and constants, without any input.
  bool isOfVariables(mlir::Operation *op) const { return readsOf.contains(op); }
  /// The reads of variables that `op` has as operands, as they are or as operations on variables alone have made them.
  llvm::SmallVector<mlir::Operation *, 1> getReads(mlir::Operation *op) const;

  mlir::func::FuncOp func;
  /// Operations on variables alone are forward where forward reads what they make.
  llvm::SmallVector<mlir::Operation *, 0> forward, backward;

private:
  llvm::SmallVector<mlir::Operation *, 0> findStaged();

  /// For operations on variables alone the reads that they are made of.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Operation *, 1>> readsOf;
};

void setStage(mlir::Operation *op, int64_t stage);
/// Whether `op` computes more than an operation or so for each element that it reads and makes, as products do.
bool isHeavy(mlir::Operation *op);
/// The floating-point operations of `op` at the shapes it has.
int64_t getFlops(mlir::Operation *op);
int64_t getBytes(mlir::Value value);
/// The user's name for the place that `op` comes from; empty where it has none.
llvm::StringRef getScope(mlir::Operation *op);

} // namespace meshwright::annotate

#endif
