//===- Collectives.cpp - collectives of StableHLO and numbers of ranks ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that is written for one rank exchanges values in groups of ranks, which become axes of the module's mesh.
// Each collective becomes the conversion between placements that moves the same data: what ranks hold is seen as the
// parts of a value that exists for this one conversion. Permutations, which no conversion describes, gather what all
// ranks along the axes have, and each rank takes what it receives.
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"
#include "RankArithmetic.h"
#include "Reduction.h"
#include "dialects/Dist/Dist.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::importer;

using Ranks = SmallVector<int64_t>;

//===----------------------------------------------------------------------===//
// Groups of ranks
//===----------------------------------------------------------------------===//

static FailureOr<Mesh> getMesh(importer::Conversion &conversion) {
  if (MeshOp mesh = findMesh(conversion.getOp()->getParentOfType<ModuleOp>()))
    return mesh.getMesh();
  return conversion.error() << "stands in a program of one rank, but the graph of a serial network is wanted";
}

/// The number in an attribute of the module, such as that of its replicas; 1 where it has none.
static int64_t getCount(Operation *op, StringRef name) {
  auto count = op->getParentOfType<ModuleOp>()->getAttrOfType<IntegerAttr>(name);
  return count && count.getValue().isSignedIntN(32) ? count.getValue().getSExtValue() : 1;
}

/// Replicas and partitions number their ranks apart. Programs have the one or the other.
static LogicalResult checkCounts(importer::Conversion &conversion, const Mesh &mesh) {
  Operation *op = conversion.getOp();
  int64_t replicas = getCount(op, "mhlo.num_replicas"), partitions = getCount(op, "mhlo.num_partitions");
  if (replicas > 1 && partitions > 1)
    return conversion.error() << "stands in a program of " << replicas << " replicas of " << partitions
                              << " partitions each; programs of replicas or of partitions are understood";
  if (int64_t ranks = std::max(replicas, partitions); ranks != 1 && ranks != mesh.getNumRanks())
    return conversion.error() << "stands in a program of " << ranks << " ranks, but the mesh " << printMesh(mesh)
                              << " has " << mesh.getNumRanks();
  return success();
}

/// A list of lists of ranks. They name each rank `most` times at most.
static FailureOr<SmallVector<Ranks>> readLists(importer::Conversion &conversion, StringRef name, int64_t most) {
  auto lists = conversion.getOp()->getAttrOfType<DenseIntElementsAttr>(name);
  if (!lists || lists.getType().getRank() != 2 || !lists.getElementType().isInteger(64))
    return conversion.error() << "has no lists of ranks in \"" << name << "\"";
  int64_t rows = lists.getType().getDimSize(0), columns = lists.getType().getDimSize(1);
  if (rows < 0 || columns < 0 || rows > most || columns > most)
    return conversion.error() << "has " << rows << " lists of " << columns << " ranks in \"" << name
                              << "\", more than the mesh can have";
  SmallVector<Ranks> read(rows);
  auto values = lists.getValues<int64_t>();
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      read[row].push_back(values[row * columns + column]);
  return read;
}

/// A collective between partitions has the number of a channel; without it, the numbers in its groups are replicas.
static LogicalResult checkChannel(importer::Conversion &conversion) {
  Operation *op = conversion.getOp();
  auto channel = op->getAttrOfType<StringAttr>("channel_handle");
  bool hasChannel = channel && !channel.getValue().contains("handle = 0,");
  if (getCount(op, "mhlo.num_partitions") > 1 && !hasChannel)
    return conversion.error() << "has no channel_handle, so that it exchanges nothing between the "
                              << getCount(op, "mhlo.num_partitions") << " partitions of the program";
  return success();
}

/// The axes along which the groups of a collective stand, the most significant first. Where order does not matter, a
/// group may list its ranks in any.
static FailureOr<Axes> readAxes(importer::Conversion &conversion, const Mesh &mesh, bool isOrdered) {
  if (failed(checkCounts(conversion, mesh)) || failed(checkChannel(conversion)))
    return failure();
  int64_t ranks = mesh.getNumRanks();
  FailureOr<SmallVector<Ranks>> groups = readLists(conversion, "replica_groups", ranks);
  if (failed(groups))
    return failure();
  if (groups->empty() || groups->front().empty())
    groups->assign(1, llvm::to_vector(llvm::seq<int64_t>(0, ranks)));
  if (!isOrdered)
    for (Ranks &group : *groups)
      llvm::sort(group);
  if (std::optional<Axes> axes = findAxes(mesh, *groups))
    return *axes;
  InFlightDiagnostic error = conversion.error() << "has the groups ";
  constexpr size_t mostShown = 4;
  for (auto [index, group] : llvm::enumerate(ArrayRef(*groups).take_front(mostShown))) {
    error << (index ? ", [" : "[");
    llvm::interleaveComma(group, error);
    error << "]";
  }
  return error << (groups->size() > mostShown ? ", ..." : "") << ", which are not the rows along axes of the mesh "
               << printMesh(mesh) << "; state a mesh that has them";
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

namespace {

/// Builds conversions of one collective.
class Exchange {
public:
  Exchange(importer::Conversion &conversion, const Mesh &mesh) : conversion(conversion), mesh(mesh) {}

  Value reduce(ReduceKind kind, Value value, ArrayRef<Axis> axes);
  Value reduceScatter(ReduceKind kind, Value value, int64_t dim, ArrayRef<Axis> axes);
  Value gather(Value value, int64_t dim, ArrayRef<Axis> axes);
  /// Exchanges parts along dimension `to` for parts along dimension `from`.
  Value exchange(Value value, int64_t from, int64_t to, Axis axis);
  /// The number that the rank's coordinates on `axes` spell, an i32 scalar.
  Value number(ArrayRef<Axis> axes);

private:
  template <typename OpT>
  Value convert(Value value, ArrayRef<int64_t> result, ArrayRef<Axis> axes, MappingAttr from, MappingAttr to,
                ArrayRef<int64_t> whole) {
    Builder &builder = conversion.getBuilder();
    return conversion.create<OpT>(net::typeOf(value).clone(result), value, getNames(context(), mesh, axes), from, to,
                                  builder.getDenseI64ArrayAttr(whole));
  }
  MappingAttr split(unsigned rank, int64_t dim, ArrayRef<Axis> axes);
  MappingAttr partial(unsigned rank, ReduceKind kind, ArrayRef<Axis> axes);
  MLIRContext *context() { return conversion.getBuilder().getContext(); }

  importer::Conversion &conversion;
  const Mesh &mesh;
};

} // namespace

/// The placement that splits `dim` over `axes`.
MappingAttr Exchange::split(unsigned rank, int64_t dim, ArrayRef<Axis> axes) {
  SmallVector<DigitsAttr> dims(rank, DigitsAttr::get(context(), {}));
  SmallVector<DigitAttr> digits = llvm::map_to_vector(
      axes, [&](Axis axis) { return DigitAttr::getAxis(StringAttr::get(context(), mesh.getName(axis))); });
  dims[dim] = DigitsAttr::get(context(), digits);
  return MappingAttr::get(context(), dims, ReduceKind::Sum, ArrayAttr::get(context(), {}),
                          DictionaryAttr::get(context()));
}

MappingAttr Exchange::partial(unsigned rank, ReduceKind kind, ArrayRef<Axis> axes) {
  SmallVector<DigitsAttr> dims(rank, DigitsAttr::get(context(), {}));
  return MappingAttr::get(context(), dims, kind, getNames(context(), mesh, axes), DictionaryAttr::get(context()));
}

Value Exchange::reduce(ReduceKind kind, Value value, ArrayRef<Axis> axes) {
  if (axes.empty())
    return value;
  ArrayRef<int64_t> shape = net::shapeOf(value);
  unsigned rank = shape.size();
  return convert<AllReduceOp>(value, shape, axes, partial(rank, kind, axes),
                              MappingAttr::getReplicated(context(), rank), shape);
}

Value Exchange::reduceScatter(ReduceKind kind, Value value, int64_t dim, ArrayRef<Axis> axes) {
  if (axes.empty())
    return value;
  SmallVector<int64_t> shape(net::shapeOf(value)), part(shape);
  part[dim] /= mesh.getGroupSize(axes);
  return convert<ReduceScatterOp>(value, part, axes, partial(shape.size(), kind, axes), split(shape.size(), dim, axes),
                                  shape);
}

Value Exchange::gather(Value value, int64_t dim, ArrayRef<Axis> axes) {
  if (axes.empty())
    return value;
  SmallVector<int64_t> whole(net::shapeOf(value));
  whole[dim] *= mesh.getGroupSize(axes);
  return convert<AllGatherOp>(value, whole, axes, split(whole.size(), dim, axes),
                              MappingAttr::getReplicated(context(), whole.size()), whole);
}

Value Exchange::exchange(Value value, int64_t from, int64_t to, Axis axis) {
  SmallVector<int64_t> whole(net::shapeOf(value)), result(whole);
  whole[from] *= mesh.getSize(axis);
  result[from] *= mesh.getSize(axis);
  result[to] /= mesh.getSize(axis);
  return convert<AllToAllOp>(value, result, axis, split(whole.size(), from, axis), split(whole.size(), to, axis),
                             whole);
}

Value Exchange::number(ArrayRef<Axis> axes) {
  Expression expression(conversion);
  net::NetBuilder &build = expression.build;
  auto type = RankedTensorType::get({}, build.builder.getI32Type());
  Value number;
  for (Axis axis : axes) {
    Value coordinate = CoordinateOp::create(build.builder, build.location, type, mesh.getName(axis));
    number = number ? build.add(build.scale(number, static_cast<double>(mesh.getSize(axis))), coordinate) : coordinate;
  }
  return number ? number : build.splat(type, 0);
}

//===----------------------------------------------------------------------===//
// Converters
//===----------------------------------------------------------------------===//

/// Checks a dimension of the operand that the attribute `name` gives.
static FailureOr<int64_t> getDim(importer::Conversion &conversion, StringRef name) {
  FailureOr<int64_t> dim = conversion.getInt(name);
  if (failed(dim))
    return failure();
  if (*dim < 0 || *dim >= conversion.getOperandType(0).getRank())
    return conversion.error() << "has " << *dim << " as \"" << name << "\", but its operand has "
                              << conversion.getOperandType(0).getRank() << " dimensions";
  return *dim;
}

/// Checks that result `index` has the type of its operand with `shape`.
static LogicalResult expectShape(importer::Conversion &conversion, unsigned index, ArrayRef<int64_t> shape) {
  RankedTensorType expected = conversion.getOperandType(index).clone(shape);
  if (conversion.getType(index) == expected)
    return success();
  return conversion.error() << "makes " << conversion.getType(index) << " of " << conversion.getOperandType(index)
                            << ", not " << expected;
}

static Converted convertAllReduce(importer::Conversion &conversion) {
  unsigned count = conversion.getOp()->getNumResults();
  FailureOr<Mesh> mesh = getMesh(conversion);
  if (failed(mesh) || failed(conversion.expect(count, count)))
    return failure();
  Block *body = getBody(conversion, 2 * count, count);
  if (!body)
    return failure();
  FailureOr<SmallVector<ReduceKind>> kinds = getReduceKinds(conversion, *body, "no others");
  FailureOr<Axes> axes = readAxes(conversion, *mesh, /*isOrdered=*/false);
  if (failed(kinds) || failed(axes))
    return failure();
  SmallVector<Value> results;
  for (auto [index, operand] : llvm::enumerate(conversion.getOp()->getOperands())) {
    if (failed(expectShape(conversion, index, conversion.getOperandType(index).getShape())))
      return failure();
    results.push_back(Exchange(conversion, *mesh).reduce((*kinds)[index], operand, *axes));
  }
  return results;
}

static Converted convertReduceScatter(importer::Conversion &conversion) {
  FailureOr<Mesh> mesh = getMesh(conversion);
  if (failed(mesh) || failed(conversion.expect(1)))
    return failure();
  Block *body = getBody(conversion, 2, 1);
  FailureOr<int64_t> dim = getDim(conversion, "scatter_dimension");
  if (!body || failed(dim))
    return failure();
  FailureOr<SmallVector<ReduceKind>> kinds = getReduceKinds(conversion, *body, "no others");
  FailureOr<Axes> axes = readAxes(conversion, *mesh, /*isOrdered=*/true);
  if (failed(kinds) || failed(axes))
    return failure();
  SmallVector<int64_t> part(conversion.getOperandType(0).getShape());
  int64_t members = mesh->getGroupSize(*axes);
  if (part[*dim] % members != 0)
    return conversion.error() << "divides dimension " << *dim << " of size " << part[*dim] << " among " << members
                              << " ranks";
  part[*dim] /= members;
  if (failed(expectShape(conversion, 0, part)))
    return failure();
  return SmallVector<Value>{
      Exchange(conversion, *mesh).reduceScatter(kinds->front(), conversion.getOp()->getOperand(0), *dim, *axes)};
}

static Converted convertAllGather(importer::Conversion &conversion) {
  unsigned count = conversion.getOp()->getNumResults();
  FailureOr<Mesh> mesh = getMesh(conversion);
  if (failed(mesh) || failed(conversion.expect(count, count)))
    return failure();
  SmallVector<Value> results;
  if (count == 0)
    return results;
  FailureOr<int64_t> dim = getDim(conversion, "all_gather_dim");
  FailureOr<Axes> axes = failed(dim) ? FailureOr<Axes>() : readAxes(conversion, *mesh, /*isOrdered=*/true);
  if (failed(axes))
    return failure();
  for (auto [index, operand] : llvm::enumerate(conversion.getOp()->getOperands())) {
    SmallVector<int64_t> whole(conversion.getOperandType(index).getShape());
    if (*dim >= static_cast<int64_t>(whole.size()))
      return conversion.error() << "gathers dimension " << *dim << " of " << conversion.getOperandType(index);
    whole[*dim] *= mesh->getGroupSize(*axes);
    if (failed(expectShape(conversion, index, whole)))
      return failure();
    results.push_back(Exchange(conversion, *mesh).gather(operand, *dim, *axes));
  }
  return results;
}

/// Member i of a group gets part i of every member, and joins them in the order of the members. The parts of a rank get
/// a dimension for each axis, after one that stands for the ranks; axis by axis these exchange their places.
static Value exchangeParts(importer::Conversion &conversion, const Mesh &mesh, Value value, int64_t splitDim,
                           int64_t joinDim, ArrayRef<Axis> axes) {
  SmallVector<int64_t> shape(net::shapeOf(value));
  int64_t count = static_cast<int64_t>(axes.size());
  Expression expression(conversion);
  net::NetBuilder &build = expression.build;
  // [.., n·k, ..] becomes [1 per axis, n per axis, .., k, ..].
  SmallVector<int64_t> sizes = llvm::map_to_vector(axes, [&](Axis axis) { return mesh.getSize(axis); });
  SmallVector<int64_t> divided(shape), order, local(count, 1);
  divided[splitDim] /= mesh.getGroupSize(axes);
  SmallVector<int64_t> part(divided);
  divided.insert(divided.begin() + splitDim, sizes.begin(), sizes.end());
  value = build.reshape(value, divided);
  for (int64_t axis = 0; axis < count; ++axis)
    order.push_back(splitDim + axis);
  for (int64_t dim = 0, rank = static_cast<int64_t>(divided.size()); dim < rank; ++dim)
    if (dim < splitDim || dim >= splitDim + count)
      order.push_back(dim);
  value = build.transpose(value, order);
  local.append(sizes);
  local.append(part);
  value = build.reshape(value, local);
  Exchange exchange(conversion, mesh);
  for (auto [index, axis] : llvm::enumerate(axes))
    value = exchange.exchange(value, index, count + index, axis);
  // [n per axis, 1 per axis, .., k, ..] becomes [.., n·k, ..] along the dimension that is joined.
  SmallVector<int64_t> received(sizes);
  received.append(part);
  value = build.reshape(value, received);
  order.clear();
  for (int64_t dim = 0; dim < static_cast<int64_t>(part.size()); ++dim) {
    if (dim == joinDim)
      llvm::append_range(order, llvm::seq<int64_t>(0, count));
    order.push_back(count + dim);
  }
  value = build.transpose(value, order);
  part[joinDim] *= mesh.getGroupSize(axes);
  return build.reshape(value, part);
}

static Converted convertAllToAll(importer::Conversion &conversion) {
  unsigned count = conversion.getOp()->getNumResults();
  FailureOr<Mesh> mesh = getMesh(conversion);
  if (failed(mesh))
    return failure();
  // A form of several operands sends operand i to member i; exporters do not write it.
  if (count != 1)
    return conversion.error() << "has " << count << " results; one operand that is split is understood";
  if (failed(conversion.expect(1)))
    return failure();
  FailureOr<int64_t> splitDim = getDim(conversion, "split_dimension"), joinDim = getDim(conversion, "concat_dimension");
  FailureOr<int64_t> parts = conversion.getInt("split_count");
  if (failed(splitDim) || failed(joinDim) || failed(parts))
    return failure();
  FailureOr<Axes> axes = readAxes(conversion, *mesh, /*isOrdered=*/true);
  if (failed(axes))
    return failure();
  SmallVector<int64_t> shape(conversion.getOperandType(0).getShape());
  int64_t members = mesh->getGroupSize(*axes);
  if (*parts != members || shape[*splitDim] % members != 0)
    return conversion.error() << "splits dimension " << *splitDim << " of size " << shape[*splitDim] << " into "
                              << *parts << " parts for groups of " << members << " ranks";
  shape[*splitDim] /= members;
  shape[*joinDim] *= members;
  if (failed(expectShape(conversion, 0, shape)))
    return failure();
  Value operand = conversion.getOp()->getOperand(0);
  return SmallVector<Value>{axes->empty() ? operand
                                          : exchangeParts(conversion, *mesh, operand, *splitDim, *joinDim, *axes)};
}

/// Every rank receives the value of rank `sources[rank]`, or zeros where that is none (-1).
static Value receive(importer::Conversion &conversion, const Mesh &mesh, Value value, ArrayRef<int64_t> sources) {
  // Only what ranks along these axes have is gathered.
  Axes axes, all;
  for (Axis axis = 0; axis < mesh.getNumRankAxes(); ++axis) {
    all.push_back(axis);
    for (auto [rank, source] : llvm::enumerate(sources))
      if (source >= 0 && mesh.getCoordinate(source, axis) != mesh.getCoordinate(rank, axis)) {
        axes.push_back(axis);
        break;
      }
  }
  int64_t members = mesh.getGroupSize(axes);
  SmallVector<int32_t> places;
  for (int64_t source : sources) {
    int64_t place = 0;
    for (Axis axis : axes)
      place = place * mesh.getSize(axis) + (source < 0 ? 0 : mesh.getCoordinate(source, axis));
    places.push_back(static_cast<int32_t>(source < 0 ? members : place));
  }
  SmallVector<int64_t> shape(net::shapeOf(value)), box(shape);
  box.insert(box.begin(), 1);
  Exchange exchange(conversion, mesh);
  Value gathered = exchange.gather(conversion.reshape(value, box), 0, axes);
  Value rank = exchange.number(all);
  Expression expression(conversion);
  net::NetBuilder &build = expression.build;
  Type i32 = build.builder.getI32Type();
  auto tableType = RankedTensorType::get(static_cast<int64_t>(places.size()), i32);
  Value table = net::ConstantOp::create(build.builder, build.location, tableType,
                                        DenseElementsAttr::get(tableType, ArrayRef(places)));
  Value place = build.reshape(build.dynamicSlice(table, rank, 1), {});
  Value zero = build.splat(RankedTensorType::get({}, i32), 0);
  SmallVector<Value> starts(box.size(), zero);
  starts[0] = place;
  Value received = build.reshape(build.dynamicSlice(gathered, starts, box), shape);
  if (!llvm::is_contained(sources, -1))
    return received;
  Value limit = build.splat(place.getType(), static_cast<double>(members));
  Value isReceiver = build.broadcast(build.compare(net::CompareDirection::Lt, place, limit), shape);
  return build.select(isReceiver, received, build.splatLike(received, 0));
}

/// Adds that `target` receives what `source` has.
static LogicalResult addPair(importer::Conversion &conversion, const Mesh &mesh, int64_t source, int64_t target,
                             Ranks &sources) {
  int64_t ranks = mesh.getNumRanks();
  for (int64_t rank : {source, target})
    if (rank < 0 || rank >= ranks)
      return conversion.error() << "names rank " << rank << " of " << ranks;
  if (sources[target] >= 0)
    return conversion.error() << "sends to rank " << target << " from ranks " << sources[target] << " and " << source;
  sources[target] = source;
  return success();
}

static Converted convertPermute(importer::Conversion &conversion) {
  FailureOr<Mesh> mesh = getMesh(conversion);
  if (failed(mesh) || failed(conversion.expect(1)) || failed(checkCounts(conversion, *mesh)) ||
      failed(checkChannel(conversion)) || failed(expectShape(conversion, 0, conversion.getOperandType(0).getShape())))
    return failure();
  FailureOr<SmallVector<Ranks>> pairs =
      readLists(conversion, "source_target_pairs", std::max<int64_t>(mesh->getNumRanks(), 2));
  if (failed(pairs))
    return failure();
  Ranks sources(mesh->getNumRanks(), -1), targets(sources);
  for (const Ranks &pair : *pairs) {
    if (pair.size() != 2)
      return conversion.error() << "has lists of " << pair.size() << " ranks, not pairs";
    if (failed(addPair(conversion, *mesh, pair[0], pair[1], sources)))
      return failure();
    if (targets[pair[0]] >= 0)
      return conversion.error() << "sends from rank " << pair[0] << " to ranks " << targets[pair[0]] << " and "
                                << pair[1];
    targets[pair[0]] = pair[1];
  }
  return SmallVector<Value>{receive(conversion, *mesh, conversion.getOp()->getOperand(0), sources)};
}

static Converted convertBroadcast(importer::Conversion &conversion) {
  FailureOr<Mesh> mesh = getMesh(conversion);
  if (failed(mesh) || failed(conversion.expect(1)) || failed(checkCounts(conversion, *mesh)) ||
      failed(checkChannel(conversion)) || failed(expectShape(conversion, 0, conversion.getOperandType(0).getShape())))
    return failure();
  FailureOr<SmallVector<Ranks>> groups = readLists(conversion, "replica_groups", mesh->getNumRanks());
  if (failed(groups))
    return failure();
  Ranks sources(mesh->getNumRanks(), -1);
  for (const Ranks &group : *groups)
    for (int64_t rank : group)
      if (failed(addPair(conversion, *mesh, group.front(), rank, sources)))
        return failure();
  return SmallVector<Value>{receive(conversion, *mesh, conversion.getOp()->getOperand(0), sources)};
}

/// The number of the rank among the ranks that `counts` counts; 0 where the program has others.
static Converted convertNumber(importer::Conversion &conversion, StringRef others) {
  FailureOr<Mesh> mesh = getMesh(conversion);
  if (failed(mesh) || failed(conversion.expect(0)) || failed(checkCounts(conversion, *mesh)))
    return failure();
  if (conversion.getType().getRank() != 0 || !conversion.getType().getElementType().isUnsignedInteger(32))
    return conversion.error() << "makes " << conversion.getType() << ", not tensor<ui32>";
  Axes axes;
  if (getCount(conversion.getOp(), others) == 1)
    axes = llvm::to_vector<2>(llvm::seq<Axis>(0, mesh->getNumRankAxes()));
  Value number = Exchange(conversion, *mesh).number(axes);
  return SmallVector<Value>{Expression(conversion).build.convert(number, conversion.getType().getElementType())};
}

static Converted convertPartition(importer::Conversion &conversion) {
  return convertNumber(conversion, "mhlo.num_replicas");
}

static Converted convertReplica(importer::Conversion &conversion) {
  return convertNumber(conversion, "mhlo.num_partitions");
}

void importer::addCollectives(ConverterMap &converters) {
  converters["stablehlo.all_reduce"] = convertAllReduce;
  converters["stablehlo.reduce_scatter"] = convertReduceScatter;
  converters["stablehlo.all_gather"] = convertAllGather;
  converters["stablehlo.all_to_all"] = convertAllToAll;
  converters["stablehlo.collective_permute"] = convertPermute;
  converters["stablehlo.collective_broadcast"] = convertBroadcast;
  converters["stablehlo.partition_id"] = convertPartition;
  converters["stablehlo.replica_id"] = convertReplica;
}
