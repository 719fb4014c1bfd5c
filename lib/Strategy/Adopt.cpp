//===- Adopt.cpp - takes over what a graph says of its mesh ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph with shardings of its own has a mesh and axes of the batch. A strategy without a mesh takes that mesh; one
// with a mesh has to have its axes, and may have more. Where the graph divides an axis, the strategy's own mentions of
// it become all of its factors.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Strategy/Strategy.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::strategy;

/// Replaces the name `axis` in `names` by those of its factors.
static void divide(google::protobuf::RepeatedPtrField<std::string> &names, StringRef axis,
                   ArrayRef<std::string> factors) {
  SmallVector<std::string> all;
  for (const std::string &name : names) {
    if (name == axis)
      llvm::append_range(all, factors);
    else
      all.push_back(name);
  }
  names.Assign(all.begin(), all.end());
}

/// Replaces the word `axis` in a text of dimensions, as in `[3 x, -]`.
static std::string divideWords(StringRef text, StringRef axis, ArrayRef<std::string> factors) {
  std::string result;
  while (!text.empty()) {
    StringRef word = text.take_while([](char c) { return !StringRef(" ,[]").contains(c); });
    result += word == axis ? llvm::join(factors, " ") : word.str();
    text = text.drop_front(word.size());
    StringRef between = text.take_while([](char c) { return StringRef(" ,[]").contains(c); });
    result += between;
    text = text.drop_front(between.size());
  }
  return result;
}

LogicalResult StrategyFile::divideAxis(const std::string &axis, ArrayRef<std::string> factors, MLIRContext *context) {
  for (auto [name, field] :
       {std::pair(strategy.tensor().axis(), "tensor.axis"), std::pair(strategy.pipeline().axis(), "pipeline.axis")})
    if (name == axis)
      return emitError(getLoc(context, field)) << field << " is one axis, but the graph divides \"" << axis
                                               << "\" into \"" << llvm::join(factors, "\", \"") << "\"";
  divide(*strategy.mutable_data()->mutable_axes(), axis, factors);
  if (strategy.has_zero()) {
    divide(*strategy.mutable_zero()->mutable_axes(), axis, factors);
    divide(*strategy.mutable_zero()->mutable_backward_axes(), axis, factors);
  }
  for (Place &place : *strategy.mutable_place())
    place.set_dims(divideWords(place.dims(), axis, factors));
  if (strategy.topology().has_order()) {
    // The order begins with the nearest neighbours, the factors with the most significant one.
    SmallVector<std::string> reversed(llvm::reverse(factors));
    strategy.mutable_topology()->set_order(divideWords(strategy.topology().order(), axis, reversed));
  }
  return success();
}

LogicalResult StrategyFile::adoptMesh(const GraphShardings &graph, MLIRContext *context) {
  // The factors of each axis, by its own name.
  llvm::MapVector<StringRef, SmallVector<std::pair<std::string, int64_t>>> axes;
  for (const auto &[name, size] : graph.axes)
    axes[StringRef(name).split(":(").first].push_back({name, size});
  bool hasMesh = !strategy.mesh().axes().empty();
  google::protobuf::RepeatedPtrField<strategy::Axis> mesh;
  auto add = [&](StringRef name, int64_t size) {
    strategy::Axis *axis = mesh.Add();
    axis->set_name(name.str());
    axis->set_size(size);
  };
  auto append = [&](StringRef name) -> LogicalResult {
    SmallVector<std::string> factors;
    for (const auto &[factor, size] : axes[name]) {
      add(factor, size);
      factors.push_back(factor);
    }
    return factors.size() == 1 ? success() : divideAxis(name.str(), factors, context);
  };
  for (auto [index, axis] : llvm::enumerate(strategy.mesh().axes())) {
    auto found = axes.find(axis.name());
    if (found == axes.end()) {
      add(axis.name(), axis.size());
      continue;
    }
    int64_t size = 1;
    for (const auto &[factor, count] : found->second)
      size *= count;
    if (axis.size() != size) {
      auto diagnostic = emitError(getLoc(context, "mesh.axes[" + std::to_string(index) + "]"))
                        << "axis \"" << axis.name() << "\" has size " << axis.size()
                        << " but the graph is sharded for one of size " << size;
      diagnostic.attachNote(graph.loc) << "the graph has a mesh of its own";
      return diagnostic;
    }
    if (failed(append(axis.name())))
      return failure();
  }
  for (const auto &[name, factors] : axes) {
    auto isOfMesh = [&, &factors = factors](const strategy::Axis &axis) {
      return axis.name() == factors.front().first;
    };
    if (!hasMesh && failed(append(name)))
      return failure();
    if (llvm::any_of(mesh, isOfMesh))
      continue;
    auto diagnostic = emitError(getLoc(context, "mesh")) << "the graph is sharded over axis \"" << name
                                                         << "\", which the mesh lacks; add it, or leave the mesh out";
    diagnostic.attachNote(graph.loc) << "the graph has a mesh of its own";
    return diagnostic;
  }
  strategy.mutable_mesh()->mutable_axes()->Swap(&mesh);
  return success();
}

LogicalResult StrategyFile::adopt(const GraphShardings *graph, MLIRContext *context) {
  // A strategy with a mesh is checked already.
  if (!graph && !strategy.mesh().axes().empty())
    return success();
  if (graph) {
    if (failed(adoptMesh(*graph, context)))
      return failure();
    ownDataAxes.assign(strategy.data().axes().begin(), strategy.data().axes().end());
    for (const std::string &axis : graph->dataAxes)
      if (!llvm::is_contained(strategy.data().axes(), axis))
        strategy.mutable_data()->add_axes(axis);
    storedByGraph = graph->storesParameters;
    // The fields about fetches hold for parameters that the graph stores.
    if (storedByGraph && !strategy.has_zero())
      strategy.mutable_zero()->set_stage(3);
  }
  return checkMesh(context);
}
