//===- StageCost.h - costs of blocks ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_ANNOTATE_STAGECOST_H
#define MESHWRIGHT_LIB_ANNOTATE_STAGECOST_H

#include "StageProgram.h"
#include "dialects/Dist/Mesh.h"

namespace meshwright::annotate {

/// The cost of a block, including operations between it and the next one; operations before the first block count with
/// it.
struct BlockCost {
  /// Elements of the variables that this block is the first to read, before splits.
  int64_t elements = 0;
  /// Floating-point operations of forward and backward, before splits.
  int64_t flops = 0;
  /// Bytes per rank of those variables and of variables like them.
  int64_t variableBytes = 0;
  /// Bytes of the values that forward computes and backward reads, before splits.
  int64_t keptBytes = 0;
};

/// The costs of `numBlocks` blocks of `program`; `blockOf` gives the block of each operation.
llvm::SmallVector<BlockCost, 0> measureBlocks(const StageProgram &program,
                                              const llvm::DenseMap<mlir::Operation *, int64_t> &blockOf,
                                              int64_t numBlocks, const dist::Mesh &mesh);

} // namespace meshwright::annotate

#endif
