//===- Passes.h - the passes of Optimize ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions merged, deferred, moved and split. A program is right without any of them.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_OPTIMIZE_PASSES_H
#define MESHWRIGHT_OPTIMIZE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace meshwright::optimize {

#define GEN_PASS_DECL
#include "meshwright/Optimize/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "meshwright/Optimize/Passes.h.inc"

/// Adds the passes of Optimize, in order.
void buildPipeline(mlir::OpPassManager &manager);

} // namespace meshwright::optimize

#endif
