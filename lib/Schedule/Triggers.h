//===- Triggers.h - what clones of forward wait for -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_SCHEDULE_TRIGGERS_H
#define MESHWRIGHT_LIB_SCHEDULE_TRIGGERS_H

#include "OpForms.h"
#include "llvm/ADT/DenseMap.h"

namespace meshwright::schedule {

/// For the operations of `block` that backward computes again (`net.recomputes`) the operation of backward that each
/// waits for: the last of what its users read of backward besides, in front of the first of them. Without that a clone
/// would run as soon as its operands are there, and have to be kept. What is only moved elsewhere, and not
/// materialized, is looked through.
llvm::DenseMap<mlir::Operation *, mlir::Operation *>
findTriggers(mlir::Block &block, OpForms &forms, llvm::function_ref<bool(mlir::Operation *)> isMaterialized);

} // namespace meshwright::schedule

#endif
