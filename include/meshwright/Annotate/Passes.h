//===- Passes.h - passes of Annotate ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_ANNOTATE_PASSES_H
#define MESHWRIGHT_ANNOTATE_PASSES_H

#include "meshwright/Strategy/Strategy.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace meshwright::annotate {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "meshwright/Annotate/Passes.h.inc"

/// Adds the mesh and the placements that a checked `strategy` gives to `module`. Errors are at the strategy's lines.
mlir::LogicalResult annotate(mlir::ModuleOp module, const strategy::StrategyFile &strategy);

} // namespace meshwright::annotate

#endif
