//===- Passes.h - pass pipelines of the stage Train -------------*- C++ -*-===//
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

/// The place of the factor 1/N for the mean over N data-parallel replicas: in the loss, or at every gradient before or
/// after its reduction.
enum class ReduceScale { Loss, Before, After };

/// The type in which gradients are reduced: their own or another one.
enum class ReduceType { Gradient, F32, BF16, F16 };

/// The time at which gradients under gradient accumulation are reduced over the ranks that share the batch: after they
/// are accumulated, or in every step.
enum class AccumulationReduce { AtUpdate, EveryStep };

/// The type in which forward and backward compute: that of the network, or one of 16 bits.
enum class ComputeType { Written, BF16, F16 };

#define GEN_PASS_DECL
#include "meshwright/Train/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "meshwright/Train/Passes.h.inc"

/// Variants of passes that know where the user wrote the globs, so that errors point there and not at the module.
std::unique_ptr<mlir::Pass> createAssignPrecisionPass(AssignPrecisionPassOptions options,
                                                      std::vector<mlir::Location> locations);

/// Globs of values to return, and the locations of the globs.
struct FetchOptions : FetchPassOptions {
  std::vector<mlir::Location> locations;
};

std::unique_ptr<mlir::Pass> createFetchPass(const FetchOptions &options);

/// The options of all passes of Train. Each pass documents its own.
struct Options {
  AssignPrecisionPassOptions precision;
  DifferentiatePassOptions differentiate;
  ReduceGradientsPassOptions reduce;
  AccumulateGradientsPassOptions accumulation;
  OptimizerPassOptions optimizer;
  SkipUpdatesPassOptions skip;
  FetchOptions fetch;
  /// The locations of the globs in `precision.keep`.
  std::vector<mlir::Location> keepLocations;
};

/// Appends the passes that turn a forward network with a loss into a training step; the verifier is last.
void buildPipeline(mlir::OpPassManager &manager, const Options &options);

/// Appends the passes that let an evaluation round as the forward part of training does.
void buildEvaluationPipeline(mlir::OpPassManager &manager, const Options &options);

/// True if the module's function is a training step already, that is, updates variables.
bool isWholeStep(mlir::ModuleOp module);

/// Appends the passes for a training step that was exported whole: cleanup, fetched values and the verifier.
void buildWholeStepPipeline(mlir::OpPassManager &manager, const FetchOptions &options);

/// The cleanup after Import and Train: folds operations, merges equal ones and erases dead ones. Afterwards the
/// function only has operations that its results and assignments depend on.
mlir::LogicalResult simplify(mlir::func::FuncOp func);

} // namespace meshwright::train

#endif
