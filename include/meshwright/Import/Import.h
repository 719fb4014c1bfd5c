//===- Import.h - entry points of the stage Import --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_IMPORT_H
#define MESHWRIGHT_IMPORT_IMPORT_H

#include "dialects/Net/Net.h"
#include "meshwright/StableHLO/Text.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <string>
#include <vector>

namespace llvm {
class SourceMgr;
}

namespace meshwright::importer {

/// Initializer of the variables whose name matches a glob.
struct InitRule {
  std::string match;
  net::InitializerKind kind = net::InitializerKind::Constant;
  /// The parameters of `#net.init`.
  double a = 0, b = 0;
};

/// Pairs arguments of a whole training step with the results that are their next values. A `*` or `?` in `result`
/// stands for the text that it matched in `argument`.
struct CarryRule {
  std::string argument, result;
};

/// Import options from the strategy file. Names are matched as in Glob.h.
struct Options {
  /// Arguments that become variables; the others are the inputs of a step.
  std::vector<std::string> parameters;
  /// Names, not globs, of further arguments that become variables where the graph has them.
  std::vector<std::string> variables;
  /// The first matching rule applies; a variable that matches no rule has no initializer.
  std::vector<InitRule> inits;
  /// Unrolls every loop. By default only loops that compute with integers alone are unrolled.
  bool unrollLoops = false;
  /// Next values of arguments, in addition to those that follow from donated arguments. The first matching rule
  /// applies.
  std::vector<CarryRule> carries;
  /// Leaves out the shardings that the graph states.
  bool ignoreShardings = false;
};

/// The name of the imported function, unless a variable has that name.
inline constexpr llvm::StringLiteral kStepName = "step";

/// Parses the main buffer of `sources`, which `checkText` must have accepted. The location of every operation and
/// argument is its line in the text, fused with the location that the exporter wrote. Emits errors to the context. Keep
/// `sources` alive as long as diagnostics are printed.
mlir::OwningOpRef<mlir::ModuleOp> parseGraph(const llvm::SourceMgr &sources, mlir::MLIRContext *context);

/// Runs the whole stage on text: `parseGraph`, then the passes of `buildImportPipeline`. Returns null after an error.
mlir::OwningOpRef<mlir::ModuleOp> importGraph(const llvm::SourceMgr &sources, mlir::MLIRContext *context,
                                              const Options &options);

} // namespace meshwright::importer

#endif
