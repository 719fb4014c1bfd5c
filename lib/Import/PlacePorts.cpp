//===- PlacePorts.cpp - arguments and results of partitioned programs -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program of one rank says what it computes with its arguments, but not which part of the whole value each is. That
// follows from the type, where it is the serial one, or is stated: by the user, or by a sharding on the argument.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dims.h"
#include "dialects/Dist/Placement.h"
#include "dialects/Net/Net.h"
#include "meshwright/Import/Import.h"
#include "meshwright/Import/Partitioned.h"
#include "meshwright/StableHLO/Graph.h"
#include "meshwright/StableHLO/Sharding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::importer;

namespace {

/// An argument or a result.
struct Port {
  StringAttr name;
  RankedTensorType type;
  DictionaryAttr attributes;
  Location location;
};

/// The arguments of a function, or its results.
using Ports = SmallVector<Port, 0>;

class Placer {
public:
  Placer(ModuleOp module, const Mesh &mesh, ArrayRef<PortPlace> places) : module(module), mesh(mesh), places(places) {}

  /// The attributes of `ports`, which correspond to `wholes` of the serial program. `what` is "argument" or "result".
  FailureOr<SmallVector<DictionaryAttr, 0>> place(ArrayRef<Port> ports, ArrayRef<Port> wholes, StringRef what);
  /// Checks that every stated placement has been of an argument or result.
  LogicalResult finish();

private:
  FailureOr<MappingAttr> getMapping(const Port &port, const Port &whole, StringRef what);
  FailureOr<SmallVector<DigitsAttr>> getDims(const Port &port, const Port &whole);

  ModuleOp module;
  const Mesh &mesh;
  ArrayRef<PortPlace> places;
  /// The names of the placements that have been of a port.
  llvm::StringSet<> used;
};

} // namespace

static Ports getArguments(func::FuncOp func) {
  Ports ports;
  for (BlockArgument argument : func.getArguments())
    ports.push_back({net::kNameAttr.getOfArgument(func, argument.getArgNumber()),
                     cast<RankedTensorType>(argument.getType()), func.getArgAttrDict(argument.getArgNumber()),
                     argument.getLoc()});
  return ports;
}

static Ports getResults(func::FuncOp func) {
  Ports ports;
  for (auto [index, type] : llvm::enumerate(func.getResultTypes()))
    ports.push_back({net::kNameAttr.getOfResult(func, index), cast<RankedTensorType>(type),
                     func.getResultAttrDict(index),
                     func.getBody().front().getTerminator()->getOperand(index).getLoc()});
  return ports;
}

/// For every port the number of the one of the serial program that it is.
static FailureOr<SmallVector<size_t>> correspond(ArrayRef<Port> ports, ArrayRef<Port> wholes, StringRef what,
                                                 func::FuncOp func) {
  if (ports.size() != wholes.size())
    return func.emitError() << "the partitioned program has " << ports.size() << " " << what << "s, but the serial one "
                            << wholes.size();
  llvm::StringMap<size_t> numbers;
  for (auto [index, whole] : llvm::enumerate(wholes))
    numbers[whole.name.getValue()] = index;
  bool haveNames = llvm::all_of(ports, [&](const Port &port) { return numbers.contains(port.name.getValue()); });
  SmallVector<size_t> found;
  for (auto [index, port] : llvm::enumerate(ports))
    found.push_back(haveNames ? numbers.lookup(port.name.getValue()) : index);
  return found;
}

/// The dimensions that are stated for a port; a shape's worth of none if nothing is.
FailureOr<SmallVector<DigitsAttr>> Placer::getDims(const Port &port, const Port &whole) {
  MLIRContext *context = module.getContext();
  auto error = [&] { return emitError(port.location); };
  const PortPlace *place = llvm::find_if(places, [&](const PortPlace &p) { return p.name == whole.name.getValue(); });
  if (place != places.end()) {
    used.insert(place->name);
    return parseDims(place->dims, mesh, context, error);
  }
  // A computation per rank says what it takes and gives.
  if (auto mapping = port.attributes ? port.attributes.getAs<MappingAttr>(kMappingAttr) : MappingAttr())
    return llvm::to_vector(mapping.getDims());
  SmallVector<DigitsAttr> dims(whole.type.getRank(), DigitsAttr::get(context, {}));
  if (port.type == whole.type)
    return dims;
  FailureOr<std::optional<SmallVector<Axes>>> sharding =
      readSharding(port.attributes, whole.type.getRank(), mesh, error);
  if (failed(sharding))
    return failure();
  if (*sharding)
    for (auto [dim, axes] : llvm::zip_equal(dims, **sharding))
      dim = DigitsAttr::get(context, llvm::map_to_vector(axes, [&](Axis axis) {
                              return DigitAttr::getAxis(StringAttr::get(context, mesh.getName(axis)));
                            }));
  return dims;
}

FailureOr<MappingAttr> Placer::getMapping(const Port &port, const Port &whole, StringRef what) {
  MLIRContext *context = module.getContext();
  FailureOr<SmallVector<DigitsAttr>> dims = getDims(port, whole);
  if (failed(dims))
    return failure();
  auto error = [&] { return emitError(port.location) << what << " " << whole.name << ": "; };
  auto noAxes = ArrayAttr::get(context, {});
  auto everywhere = DictionaryAttr::get(context);
  if (failed(MappingAttr::verify(error, *dims, ReduceKind::Sum, noAxes, everywhere)))
    return failure();
  auto mapping = MappingAttr::get(context, *dims, ReduceKind::Sum, noAxes, everywhere);
  FailureOr<Placement> placement = Placement::resolve(mapping, mesh, whole.type.getShape(), error);
  if (failed(placement))
    return failure();
  RankedTensorType part = whole.type.clone(placement->getLocalShape(whole.type.getShape()));
  if (part != port.type)
    return emitError(port.location) << what << " " << whole.name << " is " << port.type << " on a rank and "
                                    << whole.type << " in the serial program, but " << mapping << " makes it " << part
                                    << "; state its placement, as --place=" << whole.name.getValue() << "=[dp,-]";
  return mapping;
}

FailureOr<SmallVector<DictionaryAttr, 0>> Placer::place(ArrayRef<Port> ports, ArrayRef<Port> wholes, StringRef what) {
  SmallVector<DictionaryAttr, 0> attributes;
  for (auto [port, whole] : llvm::zip_equal(ports, wholes)) {
    FailureOr<MappingAttr> mapping = getMapping(port, whole, what);
    if (failed(mapping))
      return failure();
    NamedAttrList list;
    list.set(net::kNameAttr, whole.name);
    list.set(net::kGlobalTypeAttr, TypeAttr::get(whole.type));
    list.set(kMappingAttr, *mapping);
    attributes.push_back(list.getDictionary(module.getContext()));
  }
  return attributes;
}

LogicalResult Placer::finish() {
  for (const PortPlace &place : places)
    if (!used.contains(place.name))
      return module.emitError() << "--place=" << place.name << "=" << place.dims
                                << " names no argument or result of the serial program";
  return success();
}

/// The ports of `wholes` in the order of `numbers`.
static Ports permute(ArrayRef<Port> wholes, ArrayRef<size_t> numbers) {
  Ports permuted;
  for (size_t number : numbers)
    permuted.push_back(wholes[number]);
  return permuted;
}

/// Removes what exporters attached for other compilers, and keeps the names.
static void leaveOut(ModuleOp module, func::FuncOp func) {
  auto keep = [&](DictionaryAttr attributes) {
    NamedAttrList kept;
    for (StringRef name : {StringRef(net::kNameAttr), StringRef(net::kGlobalTypeAttr), StringRef(kMappingAttr)})
      if (Attribute value = attributes ? attributes.get(name) : Attribute())
        kept.append(name, value);
    return kept.getDictionary(module.getContext());
  };
  SmallVector<DictionaryAttr, 0> arguments, results;
  for (unsigned index = 0; index < func.getNumArguments(); ++index)
    arguments.push_back(keep(func.getArgAttrDict(index)));
  for (unsigned index = 0; index < func.getNumResults(); ++index)
    results.push_back(keep(func.getResultAttrDict(index)));
  func.setAllArgAttrs(arguments);
  func.setAllResultAttrs(results);
  func.setSymName(kStepName);
  for (NamedAttribute attribute : llvm::to_vector(module->getDiscardableAttrs()))
    module->removeDiscardableAttr(attribute.getName());
}

LogicalResult importer::placePorts(ModuleOp partitioned, ModuleOp serial, ArrayRef<PortPlace> places) {
  func::FuncOp graph = findGraph(partitioned), whole = findGraph(serial);
  if (!graph || !whole)
    return failure();
  MeshOp mesh = findMesh(partitioned);
  if (!mesh)
    return partitioned.emitError() << "the partitioned program names no mesh; state one, as --mesh=dp=2,tp=4";
  Ports arguments = getArguments(graph), results = getResults(graph);
  Ports wholeArguments = getArguments(whole), wholeResults = getResults(whole);
  FailureOr<SmallVector<size_t>> ofArguments = correspond(arguments, wholeArguments, "argument", graph);
  FailureOr<SmallVector<size_t>> ofResults =
      failed(ofArguments) ? FailureOr<SmallVector<size_t>>() : correspond(results, wholeResults, "result", graph);
  if (failed(ofResults))
    return failure();
  Mesh axes = mesh.getMesh();
  Placer placer(partitioned, axes, places);
  auto placedArguments = placer.place(arguments, permute(wholeArguments, *ofArguments), "argument");
  if (failed(placedArguments))
    return failure();
  auto placedResults = placer.place(results, permute(wholeResults, *ofResults), "result");
  if (failed(placedResults) || failed(placer.finish()))
    return failure();
  graph.setAllArgAttrs(*placedArguments);
  graph.setAllResultAttrs(*placedResults);
  leaveOut(partitioned, graph);
  leaveOut(serial, whole);
  return success();
}
