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

/// A bound on what the stages of a pipeline hold by the estimate of Annotate. What a rank holds is known after
/// Schedule; where that is too much, a smaller bound asks for another cut.
struct StageBound {
  /// No stage holds more.
  int64_t bytes = INT64_MAX;
  /// Set by the cut: what the largest stage holds, or that no cut keeps the bound, which is no diagnostic.
  int64_t largest = 0;
  bool isImpossible = false;
};

/// Adds the mesh and the placements that a checked `strategy` gives to `module`. Stages that are balanced by cost keep
/// within `bound`, unless it is null. Errors are at the strategy's lines.
mlir::LogicalResult annotate(mlir::ModuleOp module, const strategy::StrategyFile &strategy,
                             StageBound *bound = nullptr);

} // namespace meshwright::annotate

#endif
