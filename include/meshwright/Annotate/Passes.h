//===- Passes.h - entry point of the stage Annotate -------------*- C++ -*-===//
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

/// A bound on the estimated memory of pipeline stages. The memory of a rank is only known after Schedule; if it is too
/// large, the caller asks for another cut with a smaller bound.
struct StageBound {
  /// The most bytes that a stage may hold.
  int64_t bytes = INT64_MAX;
  /// Output: the bytes of the largest stage. `isImpossible` is set if no cut keeps the bound; no diagnostic is emitted
  /// then.
  int64_t largest = 0;
  bool isImpossible = false;
};

/// Gives a checked `strategy` the mesh and the data axes of the shardings in the imported `module`, if it has any, and
/// checks all that the strategy says of axes. Marks the only dimension of an input that the graph splits as its batch,
/// unless the strategy says which it is.
mlir::LogicalResult adoptShardings(mlir::ModuleOp module, strategy::StrategyFile &strategy);

/// Adds the mesh and the placements of a checked `strategy` to `module`. Pipeline stages that are balanced by cost stay
/// within `bound`, unless it is null. Errors are located at the strategy's lines.
mlir::LogicalResult annotate(mlir::ModuleOp module, const strategy::StrategyFile &strategy,
                             StageBound *bound = nullptr);

} // namespace meshwright::annotate

#endif
