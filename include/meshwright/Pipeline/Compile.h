//===- Compile.h - compiles a graph into a package, stage by stage -*- C++ -*===//
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

namespace meshwright::exporter {
enum class ModuleForm : int;
} // namespace meshwright::exporter

namespace meshwright {

/// The stages, in order.
enum class Stage { Import, Train, Annotate, Complete, Partition, Optimize, Schedule, Emit };

/// Parses the name of a stage as `--from` and `--to` take it; nullopt if there is none of that name.
std::optional<Stage> parseStage(llvm::StringRef name);
llvm::StringRef stringifyStage(Stage stage);

/// The options of the stages beside the strategy.
struct StageOptions {
  /// The first and the last stage to run; `Emit` runs only where `emit` names a folder.
  Stage from = Stage::Import;
  Stage to = Stage::Schedule;
  /// False to skip the passes of Optimize: the program gets slower, but stays correct.
  bool optimize = true;
  /// True to store the serial program in the package, too.
  bool serial = true;
  /// Path of the package folder; empty to write no package.
  std::string emit;
  /// The form in which the step after Optimize is written as StableHLO; none where it is not.
  std::optional<exporter::ModuleForm> stablehlo;
  /// Targets of the package's kernels; by default x86-64-v3.
  std::vector<std::string> targets;
  std::string gpuReport;
  /// Path of a folder of compiled kernels; empty to compile all.
  std::string kernelCache;
  /// Path of a program for one rank that another tool made of the input, the serial program; empty if there is none.
  std::string partitioned;
  /// Its mesh, `dp=2,tp=4`; empty if it names one itself.
  std::string mesh;
  /// The placements of its arguments and results by their names in the input, such as `[dp, -]`.
  std::vector<std::pair<std::string, std::string>> places;

  /// True if `stage` is one of those that run.
  bool runs(Stage stage) const { return from <= stage && stage <= to; }
};

/// The options of one run of `dist-opt`.
struct CompileOptions : StageOptions {
  /// Paths of files; `-` is standard input or output, and an empty path means no file.
  std::string input = "-";
  std::string output = "-";
  std::string strategy;
  /// Path of the evaluation graph; if empty, the strategy decides whether the program has one.
  std::string eval;
  std::string plan;
  std::string explain;
  /// Path of the file for the step as StableHLO; of a folder, if the step is a pipeline.
  std::string emitStableHLO;
  int64_t ranks = 0;
  /// Print the program of this rank alone.
  std::optional<int64_t> rank;
  /// The same by coordinates: `dp=1,tp=0`.
  std::string coordinate;
  bool timing = false;
  bool quiet = false;
  bool printLocations = false;
  /// Print names and placements, and no other discardable attribute.
  bool printBrief = false;
};

/// The exit codes of all tools of the project.
enum ExitCode { ExitDone = 0, ExitInput = 1, ExitUsage = 2 };

/// Compiles as `options` ask. Diagnostics, progress and times go to standard error. `registry` holds everything that
/// `registerAllDialects` adds; a program that embeds the compiler may add its own dialects and their interfaces.
ExitCode compile(const CompileOptions &options, const mlir::DialectRegistry &registry);

} // namespace meshwright

#endif
