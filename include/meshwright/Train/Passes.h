//===- Passes.h - passes of Train -------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TRAIN_PASSES_H
#define MESHWRIGHT_TRAIN_PASSES_H

#include "dialects/Net/Net.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace meshwright::train {

/// The rule by which a parameter follows its gradient.
enum class OptimizerKind { Sgd, Momentum, Adam, AdamW, Lamb, Lion, RmsProp, Adagrad, Adafactor, Muon };

/// How the learning rate depends on the number of updates done: constant, linear from `start` and then constant, or
/// linear and then half a cosine.
enum class ScheduleKind { Constant, Warmup, WarmupCosine };

/// Where the factor of the mean over the replicas of data parallelism stands: in the loss, or with each gradient,
/// before or after it is reduced.
enum class ReduceScale { Loss, Before, After };

/// The type that gradients are reduced in: their own or another.
enum class TravelType { Gradient, F32, BF16, F16 };

/// When the gradients of merged steps are reduced over the ranks that share the batch: merged, or before they are.
enum class MergeReduce { AtUpdate, EveryStep };

/// The type that forward and backward compute in: that of the network, or one of 16 bits.
enum class ComputeType { Written, BF16, F16 };

#define GEN_PASS_DECL
#include "include/meshwright/Train/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "include/meshwright/Train/Passes.h.inc"

/// Passes with where their globs were written, as far as that is known; errors stand at the module otherwise.
std::unique_ptr<mlir::Pass> createAssignPrecisionPass(AssignPrecisionPassOptions options,
                                                      std::vector<mlir::Location> locations);

/// Values that become results, and where the first of their globs were written.
struct FetchOptions : FetchPassOptions {
  std::vector<mlir::Location> locations;
};

std::unique_ptr<mlir::Pass> createFetchPass(const FetchOptions &options);

/// Everything that the strategy says about Train. The members are the options of the passes and are documented there.
struct Options {
  AssignPrecisionPassOptions precision;
  DifferentiatePassOptions differentiate;
  ReduceGradientsPassOptions reduce;
  MergeGradientsPassOptions merge;
  OptimizerPassOptions optimizer;
  SkipUpdatesPassOptions skip;
  FetchOptions fetch;
  /// Where `precision.keep` was written.
  std::vector<mlir::Location> keepLocations;
};

/// Appends what turns a forward loss into a training step and ends with the gate.
void buildPipeline(mlir::OpPassManager &manager, const Options &options);

/// Whether the module's function is a training step already: it updates variables.
bool isWholeStep(mlir::ModuleOp module);

/// Appends what a step that was not made here passes through: cleanup, what the strategy fetches, and the gate.
void buildWholeStepPipeline(mlir::OpPassManager &manager, const FetchOptions &options);

/// The cleanup that follows Import and Train: folds, merges equal operations and drops what nobody uses. The function
/// is left with the operations that its results and assignments depend on.
mlir::LogicalResult simplify(mlir::func::FuncOp func);

} // namespace meshwright::train

#endif
