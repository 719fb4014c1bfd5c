//===- StageCost.h - what blocks cost and keep ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_ANNOTATE_STAGECOST_H
#define MESHWRIGHT_LIB_ANNOTATE_STAGECOST_H

#include "StageProgram.h"
#include "dialects/Dist/Mesh.h"

namespace meshwright::annotate {

/// What is counted of a block, with what lies between it and the next one. Before the first block counts with it.
struct BlockCost {
  /// Elements of the variables that it is the first to read, in all.
  int64_t elements = 0;
  /// Floating-point operations of forward and backward, in all.
  int64_t flops = 0;
  /// Bytes on a rank of those variables and of what is like them.
  int64_t variableBytes = 0;
  /// Bytes, in all, of what forward makes and backward reads.
  int64_t keptBytes = 0;
};

/// The costs of `numBlocks` blocks of `program`, whose operations `blockOf` says.
llvm::SmallVector<BlockCost, 0> measureBlocks(const StageProgram &program,
                                              const llvm::DenseMap<mlir::Operation *, int64_t> &blockOf,
                                              int64_t numBlocks, const dist::Mesh &mesh);

} // namespace meshwright::annotate

#endif
