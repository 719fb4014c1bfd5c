//===- CompileModule.h - compiles a module in memory ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For programs that embed the compiler: no file is read, and nothing is printed.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PIPELINE_COMPILEMODULE_H
#define MESHWRIGHT_PIPELINE_COMPILEMODULE_H

#include "meshwright/Pipeline/Compile.h"
#include "meshwright/Strategy/Strategy.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace meshwright {

/// A compiled program.
struct Compiled {
  /// The distributed step after the last stage.
  mlir::OwningOpRef<mlir::ModuleOp> step;
  /// The plan as JSON, and as text that says of every conversion why it is there; empty where the stages end before
  /// Partition.
  std::string plan, explanation;
  /// The step after Optimize as StableHLO text, if the options ask for it: a module, or the list of a pipeline's values
  /// and actions as JSON, followed by the modules, each after a line `// ----- NAME`.
  std::string stablehlo;
};

/// Compiles a copy of `module`, which holds one training network or step, by a checked `strategy`. Errors and warnings
/// go to the handlers of its context, for which `registerAllDialects` has been called; warnings about fields of the
/// strategy are located in the strategy's text. Writes a package if `options.emit` names a folder. Calls `enter` before
/// each stage, and fails where it returns false. `evaluation` is the network that is evaluated, if it is another one;
/// its source is that of `module`.
mlir::FailureOr<Compiled> compile(mlir::ModuleOp module, const strategy::StrategyFile &strategy,
                                  const StageOptions &options = {}, llvm::function_ref<bool(Stage)> enter = nullptr,
                                  mlir::ModuleOp evaluation = {});

} // namespace meshwright

#endif
