//===- Indices.h - index vectors of gathers and scatters --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_INDICES_H
#define MESHWRIGHT_DIALECTS_NET_INDICES_H

#include "dialects/Net/NetBuilder.h"

namespace meshwright::net {

/// One number per component of the index vectors along `vectorDim`, as a tensor of the shape of `indices`.
mlir::Value makeComponents(NetBuilder &build, mlir::Value indices, int64_t vectorDim, llvm::ArrayRef<int64_t> numbers);

/// Clamps every component of the index vectors along `vectorDim` to 0 … its entry of `limits`. An index type that
/// cannot leave the range is not clamped.
mlir::Value clampIndices(NetBuilder &build, mlir::Value indices, int64_t vectorDim, llvm::SmallVector<int64_t> limits);

} // namespace meshwright::net

#endif
