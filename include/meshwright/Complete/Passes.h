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

/// Where the user asked for what may turn out impossible; by default errors stand at the function.
struct SegmentLocations {
  /// One for every anchor.
  llvm::SmallVector<mlir::Location> anchors;
  std::optional<mlir::Location> maxLive;
};

/// The pass with locations, which are no options.
std::unique_ptr<mlir::Pass> createSegmentPass(SegmentPassOptions options, SegmentLocations locations);

/// What the strategy says about this stage.
struct Options {
  SegmentPassOptions segment;
  SegmentLocations locations;
};

/// Adds the passes of Complete, in order.
void buildPipeline(mlir::OpPassManager &manager, const Options &options = {});

} // namespace meshwright::complete

#endif
