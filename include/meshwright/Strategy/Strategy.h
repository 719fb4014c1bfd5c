//===- Strategy.h - everything that is not the network ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_STRATEGY_STRATEGY_H
#define MESHWRIGHT_STRATEGY_STRATEGY_H

#include "dialects/Dist/Mesh.h"
#include "google/protobuf/text_format.h"
#include "lib/Strategy/strategy.pb.h"
#include "meshwright/Schedule/TaskOrder.h"
#include "mlir/IR/Location.h"
#include "mlir/Support/LogicalResult.h"
#include <memory>

namespace meshwright::strategy {

/// A strategy with the places in its text, so that whatever is wrong with a field is said at its line.
class StrategyFile {
public:
  /// The strategy without any field: one rank, nothing to train.
  StrategyFile() = default;

  /// Reads protobuf text. Errors are emitted at their line; `name` is what diagnostics call the file.
  static mlir::FailureOr<StrategyFile> parse(llvm::StringRef text, llvm::StringRef name, mlir::MLIRContext *context);

  /// Checks what can be checked without the graph (axes, sizes, numbers) and resolves an axis of size 0 from `ranks`,
  /// which is 0 where the user did not say.
  mlir::LogicalResult check(int64_t ranks, mlir::MLIRContext *context);

  const Strategy &get() const { return strategy; }

  /// What a checked strategy says of the program that evaluates: where values are, and nothing of training. What it
  /// names need not be there, because it is written for the program that trains.
  StrategyFile forEvaluation() const;
  /// Whether every glob has to match something.
  bool matchesAll() const { return !isForEvaluation; }
  /// The mesh of a checked strategy, in the order of its topology; without axes, one rank.
  dist::Mesh getMesh() const;

  /// In how many slices the batch of a rank and step is gone through: micro-batches, where there is a pipeline.
  int64_t getSlices() const;
  /// The field that says that fetched parameters are kept as long as the step, zero.keep or pipeline.keep; empty where
  /// none does.
  llvm::StringRef getKeepField() const;
  /// The name of the axis along which a checked strategy makes the ranks a pipeline; empty where it does not, or where
  /// the axis has size 1.
  llvm::StringRef getStageAxis() const;
  /// The order in which the ranks of that axis work, checked. Errors are emitted at the field that is at fault, or say
  /// what is wrong with the file that it names.
  mlir::FailureOr<schedule::TaskOrder> makeTaskOrder(mlir::MLIRContext *context) const;

  /// The place of a field: names and indices from the outermost in, `tensor.split[1].match`. Where the text does not
  /// have it, that of the nearest field around it.
  mlir::Location getLoc(mlir::MLIRContext *context, llvm::StringRef path) const;

private:
  mlir::LogicalResult resolveSizes(int64_t ranks, mlir::MLIRContext *context);
  mlir::LogicalResult checkTopology(mlir::MLIRContext *context) const;
  mlir::LogicalResult checkAxes(mlir::MLIRContext *context) const;
  mlir::LogicalResult checkTrain(mlir::MLIRContext *context) const;
  mlir::LogicalResult checkMerge(mlir::MLIRContext *context) const;
  mlir::LogicalResult checkZero(mlir::MLIRContext *context) const;
  mlir::LogicalResult checkReduce(mlir::MLIRContext *context) const;
  mlir::LogicalResult checkOffload(mlir::MLIRContext *context) const;
  mlir::LogicalResult checkPipeline(mlir::MLIRContext *context) const;
  /// Checks the number of slices that the field at `path` says.
  mlir::LogicalResult checkSlices(llvm::StringRef path, int64_t slices, mlir::MLIRContext *context) const;

  /// The most coordinates of an axis of times.
  static constexpr int64_t kMostTimes = 65536;

  Strategy strategy;
  bool isForEvaluation = false;
  std::string name = "<no strategy>";
  std::shared_ptr<google::protobuf::TextFormat::ParseInfoTree> places;
};

/// A complete strategy with comments, as `--print-strategy` prints it.
llvm::StringRef getTemplate();

} // namespace meshwright::strategy

#endif
