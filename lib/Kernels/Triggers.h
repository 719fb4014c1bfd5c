//===- Triggers.h - operations that recomputation waits for ------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_KERNELS_TRIGGERS_H
#define MESHWRIGHT_LIB_KERNELS_TRIGGERS_H

#include "OpForms.h"
#include "llvm/ADT/DenseMap.h"

namespace meshwright::schedule {

/// Maps each operation of `block` that backward recomputes (`net.recomputes`) to its trigger, the operation of backward
/// that it waits for: the last one made before the first of its users, among the other operands of these users. Without
/// a trigger a clone would run as soon as its operands exist, and its result would have to be kept. Unmaterialized
/// layout operations are looked through.
llvm::DenseMap<mlir::Operation *, mlir::Operation *>
findTriggers(mlir::Block &block, OpForms &forms, llvm::function_ref<bool(mlir::Operation *)> isMaterialized);

} // namespace meshwright::schedule

#endif
