//===- LoopOrder.h - keeps loop bodies contiguous ----------------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_SCHEDULE_LOOPORDER_H
#define MESHWRIGHT_LIB_SCHEDULE_LOOPORDER_H

#include "dialects/Net/Loops.h"

namespace meshwright::schedule {

/// Given operations in an order in which the end of each loop comes behind its body, and what reads the results of a
/// loop behind its end: the order in which every body stands together, where its end was. What stood between and is no
/// part of it comes in front. In a body carried values come first, and what becomes of them last.
llvm::SmallVector<unsigned> keepBodiesTogether(llvm::ArrayRef<mlir::Operation *> order, const net::LoopNest &nest);

} // namespace meshwright::schedule

#endif
