//===- BatchParts.cpp - computations per rank on batches of parts ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Afterwards the graph is serial: nothing in it is computed per rank. A value that differs along axes of the mesh gets
// a dimension of its own for each of them, before all others and in the order of the mesh, and every operation is done
// for all of them at once (`net::BatchOpInterface`). A collective then moves nothing between ranks: what it exchanges
// is reduced, transposed or reshaped along these dimensions. `given.constrain` splits each over its axis wherever parts
// are taken, so that Complete finds the collectives that were there.
//
// This is JAX's vmap over the axes of the mesh; values that are known to be the same along an axis have no dimension
// for it.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/Dist/Manual.h"
#include "dialects/Given/Given.h"
#include "dialects/Net/Batch.h"
#include "dialects/Net/Loops.h"
#include "meshwright/Import/Passes.h"
#include "meshwright/StableHLO/Graph.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::importer;

namespace meshwright::importer {
#define GEN_PASS_DEF_BATCHPARTSPASS
#include "meshwright/Import/Passes.h.inc"
} // namespace meshwright::importer

using Axes = SmallVector<Axis>;

namespace {

/// A value with a dimension for each of `axes`, which are in the order of the mesh, before its own.
struct Parts {
  Value value;
  Axes axes;
};

/// The axes along which each value differs from rank to rank.
class Variation {
public:
  Variation(const Mesh &mesh, Block &block);

  Axes get(Value value) const;

private:
  llvm::SmallBitVector find(Operation *op) const;
  llvm::SmallBitVector lookup(Value value) const {
    auto found = sets.find(value);
    return found == sets.end() ? llvm::SmallBitVector(mesh.getNumAxes()) : found->second;
  }

  const Mesh &mesh;
  llvm::DenseMap<Value, llvm::SmallBitVector> sets;
};

/// Rewrites the operations of a block.
class Batcher {
public:
  Batcher(const Mesh &mesh, Block &block, bool constrains)
      : mesh(mesh), block(block), variation(mesh, block), constrains(constrains) {}

  LogicalResult run();

private:
  LogicalResult visit(Operation *op, OpBuilder &builder);
  FailureOr<Parts> enter(ToLocalOp op, OpBuilder &builder);
  Parts leave(ToGlobalOp op, OpBuilder &builder);
  Parts exchange(ConversionOpInterface op, OpBuilder &builder);
  Parts count(CoordinateOp op, OpBuilder &builder);

  Parts lookup(Value value) const { return {values.lookup_or(value, value), variation.get(value)}; }
  Parts spread(net::NetBuilder &build, const Parts &parts, ArrayRef<Axis> axes) const;
  Parts join(net::NetBuilder &build, const Parts &parts, MappingAttr mapping) const;
  Parts split(net::NetBuilder &build, const Parts &whole, MappingAttr mapping) const;
  Parts constrain(net::NetBuilder &build, const Parts &parts, ArrayRef<Axis> whole = {}) const;

  const Mesh &mesh;
  Block &block;
  Variation variation;
  /// True if the module has a mesh to constrain values to.
  bool constrains;
  /// The parts of values that differ.
  llvm::DenseMap<Value, Value> values;
};

} // namespace

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

/// The axes that split each dimension.
static SmallVector<Axes> getSplits(const Mesh &mesh, MappingAttr mapping) {
  SmallVector<Axes> dims;
  for (DigitsAttr digits : mapping.getDims()) {
    dims.emplace_back();
    for (DigitAttr digit : digits)
      dims.back().push_back(*mesh.find(digit.getAxis().getValue()));
  }
  return dims;
}

static Axes getNamed(const Mesh &mesh, ArrayAttr names) {
  return llvm::map_to_vector(names.getAsRange<StringAttr>(),
                             [&](StringAttr name) { return *mesh.find(name.getValue()); });
}

/// The union of two sets of axes, in the order of the mesh.
static Axes unite(ArrayRef<Axis> some, ArrayRef<Axis> others) {
  Axes all(some);
  llvm::append_range(all, others);
  llvm::sort(all);
  all.erase(llvm::unique(all), all.end());
  return all;
}

static Axes subtract(ArrayRef<Axis> axes, ArrayRef<Axis> others) {
  return llvm::filter_to_vector<2>(axes, [&](Axis axis) { return !llvm::is_contained(others, axis); });
}

static Axes flatten(ArrayRef<Axes> dims) {
  Axes all;
  for (ArrayRef<Axis> dim : dims)
    llvm::append_range(all, dim);
  return all;
}

Variation::Variation(const Mesh &mesh, Block &block) : mesh(mesh) {
  SmallVector<Operation *, 0> work;
  llvm::DenseSet<Operation *> waiting;
  auto push = [&](Operation *op) {
    if (waiting.insert(op).second)
      work.push_back(op);
  };
  for (Operation &op : block)
    if (isa<ToLocalOp, CoordinateOp, ConversionOpInterface>(op))
      push(&op);
  // Sets only grow, so an operation is visited as often as its operands have axes at most.
  for (size_t next = 0; next < work.size(); ++next) {
    Operation *op = work[next];
    waiting.erase(op);
    llvm::SmallBitVector found = find(op);
    bool grew = false;
    for (Value result : op->getResults()) {
      llvm::SmallBitVector &known = sets.try_emplace(result, mesh.getNumAxes()).first->second;
      grew |= found.test(known);
      known |= found;
    }
    if (!grew)
      continue;
    for (Operation *user : op->getUsers())
      push(user);
    if (auto step = dyn_cast<net::NextOp>(op))
      push(step.getCarry().getDefiningOp());
  }
}

/// The axes along which the results of `op` differ, by what is known of its operands.
llvm::SmallBitVector Variation::find(Operation *op) const {
  llvm::SmallBitVector axes(mesh.getNumAxes());
  auto setAll = [&](ArrayRef<Axis> list) {
    for (Axis axis : list)
      axes.set(axis);
  };
  for (Value operand : op->getOperands())
    axes |= lookup(operand);
  if (auto entry = dyn_cast<ToLocalOp>(op)) {
    setAll(flatten(getSplits(mesh, entry.getMapping())));
  } else if (auto exit = dyn_cast<ToGlobalOp>(op)) {
    for (Axis axis : getNamed(mesh, exit.getAxes()))
      axes.reset(axis);
  } else if (auto coordinate = dyn_cast<CoordinateOp>(op)) {
    axes.set(*mesh.find(coordinate.getAxis()));
  } else if (auto conversion = dyn_cast<ConversionOpInterface>(op)) {
    for (Axis axis : getNamed(mesh, conversion.getAxes()))
      axes.reset(axis);
    setAll(flatten(getSplits(mesh, conversion.getTo())));
  } else if (auto carry = dyn_cast<net::CarryOp>(op)) {
    // The next iteration's value comes to the carry, and from there to `net.next` itself.
    axes |= lookup(net::getNext(carry).getValue());
  }
  return axes;
}

Axes Variation::get(Value value) const {
  // The loop below does not keep a temporary alive.
  llvm::SmallBitVector found = lookup(value);
  Axes axes;
  for (unsigned axis : found.set_bits())
    axes.push_back(axis);
  return axes;
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// Repeats parts along those of `axes` along which they do not differ.
Parts Batcher::spread(net::NetBuilder &build, const Parts &parts, ArrayRef<Axis> axes) const {
  Axes all = unite(parts.axes, axes);
  SmallVector<int64_t> shape, dims;
  for (auto [dim, axis] : llvm::enumerate(all)) {
    shape.push_back(mesh.getSize(axis));
    if (llvm::is_contained(parts.axes, axis))
      dims.push_back(static_cast<int64_t>(dim));
  }
  for (int64_t size : net::shapeOf(parts.value).drop_front(parts.axes.size())) {
    dims.push_back(static_cast<int64_t>(shape.size()));
    shape.push_back(size);
  }
  return {build.broadcast(parts.value, shape, dims), all};
}

/// The whole value of which these are the parts by `mapping`, which may reduce sums too. Dimensions of axes that the
/// mapping does not name stay.
Parts Batcher::join(net::NetBuilder &build, const Parts &parts, MappingAttr mapping) const {
  SmallVector<Axes> splits = getSplits(mesh, mapping);
  Axes joined = flatten(splits), partial = getNamed(mesh, mapping.getPartialAxes());
  Parts all = spread(build, parts, unite(joined, partial));
  auto find = [&](Axis axis) { return llvm::find(all.axes, axis) - all.axes.begin(); };
  if (!partial.empty()) {
    SmallVector<int64_t> dims;
    for (Axis axis : unite(partial, {}))
      dims.push_back(find(axis));
    all = {build.reduce(mapping.getPartialKind(), all.value, dims), subtract(all.axes, partial)};
  }
  Axes rest = subtract(all.axes, joined);
  SmallVector<int64_t> order, shape;
  for (Axis axis : rest) {
    order.push_back(find(axis));
    shape.push_back(mesh.getSize(axis));
  }
  for (auto [dim, size] : llvm::enumerate(net::shapeOf(all.value).drop_front(all.axes.size()))) {
    shape.push_back(size * mesh.getGroupSize(splits[dim]));
    for (Axis axis : splits[dim])
      order.push_back(find(axis));
    order.push_back(static_cast<int64_t>(all.axes.size() + dim));
  }
  return {build.reshape(build.transpose(all.value, order), shape), rest};
}

/// The parts of a whole value by `mapping`, which splits it along other axes than those of its dimensions.
Parts Batcher::split(net::NetBuilder &build, const Parts &whole, MappingAttr mapping) const {
  SmallVector<Axes> splits = getSplits(mesh, mapping);
  Axes all = unite(whole.axes, flatten(splits));
  SmallVector<int64_t> shape, order(all.size());
  auto place = [&](Axis axis) {
    order[llvm::find(all, axis) - all.begin()] = static_cast<int64_t>(shape.size());
    shape.push_back(mesh.getSize(axis));
  };
  llvm::for_each(whole.axes, place);
  for (auto [dim, size] : llvm::enumerate(net::shapeOf(whole.value).drop_front(whole.axes.size()))) {
    llvm::for_each(splits[dim], place);
    order.push_back(static_cast<int64_t>(shape.size()));
    shape.push_back(size / mesh.getGroupSize(splits[dim]));
  }
  return {build.transpose(build.reshape(whole.value, shape), order), all};
}

/// Splits the dimension of every axis over this axis, and none over `whole`. Other axes may split what the rank has.
Parts Batcher::constrain(net::NetBuilder &build, const Parts &parts, ArrayRef<Axis> whole) const {
  if (!constrains || (parts.axes.empty() && whole.empty()))
    return parts;
  Builder &builder = build.builder;
  auto getNames = [&](ArrayRef<Axis> axes) {
    return builder.getStrArrayAttr(llvm::map_to_vector(axes, [&](Axis axis) { return StringRef(mesh.getName(axis)); }));
  };
  unsigned rank = net::typeOf(parts.value).getRank();
  SmallVector<Attribute> dims(rank, builder.getArrayAttr({}));
  SmallVector<bool> open(rank, true);
  for (auto [dim, axis] : llvm::enumerate(parts.axes)) {
    dims[dim] = getNames(axis);
    open[dim] = false;
  }
  auto sharding = given::ShardingAttr::get(
      builder.getContext(), builder.getArrayAttr(dims), builder.getDenseBoolArrayAttr(open),
      builder.getDenseI64ArrayAttr(SmallVector<int64_t>(rank, 0)), getNames(whole), builder.getArrayAttr({}));
  return {given::ConstrainOp::create(build.builder, build.location, parts.value.getType(), parts.value, sharding,
                                     IntegerAttr()),
          parts.axes};
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

FailureOr<Parts> Batcher::enter(ToLocalOp op, OpBuilder &builder) {
  // Within another computation per rank the value may be one of its parts, along other axes.
  Parts whole = lookup(op.getInput());
  for (Axis axis : flatten(getSplits(mesh, op.getMapping())))
    if (llvm::is_contained(whole.axes, axis))
      return op.emitError() << "a computation per rank takes parts along axis \"" << mesh.getName(axis)
                            << "\" of a value that is a part along this axis already; an inner computation has axes "
                               "that the outer one has not";
  net::NetBuilder build(builder, op.getLoc());
  return constrain(build, split(build, whole, op.getMapping()));
}

/// The graph promises that ranks along axes which the mapping does not name have the same; the first is taken.
Parts Batcher::leave(ToGlobalOp op, OpBuilder &builder) {
  net::NetBuilder build(builder, op.getLoc());
  Parts parts = lookup(op.getInput());
  Axes dropped = subtract(getNamed(mesh, op.getAxes()), flatten(getSplits(mesh, op.getMapping())));
  ArrayRef<int64_t> sizes = net::shapeOf(parts.value);
  SmallVector<int64_t> starts(sizes.size(), 0), limits(sizes), steps(sizes.size(), 1), shape;
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    if (dim < parts.axes.size() && llvm::is_contained(dropped, parts.axes[dim]))
      limits[dim] = 1;
    else
      shape.push_back(size);
  }
  Value first = build.reshape(build.slice(parts.value, starts, limits, steps), shape);
  Axes named = flatten(getSplits(mesh, op.getMapping()));
  return join(build, constrain(build, spread(build, {first, subtract(parts.axes, dropped)}, named)), op.getMapping());
}

Parts Batcher::exchange(ConversionOpInterface op, OpBuilder &builder) {
  net::NetBuilder build(builder, op.getLoc());
  Parts made = split(build, join(build, lookup(op.getInput()), op.getFrom()), op.getTo());
  // Along other axes of the collective every rank has the result.
  return constrain(build, made, subtract(unite(getNamed(mesh, op.getAxes()), {}), made.axes));
}

Parts Batcher::count(CoordinateOp op, OpBuilder &builder) {
  net::NetBuilder build(builder, op.getLoc());
  Axis axis = *mesh.find(op.getAxis());
  return constrain(build, {build.iota(builder.getI32Type(), {mesh.getSize(axis)}, 0), {axis}});
}

LogicalResult Batcher::visit(Operation *op, OpBuilder &builder) {
  FailureOr<Parts> made = failure();
  if (auto entry = dyn_cast<ToLocalOp>(op))
    made = enter(entry, builder);
  else if (auto exit = dyn_cast<ToGlobalOp>(op))
    made = leave(exit, builder);
  else if (auto conversion = dyn_cast<ConversionOpInterface>(op))
    made = exchange(conversion, builder);
  else
    made = count(cast<CoordinateOp>(op), builder);
  if (failed(made))
    return failure();
  // Operations that stay may read a value that differs nowhere.
  if (made->axes.empty())
    op->getResult(0).replaceAllUsesWith(made->value);
  else
    values[op->getResult(0)] = made->value;
  return success();
}

namespace {

/// Gives operations the scope and role of the one that they replace.
struct Companions : OpBuilder::Listener {
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override { addAttributes(op, attributes); }
  DictionaryAttr attributes;
};

} // namespace

LogicalResult Batcher::run() {
  Companions companions;
  OpBuilder builder(block.getParentOp()->getContext(), &companions);
  SmallVector<Operation *, 0> replaced;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    bool isBoundary = isa<ToLocalOp, ToGlobalOp, ConversionOpInterface, CoordinateOp>(op);
    Axes axes = op.getNumResults() > 0 ? variation.get(op.getResult(0)) : Axes();
    if (!isBoundary && axes.empty())
      continue;
    builder.setInsertionPoint(&op);
    companions.attributes = getInherited(&op, Inherit::Companion);
    replaced.push_back(&op);
    if (isBoundary) {
      if (failed(visit(&op, builder)))
        return failure();
      continue;
    }
    SmallVector<net::BatchOperand> operands;
    for (Value value : op.getOperands()) {
      Parts parts = lookup(value);
      net::BatchOperand &operand = operands.emplace_back(net::BatchOperand{parts.value, {}});
      for (Axis axis : parts.axes)
        operand.dims.push_back(llvm::find(axes, axis) - axes.begin());
    }
    SmallVector<int64_t> sizes = llvm::map_to_vector(axes, [&](Axis axis) { return mesh.getSize(axis); });
    net::Batch batch(builder, &op, sizes, operands);
    FailureOr<SmallVector<Value>> results = net::batchOperation(&op, batch);
    if (failed(results))
      return failure();
    for (auto [old, made] : llvm::zip_equal(op.getResults(), *results))
      values[old] = made;
  }
  for (Operation *op : llvm::reverse(replaced)) {
    op->dropAllUses();
    op->erase();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Checks that a mapping splits dimensions over axes alone, and evenly, as importers write it.
static LogicalResult checkMapping(Operation *op, MappingAttr mapping) {
  for (DigitsAttr digits : mapping.getDims())
    for (DigitAttr digit : digits)
      if (digit.isPlain() || digit.getSize())
        return op->emitError() << op->getName() << " has the mapping " << mapping
                               << ", but only dimensions that axes divide evenly have a form for all ranks";
  return success();
}

static LogicalResult checkMappings(Operation *op) {
  if (auto entry = dyn_cast<ToLocalOp>(op))
    return checkMapping(op, entry.getMapping());
  if (auto exit = dyn_cast<ToGlobalOp>(op))
    return checkMapping(op, exit.getMapping());
  if (auto conversion = dyn_cast<ConversionOpInterface>(op))
    return success(succeeded(checkMapping(op, conversion.getFrom())) &&
                   succeeded(checkMapping(op, conversion.getTo())));
  return success();
}

namespace {

struct BatchParts : importer::impl::BatchPartsPassBase<BatchParts> {
  void runOnOperation() override {
    MeshOp meshOp = findMesh(getOperation());
    if (!meshOp)
      return;
    Mesh mesh = meshOp.getMesh();
    bool constrains = static_cast<bool>(given::kMeshAttr.get(getOperation()));
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isDeclaration()) {
        Block &block = func.getBody().front();
        if (llvm::any_of(block, [](Operation &op) { return failed(checkMappings(&op)); }) ||
            failed(Batcher(mesh, block, constrains).run()))
          return signalPassFailure();
      }
    meshOp.erase();
  }
};

} // namespace
