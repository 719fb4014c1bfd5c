//===- RecomputeBlocks.h - blocks of activation checkpointing ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_COMPLETE_RECOMPUTEBLOCKS_H
#define MESHWRIGHT_LIB_COMPLETE_RECOMPUTEBLOCKS_H

#include "meshwright/Complete/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshwright::complete {

/// Operations of forward, by number, whose kept values are decided together.
struct RecomputeBlock {
  KeepPolicy policy = KeepPolicy::Cut;
  llvm::SmallVector<unsigned, 0> members;
};

/// Divides the operations of forward, `ops`, into blocks: those that the options name, otherwise those found by scope;
/// and runs of bounded length of all others. Emits an error for a name without a match.
mlir::FailureOr<llvm::SmallVector<RecomputeBlock, 0>> divideIntoBlocks(mlir::func::FuncOp func,
                                                                       llvm::ArrayRef<mlir::Operation *> ops,
                                                                       const RecomputePassOptions &options,
                                                                       const RecomputeLocations &locations);

} // namespace meshwright::complete

#endif
