//===- LoopOrder.h - keeps loop bodies contiguous ----------------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_KERNELS_LOOPORDER_H
#define MESHWRIGHT_LIB_KERNELS_LOOPORDER_H

#include "dialects/Net/Loops.h"

namespace meshwright::schedule {

/// Expects operations in an order in which the end of each loop comes after its body, and readers of its results after
/// its end. Returns the order in which every body is contiguous, at the place of its end; operations in between that do
/// not belong to the body come before it. In a body carried values come first, and their next values last.
llvm::SmallVector<unsigned> keepBodiesTogether(llvm::ArrayRef<mlir::Operation *> order, const net::LoopNest &nest);

} // namespace meshwright::schedule

#endif
