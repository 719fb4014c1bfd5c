//===- Strategy.h - the strategy file, parsed and checked -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_STRATEGY_STRATEGY_H
#define MESHWRIGHT_STRATEGY_STRATEGY_H

#include "dialects/Dist/Mesh.h"
#include "google/protobuf/text_format.h"
#include "lib/Strategy/strategy.pb.h"
#include "meshwright/Orders/TaskOrder.h"
#include "mlir/IR/Location.h"
#include "mlir/Support/LogicalResult.h"
#include <memory>

namespace meshwright::strategy {

class ResolvedText;

/// A strategy with the places of its fields in the text, so that errors about a field are located at its line.
class StrategyFile {
public:
  /// A strategy without any field: one rank, nothing to train.
  StrategyFile() = default;

  /// Parses protobuf text. Errors are located at their line; diagnostics call the file `name`.
  static mlir::FailureOr<StrategyFile> parse(llvm::StringRef text, llvm::StringRef name, mlir::MLIRContext *context);

  /// Parses the file `strategy` or, where there is none of that name, `strategy` itself.
  static mlir::FailureOr<StrategyFile> read(llvm::StringRef strategy, mlir::MLIRContext *context);

  /// Checks everything that needs no graph (axes, sizes, numbers) and resolves an axis of size 0 from `ranks`, which is
  /// 0 if the user did not give it.
  mlir::LogicalResult check(int64_t ranks, mlir::MLIRContext *context);

  const Strategy &get() const { return strategy; }

  /// The strategy for a program that evaluates: placements without anything about training. Its globs need not match,
  /// because the strategy is written for the program that trains.
  StrategyFile forEvaluation() const;
  /// True if every glob has to match something.
  bool matchesAll() const { return !isForEvaluation; }
  /// The mesh of a checked strategy, in the order of its topology; without axes, one rank.
  dist::Mesh getMesh() const;

  /// The number of slices of the batch of a rank and step; the number of micro-batches of a pipeline.
  int64_t getSlices() const;
  /// The name of the field that keeps fetched parameters for the whole step, zero.keep or pipeline.keep; empty if
  /// neither does.
  llvm::StringRef getKeepField() const;
  /// The name of the pipeline's axis; empty if there is no pipeline or if the axis has size 1.
  llvm::StringRef getStageAxis() const;
  /// The checked order of tasks on the ranks of that axis. Errors are located at the field in question and may describe
  /// the file that it names.
  mlir::FailureOr<schedule::TaskOrder> makeTaskOrder(mlir::MLIRContext *context) const;

  /// The location of a field: names and indices from the outermost in, `tensor.split[1].match`. If the text does not
  /// have the field, the location of the nearest field around it.
  mlir::Location getLoc(mlir::MLIRContext *context, llvm::StringRef path) const;

private:
  mlir::LogicalResult resolveSizes(int64_t ranks, mlir::MLIRContext *context);
  mlir::LogicalResult checkTopology(mlir::MLIRContext *context) const;
  mlir::LogicalResult checkAxes(mlir::MLIRContext *context) const;
  mlir::LogicalResult checkTrain(mlir::MLIRContext *context) const;
  mlir::LogicalResult checkAccumulation(mlir::MLIRContext *context) const;
  mlir::LogicalResult checkZero(mlir::MLIRContext *context) const;
  /// Checks `reproducible` against the mesh and the fields that it excludes.
  mlir::LogicalResult checkReproducible(mlir::MLIRContext *context) const;
  mlir::LogicalResult checkReduce(mlir::MLIRContext *context) const;
  mlir::LogicalResult checkOffload(mlir::MLIRContext *context) const;
  mlir::LogicalResult checkPipeline(mlir::MLIRContext *context) const;
  /// Checks the number of slices in the field at `path`.
  mlir::LogicalResult checkSlices(llvm::StringRef path, int64_t slices, mlir::MLIRContext *context) const;

  /// The largest size of an axis of times.
  static constexpr int64_t kMostTimes = 65536;

  Strategy strategy;
  bool isForEvaluation = false;
  std::string name = "<no strategy>";
  std::shared_ptr<google::protobuf::TextFormat::ParseInfoTree> places;
  /// The text that `places` speaks of.
  std::shared_ptr<const ResolvedText> text;
};

/// A complete strategy with comments; `--print-strategy` prints it.
llvm::StringRef getTemplate();

} // namespace meshwright::strategy

#endif
