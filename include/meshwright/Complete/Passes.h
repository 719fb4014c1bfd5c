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

/// What backward finds of a block of forward; what it does not find it computes again. `Cut`: the fewest bytes from
/// which cheap operations lead to what it reads. `Cheap`: what takes many operations for its bytes. `Products`: results
/// of products. `Nothing`: what the block reads from outside.
enum class KeepPolicy { Cut, Cheap, Products, Nothing };

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

/// Where the user named blocks and anchors, one for each; by default errors stand at the function.
struct RecomputeLocations {
  llvm::SmallVector<mlir::Location> blocks, anchors;
};

/// The pass with locations, which are no options.
std::unique_ptr<mlir::Pass> createRecomputePass(RecomputePassOptions options, RecomputeLocations locations);

/// What the strategy says about this stage.
struct Options {
  /// Whether backward computes anything again.
  bool recomputes = true;
  RecomputePassOptions recompute;
  RecomputeLocations recomputeLocations;
  SegmentPassOptions segment;
  SegmentLocations locations;
};

/// Adds the passes of Complete, in order.
void buildPipeline(mlir::OpPassManager &manager, const Options &options = {});

} // namespace meshwright::complete

#endif
