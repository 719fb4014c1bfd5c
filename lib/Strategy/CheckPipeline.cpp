//===- CheckPipeline.cpp - checks of pipeline, and its task order ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks the fields of `pipeline` against each other and against the mesh, without the graph. The order of tasks is
// either a published schedule, generated for the number of ranks, micro-batches and chunks, or read from a file next to
// the strategy; both are checked for deadlocks and completeness by `schedule::check`.
//
//===----------------------------------------------------------------------===//

#include "Numbers.h"
#include "dialects/Dist/Times.h"
#include "meshwright/Strategy/Strategy.h"
#include "meshwright/Support/Files.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"
#include <cmath>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::strategy;

//===----------------------------------------------------------------------===//
// Derived values
//===----------------------------------------------------------------------===//

int64_t StrategyFile::getSlices() const {
  return strategy.has_pipeline() ? strategy.pipeline().micro_batches()
                                 : strategy.train().gradient_accumulation().slices();
}

StringRef StrategyFile::getStageAxis() const {
  dist::Mesh mesh = getMesh();
  if (!strategy.has_pipeline() || mesh.getSize(*mesh.find(strategy.pipeline().axis())) == 1)
    return "";
  return strategy.pipeline().axis();
}

/// The text of a file whose relative path starts at the folder of the file `from`.
static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readBeside(StringRef from, StringRef path) {
  SmallString<128> found(path);
  if (llvm::sys::path::is_relative(path)) {
    found = llvm::sys::path::parent_path(from);
    llvm::sys::path::append(found, path);
  }
  return readText(found);
}

static llvm::Expected<schedule::TaskOrder> readOrder(StringRef text) {
  llvm::Expected<schedule::TaskOrder> order = schedule::readCsv(text);
  if (order)
    if (llvm::Error error = schedule::check(*order))
      return std::move(error);
  return order;
}

FailureOr<schedule::TaskOrder> StrategyFile::makeTaskOrder(MLIRContext *context) const {
  const Pipeline &pipeline = strategy.pipeline();
  dist::Mesh mesh = getMesh();
  int64_t ranks = mesh.getSize(*mesh.find(pipeline.axis()));
  if (!pipeline.has_order()) {
    auto kind = schedule::findOrderKind(Pipeline::Schedule_Name(pipeline.schedule()));
    auto order = schedule::makeOrder(*kind, {ranks, pipeline.micro_batches(), pipeline.chunks(), pipeline.group()});
    if (!order)
      return emitError(getLoc(context, "pipeline.schedule")) << llvm::toString(order.takeError());
    return std::move(*order);
  }
  Location loc = getLoc(context, "pipeline.order");
  auto buffer = readBeside(name, pipeline.order());
  if (!buffer)
    return emitError(loc) << "cannot read \"" << pipeline.order() << "\": " << llvm::toString(buffer.takeError());
  auto order = readOrder((*buffer)->getBuffer());
  if (!order)
    return emitError(loc) << "\"" << pipeline.order() << "\": " << llvm::toString(order.takeError());
  if (order->getNumRanks() != ranks)
    return emitError(loc) << "\"" << pipeline.order() << "\" is an order of " << order->getNumRanks()
                          << " ranks but axis \"" << pipeline.axis() << "\" has size " << ranks;
  if (order->numMicroBatches != pipeline.micro_batches())
    return emitError(loc) << "\"" << pipeline.order() << "\" is an order of " << order->numMicroBatches
                          << " micro-batches but pipeline.micro_batches is " << pipeline.micro_batches();
  return std::move(*order);
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

namespace {

/// Checks `pipeline`, field by field.
class PipelineChecker {
public:
  PipelineChecker(const StrategyFile &file, MLIRContext *context)
      : file(file), pipeline(file.get().pipeline()), context(context) {}

  LogicalResult check() const {
    return success(succeeded(checkAxis()) && succeeded(checkMicroBatches()) && succeeded(checkOrder()) &&
                   succeeded(checkStages()));
  }

private:
  InFlightDiagnostic error(const Twine &field) const {
    return emitError(file.getLoc(context, ("pipeline" + field).str()));
  }

  LogicalResult checkAxis() const {
    const std::string &axis = pipeline.axis();
    if (!file.getMesh().find(axis))
      return error(".axis") << "the mesh has no axis \"" << axis << "\"";
    if (llvm::is_contained(file.get().data().axes(), axis))
      return error(".axis") << "axis \"" << axis << "\" is also in data.axes";
    if (file.get().has_tensor() && file.get().tensor().axis() == axis)
      return error(".axis") << "axis \"" << axis << "\" is also tensor.axis";
    return success();
  }

  LogicalResult checkMicroBatches() const {
    if (file.get().train().gradient_accumulation().has_slices())
      return error(".micro_batches") << "pipeline splits the batch into " << pipeline.micro_batches()
                                     << " micro-batches and train.gradient_accumulation into "
                                     << file.get().train().gradient_accumulation().slices()
                                     << " slices; set only one of them";
    return success();
  }

  LogicalResult checkOrder() const {
    if (file.getStageAxis().empty())
      return success();
    std::pair<bool, const char *> shapes[] = {
        {pipeline.has_schedule(), "schedule"}, {pipeline.has_chunks(), "chunks"}, {pipeline.has_group(), "group"}};
    for (auto [given, field] : shapes)
      if (given && pipeline.has_order())
        return error("." + Twine(field)) << "pipeline has both " << field << " and order; the file says it all";
    if (pipeline.has_group() && pipeline.schedule() != Pipeline::INTERLEAVED)
      return error(".group") << "pipeline.group is about INTERLEAVED, but pipeline.schedule is "
                             << Pipeline::Schedule_Name(pipeline.schedule());
    return success(succeeded(file.makeTaskOrder(context)));
  }

  LogicalResult checkStages() const {
    const Stages &stages = pipeline.stages();
    std::pair<bool, const char *> ways[] = {{stages.has_balanced(), "balanced"},
                                            {!stages.ends_with().empty(), "ends_with"},
                                            {!stages.match().empty(), "match"}};
    const char *chosen = nullptr;
    for (auto [given, field] : ways) {
      if (given && chosen)
        return error(".stages." + Twine(field))
               << "pipeline.stages has both " << chosen << " and " << field << "; it takes one of them";
      chosen = given ? field : chosen;
    }
    if (stages.has_max_megabytes() && stages.balanced() != Stages::COST)
      return error(".stages.max_megabytes")
             << "pipeline.stages.max_megabytes bounds stages of the same cost, but balanced"
             << " is " << Stages::Balance_Name(stages.balanced()) << "; it needs COST";
    double megabytes = stages.max_megabytes();
    if (stages.has_max_megabytes() && !(megabytes > 0 && std::isfinite(megabytes)))
      return error(".stages.max_megabytes")
             << "pipeline.stages.max_megabytes is " << toText(megabytes) << "; it is positive";
    return success();
  }

  const StrategyFile &file;
  const Pipeline &pipeline;
  MLIRContext *context;
};

} // namespace

LogicalResult StrategyFile::checkSlices(StringRef path, int64_t slices, MLIRContext *context) const {
  if (slices < 1 || slices > kMostTimes)
    return emitError(getLoc(context, path))
           << path << " is " << slices << "; it is at least 1 and at most " << kMostTimes;
  if (slices > 1 && getMesh().find(dist::kSlicesAxis))
    return emitError(getLoc(context, "mesh"))
           << "axis \"" << dist::kSlicesAxis << "\" has the name of the axis of " << path;
  if (slices > 1 && strategy.model().batch().empty())
    return emitError(getLoc(context, path))
           << path << " splits a batch; model.batch names the inputs and their batch dimension";
  return success();
}

LogicalResult StrategyFile::checkPipeline(MLIRContext *context) const {
  if (!strategy.has_pipeline())
    return success();
  return success(succeeded(checkSlices("pipeline.micro_batches", strategy.pipeline().micro_batches(), context)) &&
                 succeeded(PipelineChecker(*this, context).check()));
}
