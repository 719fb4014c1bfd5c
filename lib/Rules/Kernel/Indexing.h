//===- Indexing.h - shared by gather and scatter -----------------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_RULES_KERNEL_INDEXING_H
#define MESHWRIGHT_LIB_RULES_KERNEL_INDEXING_H

#include "Kernel.h"
#include "meshwright/Rules/Elements.h"

namespace meshwright::kernel {

/// Relates the windows' tensor (result of a gather, updates of a scatter) to the operand and the indices. A dimension
/// of the windows is either an offset into a window or one of the indices' dimensions, in order.
struct WindowLayout {
  WindowLayout(int64_t windowsRank, int64_t operandRank, int64_t indicesRank, llvm::ArrayRef<int64_t> offsetDims,
               llvm::ArrayRef<int64_t> droppedDims, llvm::ArrayRef<int64_t> operandBatching, int64_t indexVectorDim);

  /// For every operand dimension the dimension of the windows that is the offset into it; -1 where it is dropped.
  llvm::SmallVector<int64_t> offsetOf;
  /// For every dimension of the indices the dimension of the windows that runs along it; -1 for the index vector.
  llvm::SmallVector<int64_t> batchOf;
  llvm::SmallVector<int64_t> operandBatching;
  int64_t windowsRank, indexVectorDim;

  /// The map from the windows' dimensions to component `component` of the index vector.
  mlir::AffineMap getIndicesMap(Builder &builder, int64_t component) const;
  /// Inside the body of a `linalg.generic` over the windows: per operand dimension the offset into the window or the
  /// batch index; null where it is zero.
  llvm::SmallVector<mlir::Value> getOffsets(Builder &builder, llvm::ArrayRef<int64_t> indicesBatching) const;
};

} // namespace meshwright::kernel

#endif
