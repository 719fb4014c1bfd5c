//===- ExpandSelections.h - gradients of pooling, element by element -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_KERNELS_EXPANDSELECTIONS_H
#define MESHWRIGHT_LIB_KERNELS_EXPANDSELECTIONS_H

#include "mlir/IR/Block.h"

namespace meshwright::schedule {

/// Writes every `net.select_and_scatter` of small windows in elementwise operations: the number of the element that
/// each window selects, and for each element the sum of what the windows that it may be in add to it, in their order.
/// One by one, windows would add to places that are known only then, without vectors and on one thread.
void expandSelections(mlir::Block &block);

} // namespace meshwright::schedule

#endif
