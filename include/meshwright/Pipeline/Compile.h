//===- Compile.h - the whole way from a graph to a package ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PIPELINE_COMPILE_H
#define MESHWRIGHT_PIPELINE_COMPILE_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace meshwright {

/// The stages, in order.
enum class Stage { Import, Train, Annotate, Complete, Partition, Optimize, Schedule, Emit };

/// The stage of that name, as `--from` and `--to` take it.
std::optional<Stage> parseStage(llvm::StringRef name);
llvm::StringRef stringifyStage(Stage stage);

/// What a user of `dist-opt` asks for.
struct CompileOptions {
  /// Files; `-` is standard input or output. Empty: none.
  std::string input = "-";
  std::string output = "-";
  std::string strategy;
  /// The graph of the program that evaluates; empty where the strategy says whether there is one.
  std::string eval;
  std::string plan;
  std::string explain;
  /// The folder of the package; empty where none is to be made.
  std::string emit;
  Stage from = Stage::Import;
  Stage to = Stage::Schedule;
  /// Passes of Optimize are left out: the program is slower and equally right.
  bool optimize = true;
  /// The package also holds the serial program.
  bool serial = true;
  int64_t ranks = 0;
  /// Print the program of this rank alone.
  std::optional<int64_t> rank;
  /// The same by coordinates: `dp=1,tp=0`.
  std::string coordinate;
  std::vector<std::string> targets;
  std::string gpuReport;
  bool timing = false;
  bool quiet = false;
  bool printLocations = false;
  /// Print names and placements, and no other discardable attribute.
  bool printBrief = false;
};

/// The exit codes of our processes.
enum ExitCode { ExitDone = 0, ExitInput = 1, ExitUsage = 2 };

/// Compiles as asked. Diagnostics, progress and times go to standard error. `registry` holds what `registerAllDialects`
/// adds and, where the compiler is embedded, other dialects with what their operations mean.
ExitCode compile(const CompileOptions &options, const mlir::DialectRegistry &registry);

} // namespace meshwright

#endif
