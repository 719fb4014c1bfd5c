//===- SplitReductions.h - reductions of few neighbours --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_KERNELS_SPLITREDUCTIONS_H
#define MESHWRIGHT_LIB_KERNELS_SPLITREDUCTIONS_H

#include "mlir/IR/Block.h"

namespace meshwright::schedule {

/// Reduces along outer dimensions first, with whole rows as vectors, and then along the inner ones, where a reduction
/// combines few neighbours in memory, keeps the dimensions around them and combines these along outer dimensions: the
/// statistics of a group normalization whose groups are few channels side by side. In one step, every vector would
/// hold as few elements as there are neighbours.
void splitReductions(mlir::Block &block);

} // namespace meshwright::schedule

#endif
