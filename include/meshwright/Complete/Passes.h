//===- Passes.h - pass pipeline of the stage Complete -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_COMPLETE_PASSES_H
#define MESHWRIGHT_COMPLETE_PASSES_H

#include "meshwright/Support/Units.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace mlir {
class ModuleOp;
class OpPassManager;
} // namespace mlir

namespace meshwright::complete {

/// The values of a block of forward that are kept for backward; backward recomputes all others. `Cut`: the fewest bytes
/// from which cheap operations compute the values that backward reads. `Cheap`: values that take more operations per
/// byte than a bound. `Products`: results of products. `Nothing`: only the block's inputs.
enum class KeepPolicy { Cut, Cheap, Products, Nothing };

/// The parts of forward, equal in number of operations, in which `RecomputePassOptions::ends` counts.
constexpr unsigned kForwardParts = 256;

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "meshwright/Complete/Passes.h.inc"

/// The locations of the user's settings that may turn out impossible; by default errors are located at the function.
struct SegmentLocations {
  /// One location per anchor.
  llvm::SmallVector<mlir::Location> anchors;
  std::optional<mlir::Location> maxLive;
};

/// The pass with the locations, which cannot be options.
std::unique_ptr<mlir::Pass> createSegmentPass(SegmentPassOptions options, SegmentLocations locations);

/// The locations of the user's blocks and anchors, one each; by default errors are located at the function.
struct RecomputeLocations {
  llvm::SmallVector<mlir::Location> blocks, anchors;
};

/// The pass with the locations, which cannot be options.
std::unique_ptr<mlir::Pass> createRecomputePass(RecomputePassOptions options, RecomputeLocations locations);

/// The strategy's settings for this stage.
struct Options {
  RecomputePassOptions recompute;
  RecomputeLocations recomputeLocations;
  SegmentPassOptions segment;
  SegmentLocations locations;
};

/// Adds the passes of Complete, in order: those that place values, and those that decide on the placed program what is
/// recomputed and when parameters are fetched.
void buildPipeline(mlir::OpPassManager &manager, const Options &options = {});
void buildPlacement(mlir::OpPassManager &manager);
void buildAfterPlacement(mlir::OpPassManager &manager, const Options &options);

} // namespace meshwright::complete

#endif
