//===- RecomputeBlocks.h - what is computed again together ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_COMPLETE_RECOMPUTEBLOCKS_H
#define MESHWRIGHT_LIB_COMPLETE_RECOMPUTEBLOCKS_H

#include "meshwright/Complete/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshwright::complete {

/// Operations of forward, by number, for which what is kept is decided together.
struct RecomputeBlock {
  KeepPolicy policy = KeepPolicy::Cut;
  llvm::SmallVector<unsigned, 0> members;
};

/// Divides the operations of forward, `ops`, into blocks: what the options name, the blocks that are found where they
/// name none, and runs of bounded length of what is left. Emits an error for a name that nothing has.
mlir::FailureOr<llvm::SmallVector<RecomputeBlock, 0>> divideIntoBlocks(mlir::func::FuncOp func,
                                                                       llvm::ArrayRef<mlir::Operation *> ops,
                                                                       const RecomputePassOptions &options,
                                                                       const RecomputeLocations &locations);

} // namespace meshwright::complete

#endif
