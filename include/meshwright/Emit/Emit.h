//===- Emit.h - writes the package of a scheduled module ---------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_EMIT_EMIT_H
#define MESHWRIGHT_EMIT_EMIT_H

#include "mlir/IR/BuiltinOps.h"
#include <optional>
#include <string>

namespace meshwright::emit {

/// Properties of a module's programs that the package states for all of them.
struct ProgramMetrics {
  /// Names of the results that report these metrics; empty if the module has no such metric.
  std::string loss, gradNorm, learningRate, lossScale, foundInf, skippedSteps;
  /// The narrowest float type that a step computes in; null if unknown.
  mlir::FloatType arithmetic;
  double modelFlopsPerStep = 0;
  int64_t tokensPerStep = 0;
};

/// Programs that evaluate between training steps: scheduled for the same mesh, they read the variables of the training
/// programs where those keep them (`dist.shared`, `dist.reserved_bytes`).
struct EvaluationPrograms {
  mlir::ModuleOp module, serial;
  ProgramMetrics metrics;
  /// The evaluation runs after every this many steps; 0 if the strategy sets no interval.
  int64_t every = 0;
};

struct EmitOptions {
  /// Path of the package folder: a new folder, an empty one, or a folder that holds a package and nothing else; that
  /// package is replaced.
  std::string path;
  /// The targets that kernels are compiled for, such as `x86-64-v3`, `native` or `sm_90`; `exact` is the exact check,
  /// `twin` the f64 twin of the serial program, `emulated` a GPU emulated on the host's processor.
  llvm::SmallVector<std::string> targets = {"x86-64-v3"};
  /// Path of a JSON file with the launches and the resource use of the GPU kernels; empty to write none.
  std::string gpuReport;
  /// Path of a folder of kernels that were compiled before, to which new ones are added; empty to compile all.
  std::string kernelCache;
  /// Free text for `dist-run --show`.
  std::string producer;
  ProgramMetrics metrics;
  std::optional<EvaluationPrograms> evaluation;
};

/// Writes the package of `module`, whose function has been through Schedule. `serial` is the scheduled program of one
/// rank with global shapes, or null if the package holds none; pass `module` itself if it has no mesh. The folder
/// appears whole or not at all. Equal kernels are compiled once; as many compile in parallel as there are processors.
mlir::LogicalResult emitPackage(mlir::ModuleOp module, mlir::ModuleOp serial, const EmitOptions &options);

} // namespace meshwright::emit

#endif
