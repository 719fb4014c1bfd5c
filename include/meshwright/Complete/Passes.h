//===- Passes.h - passes of Complete ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_COMPLETE_PASSES_H
#define MESHWRIGHT_COMPLETE_PASSES_H

#include "mlir/Pass/Pass.h"
#include <memory>

namespace mlir {
class ModuleOp;
class OpPassManager;
} // namespace mlir

namespace meshwright::complete {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "meshwright/Complete/Passes.h.inc"

/// Adds the passes of Complete, in order.
void buildPipeline(mlir::OpPassManager &manager);

} // namespace meshwright::complete

#endif
