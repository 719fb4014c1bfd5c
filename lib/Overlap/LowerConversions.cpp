//===- LowerConversions.cpp - makes collectives contiguous ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A digit that is split over an axis of n ranks sees its dimension as outer × n × inner. Bringing n to the front, which
// is a reshape and a transposition, makes the parts of the ranks contiguous; a collective then moves whole parts, and
// the way back is the same backwards. Uneven parts are padded to the largest.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Conversions.h"
#include "dialects/Dist/Regrouping.h"
#include "dialects/Dist/Support.h"
#include "dialects/Dist/Times.h"
#include "dialects/Net/Net.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/Overlap/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/TypeSwitch.h"

namespace meshwright::schedule {
#define GEN_PASS_DEF_LOWERCONVERSIONSPASS
#include "meshwright/Overlap/Passes.h.inc"
} // namespace meshwright::schedule

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using net::typeOf;
using Shape = llvm::SmallVector<int64_t>;

namespace {

/// The place of one axis in a dimension of what a rank holds: outer × n × inner, of which the first `extent` of n ×
/// inner count.
struct Digit {
  unsigned dim;
  int64_t outer, n, inner, extent;
};

/// Rewrites one conversion.
class Lowering {
public:
  Lowering(Operation *op, const Mesh &mesh) : builder(op->getLoc(), op), mesh(mesh) {}

  Value lower(ConversionOpInterface op, const Conversion &conversion);
  Value lowerMask(MaskOp op, const Placement &placement);

private:
  // One for each operation of Collectives.def, and for the local conversions.
  Value expand(AllReduceOp op, const Conversion &conversion);
  Value expand(AllGatherOp op, const Conversion &conversion);
  Value expand(ReduceScatterOp op, const Conversion &conversion);
  Value expand(AllToAllOp op, const Conversion &conversion);
  Value regroup(AllToAllOp op, const Conversion &conversion, const Regrouping &regrouping);
  Value expand(HolderBroadcastOp op, const Conversion &conversion);
  Value expand(HolderReduceOp op, const Conversion &conversion);
  Value expand(SendOp op, const Conversion &conversion);
  Value expand(ShardOp op, const Conversion &conversion);
  Value expand(ToPartialOp op, const Conversion &conversion);
  Value rooted(CollectiveKind kind, ConversionOpInterface op, const Conversion &conversion, const Placement &held);
  Value isInside(MaskOp op, unsigned dim, ArrayRef<Split> splits, ValueRange coordinates);

  Digit getDigit(const Placement &placement, Axis axis);
  Value splitOff(Value value, const Digit &digit, unsigned lead);
  Value mergeIn(Value value, const Digit &digit, unsigned lead);
  Value collective(CollectiveKind kind, ReduceKind reduction, Value input, ArrayRef<Axis> axes, Shape shape,
                   Operation *from);
  Value reshape(Value value, Shape shape);
  Value transpose(Value value, Shape permutation);
  Value broadcast(Value value, Shape dims, Shape shape);
  Value number(Type element, int64_t value, Shape shape);
  Value getRow(ArrayRef<int32_t> table, Value coordinate, int64_t n);
  Value take(Value value, unsigned dim, Value indices);

  ImplicitLocOpBuilder builder;
  const Mesh &mesh;
};

} // namespace

Value Lowering::reshape(Value value, Shape shape) {
  if (typeOf(value).getShape() == ArrayRef(shape))
    return value;
  return net::ReshapeOp::create(builder, typeOf(value).clone(shape), value);
}

Value Lowering::transpose(Value value, Shape permutation) {
  Shape shape, moved;
  for (int64_t dim : permutation) {
    shape.push_back(typeOf(value).getDimSize(dim));
    if (shape.back() != 1)
      moved.push_back(dim);
  }
  // If only dimensions of size one move, the elements keep their order and a reshape is enough.
  if (llvm::is_sorted(moved))
    return reshape(value, shape);
  return net::TransposeOp::create(builder, typeOf(value).clone(shape), value, permutation);
}

Value Lowering::broadcast(Value value, Shape dims, Shape shape) {
  return net::BroadcastOp::create(builder, typeOf(value).clone(shape), value, dims);
}

Value Lowering::number(Type element, int64_t value, Shape shape) {
  auto type = RankedTensorType::get(shape, element);
  return net::ConstantOp::create(builder, type, DenseElementsAttr::get(type, builder.getIntegerAttr(element, value)));
}

/// The elements that a rank holds of `extent` indices that `splits` split, major to minor.
static int64_t countLocal(int64_t extent, ArrayRef<Split> splits) {
  if (splits.empty())
    return extent;
  return extent / std::max<int64_t>(splits[0].extent, 1) * countLocal(splits[0].stride, splits.drop_front());
}

Digit Lowering::getDigit(const Placement &placement, Axis axis) {
  auto [dim, split] = *placement.findSplit(axis);
  ArrayRef<Split> splits = placement.dims[dim];
  const Split *here = llvm::find(splits, split);
  ArrayRef<Split> minor = splits.drop_front(here - splits.begin() + 1);
  int64_t outer = 1, before = -1;
  for (const Split *major = splits.begin(); major != here; ++major) {
    if (before >= 0)
      outer *= before / std::max<int64_t>(major->extent, 1);
    before = major->stride;
  }
  Digit digit{dim, outer, mesh.getSize(axis), countLocal(split.stride, minor), 0};
  digit.extent = minor.empty() ? split.extent : std::min(digit.n * digit.inner, countLocal(split.extent, minor));
  return digit;
}

/// Takes the part of dimension n out of `value`, whose dimensions start after `lead` others, and makes it the first.
Value Lowering::splitOff(Value value, const Digit &digit, unsigned lead) {
  Shape shape(typeOf(value).getShape()), order;
  unsigned dim = lead + digit.dim;
  int64_t outer = shape[dim] / std::max<int64_t>(digit.extent, 1), full = digit.n * digit.inner;
  Shape final = shape;
  final[dim] = outer * digit.inner;
  final.insert(final.begin(), digit.n);
  shape[dim] = digit.extent;
  shape.insert(shape.begin() + dim, outer);
  value = reshape(value, shape);
  if (full != digit.extent) {
    Shape none(shape.size(), 0), high(none);
    high[dim + 1] = full - digit.extent;
    shape[dim + 1] = full;
    Type element = typeOf(value).getElementType();
    auto scalar = RankedTensorType::get({}, element);
    Value zero = net::ConstantOp::create(builder, scalar, cast<ElementsAttr>(builder.getZeroAttr(scalar)));
    value = net::PadOp::create(builder, typeOf(value).clone(shape), value, zero, none, high, none);
  }
  shape[dim + 1] = digit.n;
  shape.insert(shape.begin() + dim + 2, digit.inner);
  value = reshape(value, shape);
  order.push_back(dim + 1);
  for (int64_t other = 0; other < static_cast<int64_t>(shape.size()); ++other)
    if (other != dim + 1)
      order.push_back(other);
  return reshape(transpose(value, order), final);
}

/// Puts the first dimension of `value` into its place; `lead` dimensions stand before the value's own after it.
Value Lowering::mergeIn(Value value, const Digit &digit, unsigned lead) {
  Shape shape(typeOf(value).getShape()), order;
  unsigned dim = 1 + lead + digit.dim;
  int64_t outer = shape[dim] / std::max<int64_t>(digit.inner, 1);
  Shape final(shape.begin() + 1, shape.end());
  shape[dim] = digit.inner;
  shape.insert(shape.begin() + dim, outer);
  value = reshape(value, shape);
  for (int64_t other = 1; other < static_cast<int64_t>(shape.size()); ++other) {
    order.push_back(other);
    if (other == dim)
      order.push_back(0);
  }
  value = transpose(value, order);
  Shape merged = final;
  merged[dim - 1] = digit.n * digit.inner;
  merged.insert(merged.begin() + dim - 1, outer);
  value = reshape(value, merged);
  if (merged[dim] != digit.extent) {
    Shape starts(merged.size(), 0), steps(merged.size(), 1), limits(merged);
    limits[dim] = digit.extent;
    value = net::SliceOp::create(builder, typeOf(value).clone(limits), value, starts, limits, steps);
  }
  final[dim - 1] = outer * digit.extent;
  return reshape(value, final);
}

Value Lowering::collective(CollectiveKind kind, ReduceKind reduction, Value input, ArrayRef<Axis> axes, Shape shape,
                           Operation *from) {
  SmallVector<StringRef> names;
  for (Axis axis : axes)
    names.push_back(mesh.getName(axis));
  auto op = CollectiveOp::create(builder, Type(typeOf(input).clone(shape)), kind, reduction, input, DenseI64ArrayAttr(),
                                 DenseI64ArrayAttr(), IntegerAttr(), builder.getStrArrayAttr(names));
  inherit(op, from, Inherit::Replacement);
  return op.getResult(0);
}

/// The number of digits of its dimension before that of `axis`. Strides cannot tell: those of a digit and of one that
/// splits a single part further may be equal.
static size_t getLevel(const Placement &placement, Axis axis) {
  auto [dim, split] = *placement.findSplit(axis);
  ArrayRef<Split> splits = placement.dims[dim];
  return llvm::find(splits, split) - splits.begin();
}

/// The axes as the group counts its members, and their sizes.
static SmallVector<Axis> sortAxes(ArrayRef<Axis> axes) {
  SmallVector<Axis> sorted(axes);
  llvm::sort(sorted);
  return sorted;
}

Value Lowering::expand(AllGatherOp op, const Conversion &conversion) {
  SmallVector<Axis> axes = sortAxes(conversion.axes);
  Shape shape(typeOf(op.getInput()).getShape());
  for (Axis axis : llvm::reverse(axes))
    shape.insert(shape.begin(), mesh.getSize(axis));
  Value value = collective(CollectiveKind::AllGather, ReduceKind::Sum, op.getInput(), axes, shape, op);
  // The last axis first would be in the middle: every axis is brought to the front before it goes to its place. Minor
  // digits go before major ones, whose parts they make whole.
  Placement placement = conversion.from;
  SmallVector<Axis> waiting = axes;
  while (!waiting.empty()) {
    const Axis *minor = llvm::max_element(
        waiting, [&](Axis left, Axis right) { return getLevel(placement, left) < getLevel(placement, right); });
    unsigned position = minor - waiting.begin();
    Shape order = {position};
    for (int64_t dim = 0; dim < typeOf(value).getRank(); ++dim)
      if (dim != position)
        order.push_back(dim);
    Digit digit = getDigit(placement, *minor);
    placement.erase(*minor);
    waiting.erase(waiting.begin() + position);
    value = mergeIn(transpose(value, order), digit, waiting.size());
  }
  return value;
}

Value Lowering::expand(AllReduceOp op, const Conversion &conversion) {
  return collective(CollectiveKind::AllReduce, conversion.from.partialKind, op.getInput(), sortAxes(conversion.axes),
                    Shape(typeOf(op.getInput()).getShape()), op);
}

Value Lowering::expand(ReduceScatterOp op, const Conversion &conversion) {
  SmallVector<Axis> axes = sortAxes(conversion.axes);
  // Major digits are taken out first; in the end the first axis has to be the outermost.
  SmallVector<Axis> order = axes;
  llvm::stable_sort(
      order, [&](Axis left, Axis right) { return getLevel(conversion.to, left) < getLevel(conversion.to, right); });
  Value value = op.getInput();
  Placement placement = conversion.to;
  for (Axis axis : order)
    placement.erase(axis);
  SmallVector<Axis> taken;
  for (Axis axis : order) {
    placement.insert(conversion.to.findSplit(axis)->first, conversion.to.findSplit(axis)->second);
    value = splitOff(value, getDigit(placement, axis), taken.size());
    taken.insert(taken.begin(), axis);
  }
  Shape permutation;
  for (Axis axis : axes)
    permutation.push_back(llvm::find(taken, axis) - taken.begin());
  for (int64_t dim = axes.size(); dim < typeOf(value).getRank(); ++dim)
    permutation.push_back(dim);
  value = transpose(value, permutation);
  Shape shape(typeOf(value).getShape().drop_front(axes.size()));
  return collective(CollectiveKind::ReduceScatter, conversion.from.partialKind, value, axes, shape, op);
}

/// Row number `coordinate` of a table with `n` rows.
Value Lowering::getRow(ArrayRef<int32_t> table, Value coordinate, int64_t n) {
  auto type = RankedTensorType::get({n, static_cast<int64_t>(table.size()) / n}, builder.getI32Type());
  Value all = net::ConstantOp::create(builder, type, DenseIntElementsAttr::get(type, table));
  auto dims = net::GatherDimsAttr::get(builder.getContext(), {0}, {0}, {}, {}, {0}, 0);
  return net::GatherOp::create(builder, type.clone({type.getDimSize(1)}), all, reshape(coordinate, {1}), dims,
                               ArrayRef<int64_t>{1, type.getDimSize(1)});
}

/// The elements of `value` at `indices` along `dim`.
Value Lowering::take(Value value, unsigned dim, Value indices) {
  Shape sizes(typeOf(value).getShape()), shape(sizes), offsets;
  int64_t count = typeOf(indices).getDimSize(0);
  sizes[dim] = 1;
  shape[dim] = count;
  for (int64_t other = 0; other < typeOf(value).getRank(); ++other)
    if (other != dim)
      offsets.push_back(other);
  auto dims = net::GatherDimsAttr::get(builder.getContext(), offsets, {dim}, {}, {}, {dim}, 1);
  return net::GatherOp::create(builder, typeOf(value).clone(shape), value, reshape(indices, {count, 1}), dims, sizes);
}

/// An exchange of units along one dimension. A rank takes those that it sends, by a table with a row for each rank; the
/// units that it keeps, followed by those that it receives, are brought into the order of its new part by another one.
Value Lowering::regroup(AllToAllOp op, const Conversion &conversion, const Regrouping &regrouping) {
  Axis axis = conversion.axes.front();
  int64_t dim = conversion.from.findSplit(axis)->first;
  Value coordinate = getCoordinate(builder.getStringAttr(mesh.getName(axis)), op);
  Shape local(typeOf(op.getInput()).getShape()), shape(local);
  shape[dim] = local[dim] / regrouping.numUnits;
  shape.insert(shape.begin() + dim, regrouping.numUnits);
  Shape toFront = {dim};
  for (int64_t other = 0; other < static_cast<int64_t>(shape.size()); ++other)
    if (other != dim)
      toFront.push_back(other);
  Value kept = transpose(reshape(op.getInput(), shape), toFront);
  Value sent = take(kept, 0, getRow(regrouping.sent, coordinate, regrouping.n));
  Shape units(typeOf(sent).getShape()), pieces(units);
  pieces[0] = regrouping.slots;
  pieces.insert(pieces.begin(), regrouping.n);
  Value received = collective(CollectiveKind::AllToAll, ReduceKind::Sum, reshape(sent, pieces), axis, pieces, op);
  Shape joined(units);
  joined[0] += regrouping.numUnits;
  Value all =
      net::ConcatenateOp::create(builder, typeOf(kept).clone(joined), ValueRange{kept, reshape(received, units)}, 0);
  Value taken = take(all, 0, getRow(regrouping.taken, coordinate, regrouping.n));
  Shape back;
  for (int64_t other = 1; other <= dim; ++other)
    back.push_back(other);
  back.push_back(0);
  for (int64_t other = dim + 1; other < static_cast<int64_t>(shape.size()); ++other)
    back.push_back(other);
  return reshape(transpose(taken, back), local);
}

Value Lowering::expand(AllToAllOp op, const Conversion &conversion) {
  Axis axis = conversion.axes.front();
  unsigned dim = conversion.from.findSplit(axis)->first;
  if (dim == conversion.to.findSplit(axis)->first)
    return regroup(op, conversion,
                   *Regrouping::find(conversion.shape[dim], conversion.from.dims[dim], conversion.to.dims[dim], axis,
                                     mesh.getSize(axis)));
  Digit to = getDigit(conversion.to, axis), from = getDigit(conversion.from, axis);
  Value value = splitOff(op.getInput(), to, 0);
  value = collective(CollectiveKind::AllToAll, ReduceKind::Sum, value, axis, Shape(typeOf(value).getShape()), op);
  return mergeIn(value, from, 0);
}

Value Lowering::expand(ShardOp op, const Conversion &conversion) {
  // Each part of a splat is one.
  if (auto constant = op.getInput().getDefiningOp<net::ConstantOp>())
    if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
      return net::ConstantOp::create(builder, op.getType(), splat.resizeSplat(cast<ShapedType>(op.getType())));
  Digit digit = getDigit(conversion.to, conversion.axes.front());
  Value parts = splitOff(op.getInput(), digit, 0);
  Shape shape(typeOf(parts).getShape().drop_front()), sizes(typeOf(parts).getShape()), offsets;
  sizes[0] = 1;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    offsets.push_back(dim);
  Value index = reshape(op.getCoordinates().front(), {1});
  auto dims = net::GatherDimsAttr::get(builder.getContext(), offsets, {0}, {}, {}, {0}, 0);
  return net::GatherOp::create(builder, typeOf(parts).clone(shape), parts, index, dims, sizes);
}

/// An exchange whose root is the rank that holds the value in `held`.
Value Lowering::rooted(CollectiveKind kind, ConversionOpInterface op, const Conversion &conversion,
                       const Placement &held) {
  SmallVector<Axis> axes = sortAxes(conversion.axes);
  int64_t root = 0;
  for (Axis axis : axes)
    root = root * mesh.getSize(axis) + *held.getHolder(axis);
  Value result =
      collective(kind, conversion.from.partialKind, op.getInput(), axes, Shape(typeOf(op.getInput()).getShape()), op);
  result.getDefiningOp<CollectiveOp>().setRoots(root);
  return result;
}

Value Lowering::expand(HolderBroadcastOp op, const Conversion &conversion) {
  return rooted(CollectiveKind::Broadcast, op, conversion, conversion.from);
}

Value Lowering::expand(HolderReduceOp op, const Conversion &conversion) {
  return rooted(CollectiveKind::Reduce, op, conversion, conversion.to);
}

Value Lowering::expand(SendOp op, const Conversion &conversion) {
  Value result = rooted(CollectiveKind::Send, op, conversion, conversion.from);
  result.getDefiningOp<CollectiveOp>().setTo(*conversion.to.getHolder(conversion.axes.front()));
  return result;
}

Value Lowering::expand(ToPartialOp op, const Conversion &conversion) {
  Shape shape(typeOf(op.getInput()).getShape());
  TypedAttr neutral = getNeutralElement(conversion.to.partialKind, typeOf(op.getInput()).getElementType());
  auto makeFill = [&]() -> Value {
    return net::ConstantOp::create(builder, typeOf(op.getInput()),
                                   DenseElementsAttr::get(typeOf(op.getInput()), neutral));
  };
  if (op.getCoordinates().empty()) {
    SmallVector<NamedAttribute> holders;
    for (Axis axis : conversion.axes)
      holders.push_back(
          builder.getNamedAttr(mesh.getName(axis), builder.getDenseI64ArrayAttr(*conversion.from.getHolder(axis))));
    return EitherOp::create(builder, typeOf(op.getInput()), op.getInput(), builder.getDictionaryAttr(holders),
                            makeFill());
  }
  auto boolean = RankedTensorType::get({}, builder.getI1Type());
  Value holds;
  for (Value coordinate : op.getCoordinates()) {
    Value zero = number(builder.getI32Type(), 0, {});
    Value first = net::CompareOp::create(builder, boolean, net::CompareDirection::Eq, coordinate, zero, false);
    holds = holds ? net::AndOp::create(builder, holds, first).getResult() : first;
  }
  Value fill = makeFill();
  return net::SelectOp::create(builder, broadcast(holds, {}, shape), op.getInput(), fill);
}

/// One boolean per index of the rank's dimension: whether it stands for one of the whole value.
Value Lowering::isInside(MaskOp op, unsigned dim, ArrayRef<Split> splits, ValueRange coordinates) {
  int64_t size = typeOf(op.getInput()).getDimSize(dim);
  Shape shape = {size};
  Type i32 = builder.getI32Type();
  auto integers = RankedTensorType::get(shape, i32);
  auto booleans = RankedTensorType::get(shape, builder.getI1Type());
  Value position = net::IotaOp::create(builder, integers, 0);
  // From the minor digit outwards: where the index lies in what the digit splits.
  SmallVector<Value> rests;
  for (auto [index, split] : llvm::enumerate(splits)) {
    int64_t inner = countLocal(split.stride, splits.drop_front(index + 1));
    Value part = number(i32, inner, shape);
    rests.push_back(net::DivideOp::create(builder, position, part));
    position = net::RemainderOp::create(builder, position, part);
  }
  Value inside;
  for (size_t index = splits.size(); index-- > 0;) {
    Value start = net::MultiplyOp::create(builder, broadcast(coordinates[index], {}, shape),
                                          number(i32, splits[index].stride, shape));
    position = net::AddOp::create(builder, start, position);
    Value fits = net::CompareOp::create(builder, booleans, net::CompareDirection::Lt, position,
                                        number(i32, splits[index].extent, shape), false);
    inside = inside ? net::AndOp::create(builder, inside, fits).getResult() : fits;
    position = net::AddOp::create(
        builder, position, net::MultiplyOp::create(builder, rests[index], number(i32, splits[index].extent, shape)));
  }
  return inside;
}

Value Lowering::lowerMask(MaskOp op, const Placement &placement) {
  RankedTensorType type = typeOf(op.getInput());
  Shape shape(type.getShape());
  ValueRange coordinates = op.getCoordinates();
  Value result = op.getInput();
  Value fill = net::ConstantOp::create(builder, type, DenseElementsAttr::get(type, cast<Attribute>(op.getFill())));
  for (int64_t dim : op.getDims()) {
    ArrayRef<Split> splits = placement.dims[dim];
    Value inside = isInside(op, dim, splits, coordinates.take_front(splits.size()));
    coordinates = coordinates.drop_front(splits.size());
    result = net::SelectOp::create(builder, broadcast(inside, {dim}, shape), result, fill);
  }
  return result;
}

Value Lowering::lower(ConversionOpInterface op, const Conversion &conversion) {
  auto expandTyped = [&](auto typed) { return expand(typed, conversion); };
  return llvm::TypeSwitch<Operation *, Value>(op)
#define COLLECTIVE(KIND, PACKAGED, NAME, OPERATION, BEFORE, AFTER, CROSSINGS) .Case<OPERATION>(expandTyped)
#include "meshwright/runtime/Collectives.def"
      .Case<ShardOp, ToPartialOp>(expandTyped);
}

namespace {

struct LowerConversionsPass : schedule::impl::LowerConversionsPassBase<LowerConversionsPass> {
  void runOnOperation() override {
    SmallVector<Operation *> conversions;
    getOperation().walk([&](Operation *op) {
      if (isa<ConversionOpInterface, MaskOp>(op))
        conversions.push_back(op);
    });
    if (conversions.empty())
      return;
    MeshOp meshOp = findMesh(getOperation());
    assert(meshOp && "the verifiers of conversions and masks ask for a mesh");
    Mesh mesh = meshOp.getMesh();
    for (Operation *op : conversions) {
      Operation *before = op->getPrevNode();
      FailureOr<Value> result = lower(op, mesh);
      if (failed(result))
        return signalPassFailure();
      // Created operations take the place and the ranks of the conversion; constants and coordinates get neither, so
      // that they can be shared.
      Block::iterator made = before ? std::next(before->getIterator()) : op->getBlock()->begin();
      Inherit part = kStageAttr.isOn(op) ? Inherit::TaskLowering : Inherit::Lowering;
      for (; &*made != op; ++made)
        if (!isAlwaysAvailable(&*made))
          inherit(&*made, op, part);
      op->getResult(0).replaceAllUsesWith(*result);
      op->erase();
    }
  }

  static FailureOr<Value> lower(Operation *op, const Mesh &mesh) {
    Lowering lowering(op, mesh);
    if (auto conversion = dyn_cast<ConversionOpInterface>(op)) {
      FailureOr<Conversion> resolved = resolveConversion(conversion);
      if (failed(resolved))
        return failure();
      return lowering.lower(conversion, *resolved);
    }
    auto mask = cast<MaskOp>(op);
    FailureOr<Placement> placement =
        Placement::resolve(mask.getPlacement(), mesh, mask.getShape(), [&] { return mask.emitOpError(); });
    if (failed(placement))
      return failure();
    return lowering.lowerMask(mask, *placement);
  }
};

} // namespace
