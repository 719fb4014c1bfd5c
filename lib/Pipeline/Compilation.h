//===- Compilation.h - the state of a compilation ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_PIPELINE_COMPILATION_H
#define MESHWRIGHT_LIB_PIPELINE_COMPILATION_H

#include "Plan.h"
#include "meshwright/Complete/Passes.h"
#include "meshwright/Emit/Emit.h"
#include "meshwright/Export/Export.h"
#include "meshwright/Pipeline/Compile.h"
#include "meshwright/Strategy/Strategy.h"
#include "mlir/IR/OwningOpRef.h"

namespace meshwright {

/// The modules of a compilation. All but the step may be absent.
struct Programs {
  mlir::OwningOpRef<mlir::ModuleOp> step;
  /// The step before it was distributed, which the package is to hold.
  mlir::OwningOpRef<mlir::ModuleOp> serial;
  /// The program that evaluates, and the same before it was distributed.
  mlir::OwningOpRef<mlir::ModuleOp> evaluation, evaluationSerial;
};

/// All that stages read and write.
struct Compilation {
  Compilation(const StageOptions &options, mlir::MLIRContext &context) : options(options), context(context) {}

  const StageOptions &options;
  mlir::MLIRContext &context;
  /// The strategy of the step, and what it says of evaluation.
  strategy::StrategyFile strategy, evaluationStrategy;
  Programs programs;
  Plan plan;
  /// The step as StableHLO text, if the options ask for it.
  exporter::Exported stablehlo;
  /// The comment that the text of the partitioned program begins with, without slashes, if Export wrote it; else empty.
  llvm::StringRef partitionedHeader;
  /// The options of Complete, among them the recomputed blocks, which `fitMemory` may choose.
  complete::Options completeOptions;
  emit::EmitOptions emitOptions;
  emit::ProgramMetrics evaluationMetrics;
};

/// Converts the serial program and the one that another tool partitioned, which are `serial` and `step` of the
/// programs; `step` is then as Partition leaves one.
mlir::LogicalResult importPartitioned(Compilation &compilation);
/// Runs the gate of the stage before `from` over the step, which comes from a text: what a stage relies on is checked
/// before it runs.
mlir::LogicalResult verifyInput(Compilation &compilation, Stage from);
/// Runs `stage` over the programs. Those that Import takes are in `programs` before it: the step and, where it has a
/// graph of its own, evaluation.
mlir::LogicalResult runStage(Compilation &compilation, Stage stage);
/// The part of Complete that follows the placement of values and the choice of its options.
mlir::LogicalResult completeStep(Compilation &compilation);
/// Adds to the plan what is known after the last stage: memory and evaluation.
void completePlan(Compilation &compilation);

} // namespace meshwright

#endif
