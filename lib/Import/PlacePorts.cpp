//===- PlacePorts.cpp - arguments and results of partitioned programs -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program of one rank says what it computes with its arguments, but not which part of the whole value each is. That
// follows from the type, where it is the serial one, or is stated: by the user, by the comment of a module that Export
// wrote, or by a sharding on the argument.
//
//===----------------------------------------------------------------------===//

#include "StoredPorts.h"
#include "dialects/Dist/Conversions.h"
#include "dialects/Dist/Dims.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Dist/Placement.h"
#include "dialects/Dist/PortAttributes.h"
#include "dialects/Net/Net.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/Import/Import.h"
#include "meshwright/Import/Partitioned.h"
#include "meshwright/StableHLO/Graph.h"
#include "meshwright/StableHLO/Sharding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/BitVector.h"
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
  /// Lets the arguments and results of an exported module that correspond to `wholes` have the shapes of their values
  /// where their arrays have others, and notes their placements. Arguments are whole for ranks that share a reduction
  /// or wait for an owner, since the program's inputs are; each takes its part. Results are reduced.
  LogicalResult unstore(func::FuncOp graph, const StoredPorts &stored, ArrayRef<Port> wholeArguments,
                        ArrayRef<Port> wholeResults);
  /// Checks that every stated placement has been of an argument or result.
  LogicalResult finish();

private:
  FailureOr<MappingAttr> getMapping(const Port &port, const Port &whole, StringRef what);
  FailureOr<SmallVector<DigitsAttr>> getDims(const Port &port, const Port &whole);
  bool isStated(StringAttr name) const {
    return llvm::any_of(places, [&](const PortPlace &place) { return place.name == name.getValue(); });
  }
  FailureOr<RankedTensorType> getValueType(const StoredPort &stored, RankedTensorType type, const Port &whole,
                                           Location location, StringRef what);

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

namespace {

/// Pairs the arguments of a program with those of the serial one, or the results.
class Pairing {
public:
  /// Pairs those that have one name. Names are unique in either program, or else mean the last that has it.
  Pairing(ArrayRef<Port> ports, ArrayRef<Port> wholes) : numbers(ports.size()), isTaken(wholes.size()) {
    llvm::StringMap<size_t> named;
    for (auto [index, whole] : llvm::enumerate(wholes))
      named[whole.name.getValue()] = index;
    for (auto [index, port] : llvm::enumerate(ports))
      if (auto found = named.find(port.name.getValue()); found != named.end())
        pair(index, found->second);
  }

  /// Pairs `port` and `whole`, if neither has another partner.
  void pair(size_t port, size_t whole) {
    if (numbers[port] || isTaken.test(whole))
      return;
    numbers[port] = whole;
    isTaken.set(whole);
  }
  /// Pairs those that are left in their order, of which both programs have as many, and returns for every port the
  /// number of its partner.
  SmallVector<size_t> finish() {
    int next = isTaken.find_first_unset();
    return llvm::map_to_vector(numbers, [&](std::optional<size_t> number) {
      if (number)
        return *number;
      size_t free = next;
      next = isTaken.find_next_unset(next);
      return free;
    });
  }

private:
  SmallVector<std::optional<size_t>> numbers;
  llvm::BitVector isTaken;
};

} // namespace

static LogicalResult checkNumber(size_t number, size_t wholeNumber, StringRef what, func::FuncOp func) {
  if (number == wholeNumber)
    return success();
  return func.emitError() << "the partitioned program has " << number << " " << what << "s, but the serial one "
                          << wholeNumber;
}

/// The arguments of `graph` that the serial program does not have, and that nothing reads: exporters leave out what a
/// step only writes, others do not.
static llvm::BitVector findUnread(func::FuncOp graph, ArrayRef<Port> wholes) {
  llvm::StringSet<> names;
  for (const Port &whole : wholes)
    names.insert(whole.name.getValue());
  llvm::BitVector unread(graph.getNumArguments());
  for (BlockArgument argument : graph.getArguments())
    if (argument.use_empty() &&
        !names.contains(net::kNameAttr.getOfArgument(graph, argument.getArgNumber()).getValue()))
      unread.set(argument.getArgNumber());
  return unread;
}

/// For every argument the number of the result that takes its memory, where the exporter says so.
static SmallVector<std::optional<size_t>> findHeirs(ArrayRef<Port> arguments, size_t numResults) {
  return llvm::map_to_vector(arguments, [&](const Port &argument) -> std::optional<size_t> {
    auto number = argument.attributes ? argument.attributes.getAs<IntegerAttr>("tf.aliasing_output") : IntegerAttr();
    return number && number.getInt() >= 0 && static_cast<size_t>(number.getInt()) < numResults
               ? std::optional<size_t>(number.getInt())
               : std::nullopt;
  });
}

/// Pairs results by their names, then those that take the memory of arguments which correspond, then the others in
/// their order.
static SmallVector<size_t> pairResults(ArrayRef<Port> results, ArrayRef<Port> wholes, ArrayRef<Port> arguments,
                                       ArrayRef<Port> wholeArguments) {
  Pairing pairing(results, wholes);
  for (auto [heir, whole] :
       llvm::zip_equal(findHeirs(arguments, results.size()), findHeirs(wholeArguments, wholes.size())))
    if (heir && whole)
      pairing.pair(*heir, *whole);
  return pairing.finish();
}

/// Gives a result whose placement nothing else says that of the argument whose memory it takes in either program, if
/// both have one type on a rank. All lists have the order of the partitioned program.
static void inheritPlacements(MutableArrayRef<Port> results, ArrayRef<size_t> ofResults, ArrayRef<Port> arguments,
                              ArrayRef<Port> wholeArguments, ArrayRef<DictionaryAttr> argumentAttributes) {
  auto heirs = findHeirs(arguments, results.size()), wholeHeirs = findHeirs(wholeArguments, results.size());
  for (auto [argument, heir, wholeHeir, attributes] :
       llvm::zip_equal(arguments, heirs, wholeHeirs, argumentAttributes)) {
    if (!heir && wholeHeir)
      heir = llvm::find(ofResults, *wholeHeir) - ofResults.begin();
    if (!heir)
      continue;
    Port &result = results[*heir];
    bool isPlaced =
        result.attributes && llvm::any_of(result.attributes, [](NamedAttribute attribute) {
          return attribute.getName() == kMappingAttr || attribute.getName().getValue().ends_with(".sharding");
        });
    if (isPlaced || result.type != argument.type)
      continue;
    NamedAttrList list(result.attributes);
    list.set(kMappingAttr, attributes.get(kMappingAttr));
    result.attributes = list.getDictionary(attributes.getContext());
  }
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

/// The type of a rank's part of the value that an array of `type` stores there, which has as many elements.
FailureOr<RankedTensorType> Placer::getValueType(const StoredPort &stored, RankedTensorType type, const Port &whole,
                                                 Location location, StringRef what) {
  auto error = [&] { return emitError(location) << what << " " << whole.name << ": "; };
  if (ArrayRef<int64_t>(stored.shape) != whole.type.getShape())
    return error() << "the comment at the beginning says that it has shape [" << stored.shape
                   << "], but in the serial program it is " << whole.type;
  FailureOr<Placement> placement = Placement::resolve(stored.mapping, mesh, stored.shape, error);
  if (failed(placement))
    return failure();
  RankedTensorType part = whole.type.clone(placement->getLocalShape(stored.shape));
  if (part.getNumElements() != type.getNumElements() || part.getElementType() != type.getElementType())
    return error() << "it is " << type << " on a rank, but " << stored.mapping
                   << ", of the comment at the beginning, makes it " << part;
  return part;
}

/// The mapping without parts of reductions and owners: all ranks have the value where it is not split.
static MappingAttr getSplits(MappingAttr mapping) {
  MLIRContext *context = mapping.getContext();
  return MappingAttr::get(context, mapping.getDims(), ReduceKind::Sum, ArrayAttr::get(context, {}),
                          DictionaryAttr::get(context));
}

/// Makes of `value`, which all ranks along the partial axes of the mapping have, their parts of a sum or product: the
/// value at coordinate 0, and a neutral element elsewhere. Of other reductions it is a part itself.
static Value makePart(OpBuilder &builder, net::NetBuilder &build, Value value, MappingAttr mapping) {
  if (mapping.getPartialKind() != ReduceKind::Sum && mapping.getPartialKind() != ReduceKind::Product)
    return value;
  auto type = cast<RankedTensorType>(value.getType());
  Value neutral = build.splat(type, mapping.getPartialKind() == ReduceKind::Product ? 1 : 0);
  for (Attribute axis : mapping.getPartialAxes()) {
    auto scalar = RankedTensorType::get({}, builder.getI32Type());
    Value coordinate = CoordinateOp::create(builder, value.getLoc(), scalar, cast<StringAttr>(axis));
    Value isFirst = build.compare(net::CompareDirection::Eq, coordinate, build.splat(scalar, 0));
    value = build.select(build.broadcast(isFirst, type.getShape()), value, neutral);
  }
  return value;
}

LogicalResult Placer::unstore(func::FuncOp graph, const StoredPorts &stored, ArrayRef<Port> wholeArguments,
                              ArrayRef<Port> wholeResults) {
  if (stored.arguments.size() != wholeArguments.size() || stored.results.size() != wholeResults.size())
    return graph.emitError() << "the comment at the beginning has " << stored.arguments.size() << " arguments and "
                             << stored.results.size() << " results, but the program " << wholeArguments.size()
                             << " and " << wholeResults.size();
  Block &body = graph.getBody().front();
  PortAttributes ports;
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  for (auto [argument, port, whole] : llvm::zip_equal(body.getArguments(), stored.arguments, wholeArguments)) {
    if (isStated(whole.name))
      continue;
    FailureOr<RankedTensorType> type =
        getValueType(port, cast<RankedTensorType>(argument.getType()), whole, argument.getLoc(), "argument");
    if (failed(type))
      return failure();
    ports.set(argument, kMappingAttr, getSplits(port.mapping));
    if (port.count)
      ports.set(argument, net::kMaxAttr, builder.getF64FloatAttr(static_cast<double>(*port.count)));
    auto array = cast<RankedTensorType>(argument.getType());
    if (*type == array && port.mapping.getPartialAxes().empty())
      continue;
    SmallVector<Operation *> users(argument.getUsers());
    argument.setType(*type);
    net::NetBuilder build(builder, argument.getLoc());
    Value value = makePart(builder, build, build.reshape(argument, array.getShape()), port.mapping);
    argument.replaceUsesWithIf(value, [&](OpOperand &use) { return llvm::is_contained(users, use.getOwner()); });
  }
  Operation *end = body.getTerminator();
  builder.setInsertionPoint(end);
  for (auto [result, port, whole] : llvm::zip_equal(end->getOpOperands(), stored.results, wholeResults)) {
    if (isStated(whole.name))
      continue;
    Value array = result.get();
    FailureOr<RankedTensorType> type =
        getValueType(port, cast<RankedTensorType>(array.getType()), whole, array.getLoc(), "result");
    if (failed(type))
      return failure();
    Value part = net::NetBuilder(builder, array.getLoc()).reshape(array, type->getShape());
    MappingAttr mapping = port.mapping;
    if (!mapping.getPartialAxes().empty()) {
      mapping = MappingAttr::get(mapping.getContext(), mapping.getDims(), ReduceKind::Sum, builder.getArrayAttr({}),
                                 mapping.getSupport());
      part = AllReduceOp::create(builder, array.getLoc(), *type, part, port.mapping.getPartialAxes(), port.mapping,
                                 mapping, builder.getDenseI64ArrayAttr(port.shape));
    }
    ports.setResult(graph, result.getOperandNumber(), kMappingAttr, mapping);
    result.set(part);
  }
  ports.write();
  graph.setType(FunctionType::get(graph.getContext(), body.getArgumentTypes(), end->getOperandTypes()));
  return success();
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
  // The mapping of an exported module covers parts of sums, and owners, too.
  if (auto stated = port.attributes ? port.attributes.getAs<MappingAttr>(kMappingAttr) : MappingAttr();
      stated && !isStated(whole.name))
    mapping = stated;
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
    if (Attribute max = port.attributes ? port.attributes.get(net::kMaxAttr) : Attribute())
      list.set(net::kMaxAttr, max);
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

/// `items`, of which each has a number, in the order of their numbers.
template <typename T> static SmallVector<T, 0> orderBy(ArrayRef<size_t> numbers, ArrayRef<T> items) {
  SmallVector<T, 0> ordered(numbers.size());
  for (auto [number, item] : llvm::zip_equal(numbers, items))
    ordered[number] = item;
  return ordered;
}

/// Gives the arguments, whose numbers in the serial program are `numbers`, its order, and their attributes.
static void orderArguments(func::FuncOp graph, ArrayRef<size_t> numbers, ArrayRef<DictionaryAttr> attributes) {
  Block &body = graph.getBody().front();
  SmallVector<BlockArgument, 0> given(body.getArguments());
  for (BlockArgument argument : orderBy<BlockArgument>(numbers, given))
    argument.replaceAllUsesWith(body.addArgument(argument.getType(), argument.getLoc()));
  body.eraseArguments(0, given.size());
  graph.setType(FunctionType::get(graph.getContext(), body.getArgumentTypes(), graph.getResultTypes()));
  graph.setAllArgAttrs(orderBy(numbers, attributes));
}

/// The same for results.
static void orderResults(func::FuncOp graph, ArrayRef<size_t> numbers, ArrayRef<DictionaryAttr> attributes) {
  Operation *end = graph.getBody().front().getTerminator();
  end->setOperands(orderBy<Value>(numbers, SmallVector<Value>(end->getOperands())));
  graph.setType(FunctionType::get(graph.getContext(), graph.getArgumentTypes(), end->getOperandTypes()));
  graph.setAllResultAttrs(orderBy(numbers, attributes));
}

/// Removes what exporters attached for other compilers, and keeps the names.
static void leaveOut(ModuleOp module, func::FuncOp func) {
  auto keep = [&](DictionaryAttr attributes) {
    NamedAttrList kept;
    for (StringRef name : {StringRef(net::kNameAttr), StringRef(net::kGlobalTypeAttr), StringRef(kMappingAttr),
                           StringRef(net::kMaxAttr)})
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

LogicalResult importer::placePorts(ModuleOp partitioned, ModuleOp serial, ArrayRef<PortPlace> places,
                                   StringRef header) {
  func::FuncOp graph = findGraph(partitioned), whole = findGraph(serial);
  if (!graph || !whole)
    return failure();
  MeshOp mesh = findMesh(partitioned);
  if (!mesh)
    return partitioned.emitError() << "the partitioned program names no mesh; state one, as --mesh=dp=2,tp=4";
  Ports wholeArguments = getArguments(whole), wholeResults = getResults(whole);
  llvm::BitVector unread(graph.getNumArguments());
  if (graph.getNumArguments() > wholeArguments.size())
    unread = findUnread(graph, wholeArguments);
  if (failed(graph.eraseArguments(unread)))
    return failure();
  Ports arguments = getArguments(graph), results = getResults(graph);
  if (failed(checkNumber(arguments.size(), wholeArguments.size(), "argument", graph)) ||
      failed(checkNumber(results.size(), wholeResults.size(), "result", graph)))
    return failure();
  SmallVector<size_t> ofArguments = Pairing(arguments, wholeArguments).finish();
  wholeArguments = permute(wholeArguments, ofArguments);
  SmallVector<size_t> ofResults = pairResults(results, wholeResults, arguments, wholeArguments);
  Mesh axes = mesh.getMesh();
  Placer placer(partitioned, axes, places);
  wholeResults = permute(wholeResults, ofResults);
  if (!header.empty()) {
    FailureOr<StoredPorts> stored = parseStoredPorts(header, graph.getLoc());
    if (failed(stored))
      return failure();
    if (stored->arguments.size() == unread.size())
      for (int index = unread.find_last(); index != -1; index = unread.find_prev(index))
        stored->arguments.erase(stored->arguments.begin() + index);
    if (failed(placer.unstore(graph, *stored, wholeArguments, wholeResults)))
      return failure();
    arguments = getArguments(graph);
    results = getResults(graph);
  }
  auto placedArguments = placer.place(arguments, wholeArguments, "argument");
  if (failed(placedArguments))
    return failure();
  inheritPlacements(results, ofResults, arguments, wholeArguments, *placedArguments);
  auto placedResults = placer.place(results, wholeResults, "result");
  if (failed(placedResults) || failed(placer.finish()))
    return failure();
  orderArguments(graph, ofArguments, *placedArguments);
  orderResults(graph, ofResults, *placedResults);
  leaveOut(partitioned, graph);
  leaveOut(serial, whole);
  return success();
}
