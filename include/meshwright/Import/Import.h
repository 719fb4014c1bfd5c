//===- Import.h - from a framework's text to the serial network -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_IMPORT_H
#define MESHWRIGHT_IMPORT_IMPORT_H

#include "dialects/Net/Net.h"
#include "meshwright/Import/Text.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <string>
#include <vector>

namespace llvm {
class SourceMgr;
}

namespace meshwright::importer {

/// How the initial values of the variables whose name matches a glob are made.
struct InitRule {
  std::string match;
  net::InitializerKind kind = net::InitializerKind::Constant;
  /// The parameters of `#net.init`.
  double a = 0, b = 0;
};

/// Arguments of a whole training step and the results that are their next values: what `*` and `?` stand for in the
/// name of an argument they stand for in that of its result.
struct CarryRule {
  std::string argument, result;
};

/// What a strategy says about the graph's arguments. Names are matched as Glob.h says.
struct Options {
  /// Arguments that become variables; the others are the inputs of a step.
  std::vector<std::string> parameters;
  /// Names, not globs, of further arguments that become variables where the graph has them.
  std::vector<std::string> variables;
  /// The first rule that matches counts; a variable without one has no initializer.
  std::vector<InitRule> inits;
  /// Every loop is written as often as it runs, instead of those of integers alone.
  bool unrollLoops = false;
  /// State that the graph gives back, beside what it was exported with as donated. The first rule that matches counts.
  std::vector<CarryRule> carries;
};

/// The name of the function that a graph becomes, unless a variable has it.
inline constexpr llvm::StringLiteral kStepName = "step";

/// Parses the main buffer of `sources`, which `checkText` has to accept. Every operation and argument is located at its
/// line of the text, fused with the location that the exporter wrote. Errors are emitted to the context. `sources`
/// outlives the call only for diagnostics.
mlir::OwningOpRef<mlir::ModuleOp> parseGraph(const llvm::SourceMgr &sources, mlir::MLIRContext *context);

/// The whole stage on text: `parseGraph`, then the passes of `buildImportPipeline`. Null after an error.
mlir::OwningOpRef<mlir::ModuleOp> importGraph(const llvm::SourceMgr &sources, mlir::MLIRContext *context,
                                              const Options &options);

} // namespace meshwright::importer

#endif
