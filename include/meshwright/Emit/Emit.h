//===- Emit.h - from scheduled programs to a package ------------*- C++ -*-===//
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

/// What is known of a module's programs as a whole.
struct ProgramMetrics {
  /// What the metrics report, by name; empty where there is none.
  std::string loss, gradNorm, learningRate, lossScale, foundInf, skippedSteps;
  /// The narrowest float type that a step computes in; null where that is not known.
  mlir::FloatType arithmetic;
  double modelFlopsPerStep = 0;
  int64_t tokensPerStep = 0;
};

/// Programs that evaluate between the steps of others: scheduled too, for the same mesh, and reading shared variables
/// in the places of those (`dist.shared`, `dist.reserved_bytes`).
struct EvaluationPrograms {
  mlir::ModuleOp module, serial;
  ProgramMetrics metrics;
  /// After how many steps they are run; 0 where nobody said.
  int64_t every = 0;
};

struct EmitOptions {
  /// The folder of the package: a new one, an empty one, or that of a package with nothing else in it, which is
  /// replaced.
  std::string path;
  /// What kernels are compiled for: `x86-64-v3`, `native`, `sm_90`; `emulated` is a GPU that the host's processor
  /// plays.
  llvm::SmallVector<std::string> targets = {"x86-64-v3"};
  /// Where to write how kernels are launched on GPUs and what they take there, as JSON; empty for nowhere.
  std::string gpuReport;
  /// Free text for `dist-run --show`.
  std::string producer;
  ProgramMetrics metrics;
  std::optional<EvaluationPrograms> evaluation;
};

/// Writes the package of `module`, whose function has been through Schedule. `serial`, where there is one, is the
/// scheduled program of one rank with global shapes; `module` itself is where it has no mesh. The folder appears whole
/// or not at all. Kernels that are equal are compiled once, as many at a time as there are processors.
mlir::LogicalResult emitPackage(mlir::ModuleOp module, mlir::ModuleOp serial, const EmitOptions &options);

} // namespace meshwright::emit

#endif
