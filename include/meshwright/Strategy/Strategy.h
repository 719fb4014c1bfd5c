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
#include <vector>

namespace meshwright::strategy {

class ResolvedText;

/// The part of a graph's own shardings that a strategy has to know.
struct GraphShardings {
  /// The axes of its mesh, in order. The factors of a divided axis "x" are called "x:(1)2", "x:(2)4".
  llvm::SmallVector<std::pair<std::string, int64_t>> axes;
  /// Those that split inputs, which makes them axes of the batch.
  llvm::SmallVector<std::string> dataAxes;
  /// True if a parameter is split over one of these.
  bool storesParameters = false;
  mlir::Location loc;
};

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
  /// 0 if the user did not give it. A strategy without a mesh may take that of the graph, so what it says of axes is
  /// checked by `adopt`.
  mlir::LogicalResult check(int64_t ranks, mlir::MLIRContext *context);

  /// Takes the mesh and the data axes of a graph that has shardings of its own, and checks all that is said of axes.
  /// With null the graph has none. To be called once on a checked strategy.
  mlir::LogicalResult adopt(const GraphShardings *graph, mlir::MLIRContext *context);

  const Strategy &get() const { return strategy; }

  /// The strategy for a program that evaluates: placements without anything about training. Its globs need not match,
  /// because the strategy is written for the program that trains.
  StrategyFile forEvaluation() const;
  /// True if every glob has to match something.
  bool matchesAll() const { return !isForEvaluation; }
  /// The mesh of a checked strategy, in the order of its topology; without axes, one rank.
  dist::Mesh getMesh() const;

  /// The axes over which the strategy itself splits the batch; `get().data().axes()` also has those of the graph.
  llvm::ArrayRef<std::string> getOwnDataAxes() const { return ownDataAxes; }
  /// True if the graph keeps a parameter split over an axis of its batch.
  bool isStoredByGraph() const { return storedByGraph; }

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
  mlir::LogicalResult checkMesh(mlir::MLIRContext *context);
  mlir::LogicalResult adoptMesh(const GraphShardings &graph, mlir::MLIRContext *context);
  mlir::LogicalResult divideAxis(const std::string &axis, llvm::ArrayRef<std::string> factors,
                                 mlir::MLIRContext *context);
  mlir::LogicalResult checkTopology(mlir::MLIRContext *context) const;
  mlir::LogicalResult checkAxes(mlir::MLIRContext *context) const;
  mlir::LogicalResult checkTrain(mlir::MLIRContext *context) const;
  mlir::LogicalResult checkAccumulation(mlir::MLIRContext *context) const;
  mlir::LogicalResult checkZero(mlir::MLIRContext *context) const;
  /// Checks `reproducible` against the mesh and the fields that it excludes.
  mlir::LogicalResult checkReproducible(mlir::MLIRContext *context) const;
  mlir::LogicalResult checkTiles(mlir::MLIRContext *context) const;
  mlir::LogicalResult checkReduce(mlir::MLIRContext *context) const;
  mlir::LogicalResult checkOffload(mlir::MLIRContext *context) const;
  mlir::LogicalResult checkPipeline(mlir::MLIRContext *context) const;
  /// Checks the number of slices in the field at `path`.
  mlir::LogicalResult checkSlices(llvm::StringRef path, int64_t slices, mlir::MLIRContext *context) const;

  /// The largest size of an axis of times.
  static constexpr int64_t kMostTimes = 65536;

  Strategy strategy;
  /// As given to `check`.
  int64_t ranks = 0;
  std::vector<std::string> ownDataAxes;
  bool storedByGraph = false;
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
