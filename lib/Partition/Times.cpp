//===- Times.cpp - accumulates and collects values over slices ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A value that is partial or split along a time axis is complete only at the last time. Until then an accumulator
// variable holds the part so far: every time reads and extends it, every time but the last assigns it, and the last one
// uses the result directly.
//
//===----------------------------------------------------------------------===//

#include "Times.h"
#include "dialects/Dist/Times.h"
#include "dialects/Net/NetBuilder.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::partition;

/// `during` with `{axis = times}` added.
static DictionaryAttr withTimes(DictionaryAttr during, StringRef axis, ArrayRef<int64_t> times, MLIRContext *context) {
  NamedAttrList list(during);
  list.set(axis, DenseI64ArrayAttr::get(context, times));
  return list.getDictionary(context);
}

DictionaryAttr partition::getDuringLast(DictionaryAttr during, const Mesh &mesh, Operation *op) {
  std::optional<Axis> axis = mesh.find(AxisKind::Slices);
  if (!axis || mesh.getSize(*axis) == 1)
    return {};
  int64_t size = mesh.getSize(*axis);
  return withTimes(during, mesh.getName(*axis), size - 1, op->getContext());
}

LogicalResult Accumulators::check(ReshardOp reshard, const Placement &from, const Placement &to) const {
  for (Axis axis = mesh.getNumRankAxes(); axis < mesh.getNumAxes(); ++axis)
    if (from.isPartial(axis) && !to.isPartial(axis) && !isSum(from.partialKind))
      return reshard.emitOpError() << "reduces by " << stringifyReduceKind(from.partialKind) << " over axis \""
                                   << mesh.getName(axis) << "\"; times are combined by sum alone";
  return success();
}

/// The name of the value that `reshard` converts, or its source location if it has none.
static std::string getName(ReshardOp reshard) {
  if (Operation *op = reshard.getInput().getDefiningOp()) {
    StringRef name = net::getUserName(op);
    name.consume_front(net::kGradientPrefix);
    if (!name.empty())
      return name.str();
    if (auto scope = net::kScopeAttr.get(op))
      return scope.str();
  }
  return "value";
}

Accumulators::Accumulators(ModuleOp module, const Mesh &mesh)
    : symbols(module),
      firstFunction(llvm::find_if(*module.getBody(), [](Operation &op) { return isa<FunctionOpInterface>(op); })),
      mesh(mesh) {}

net::VariableOp Accumulators::createVariable(ReshardOp reshard, const ReshardStep &step) {
  auto module = reshard->getParentOfType<ModuleOp>();
  auto type = cast<RankedTensorType>(reshard.getResult().getType());
  std::string name = getName(reshard);
  FlatSymbolRefAttr like;
  if (auto parameter = symbols.lookup<net::VariableOp>(name); parameter && parameter.getTensorType() == type)
    like = FlatSymbolRefAttr::get(parameter);
  OpBuilder builder(module.getContext());
  // The accumulator needs no initial value and keeps none between steps: the first time does not read it, and the last
  // does not assign it.
  auto variable = net::VariableOp::create(builder, reshard.getLoc(), net::VariableKind::Accumulator,
                                          (net::kAccumulatorPrefix + name).str(), type, net::InitializerAttr(), like);
  kWithinStepAttr.set(variable, builder.getUnitAttr());
  kMappingAttr.set(variable, step.to.toAttr(module.getContext(), mesh, type.getShape()));
  symbols.insert(variable, firstFunction);
  return variable;
}

Value Accumulators::read(OpBuilder &builder, net::VariableOp variable, ReshardOp reshard, const ReshardStep &step) {
  auto type = cast<RankedTensorType>(reshard.getResult().getType());
  auto local = type.clone(step.to.getLocalShape(type.getShape()));
  return net::ReadOp::create(builder, reshard.getLoc(), local, FlatSymbolRefAttr::get(variable)).getResult();
}

void Accumulators::assign(OpBuilder &builder, net::VariableOp variable, Value value, const ReshardStep &step,
                          ArrayRef<int64_t> times) {
  auto assign = net::AssignOp::create(builder, value.getLoc(), FlatSymbolRefAttr::get(variable), value);
  kDuringAttr.set(assign, withTimes({}, mesh.getName(step.axes.front()), times, builder.getContext()));
}

/// Moves the user's name from `slice` to `whole`: the name means the complete value.
static void moveName(Value slice, Value whole) {
  Operation *op = slice.getDefiningOp();
  StringAttr name = op ? net::kNameAttr.get(op) : StringAttr();
  if (!name)
    return;
  net::kNameAttr.remove(op);
  net::kNameAttr.set(whole.getDefiningOp(), name);
}

SmallVector<int64_t> Accumulators::getAllButLast(const ReshardStep &step) const {
  return llvm::to_vector(llvm::seq(mesh.getSize(step.axes.front()) - 1));
}

Value Accumulators::add(OpBuilder &builder, ReshardOp reshard, const ReshardStep &step, Value value) {
  Value sum = step.from.partialKind == ReduceKind::Tree
                  ? addByTree(builder, reshard, step, value)
                  : addTo(builder, reshard, step, value, /*sums=*/{}, getAllButLast(step));
  moveName(value, sum);
  return sum;
}

Value Accumulators::addTo(OpBuilder &builder, ReshardOp reshard, const ReshardStep &step, Value value,
                          ArrayRef<int64_t> sums, ArrayRef<int64_t> assigned) {
  net::VariableOp variable = createVariable(reshard, step);
  Value before = read(builder, variable, reshard, step);
  Value sum = dist::AccumulateOp::create(builder, reshard.getLoc(), before.getType(), before, value,
                                         builder.getStringAttr(mesh.getName(step.axes.front())),
                                         sums.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(sums));
  assign(builder, variable, sum, step, assigned);
  return sum;
}

/// Slices are the leaves of a binary tree, and its levels count like the digits of a binary number: the accumulator of
/// level l holds the sum of 2^l slices while digit l of the number of slices so far is 1.
Value Accumulators::addByTree(OpBuilder &builder, ReshardOp reshard, const ReshardStep &step, Value value) {
  int64_t size = mesh.getSize(step.axes.front());
  for (int64_t half = 1; half < size; half *= 2) {
    // Times at which `half` slices are complete: every second of them is added to the one before.
    SmallVector<int64_t> sums, assigned;
    for (int64_t time = half - 1; time < size; time += half)
      ((time + 1) / half % 2 == 0 ? sums : assigned).push_back(time);
    value = addTo(builder, reshard, step, value, sums, assigned);
  }
  return value;
}

/// `slice` at the position of `coordinate` along the digit of `axis` in `placement`, and at all others what a sum does
/// not change by: negative zero.
static Value putInto(net::NetBuilder &build, RankedTensorType whole, Value slice, Value coordinate,
                     const Placement &placement, Axis axis, const Mesh &mesh, ArrayRef<int64_t> global) {
  // The dimension is viewed as outer × slices × inner. The slice is broadcast to every position, and a mask selects
  // one.
  unsigned dim = placement.findSplit(axis)->first;
  int64_t outer = 1, inner = 1;
  bool isInner = false;
  for (const LocalDigit &digit : getLocalDigits(placement.dims[dim], global[dim])) {
    (isInner ? inner : outer) *= digit.localSize;
    isInner |= digit.axis == axis;
  }
  SmallVector<int64_t> shape(net::shapeOf(slice)), dims;
  shape[dim] = outer;
  shape.insert(shape.begin() + dim + 1, inner);
  Value parts = build.reshape(slice, shape);
  shape.insert(shape.begin() + dim + 1, mesh.getSize(axis));
  for (unsigned index = 0; index < shape.size(); ++index)
    if (index != dim + 1)
      dims.push_back(index);
  Value places = build.iota(net::elementTypeOf(coordinate), shape, dim + 1);
  Value isHere = build.compare(net::CompareDirection::Eq, places, build.broadcast(coordinate, shape));
  Value padded = build.select(isHere, build.broadcast(parts, shape, dims), build.splat(whole.clone(shape), -0.0));
  return build.reshape(padded, whole.getShape());
}

/// A sum of slices that are nowhere else: the first one begins it, and needs nothing that was there before.
Value Accumulators::collect(OpBuilder &builder, ReshardOp reshard, const ReshardStep &step, Value value,
                            Value coordinate) {
  ArrayRef<int64_t> shape = net::shapeOf(reshard.getResult());
  auto whole = cast<RankedTensorType>(reshard.getResult().getType()).clone(step.to.getLocalShape(shape));
  net::NetBuilder build(builder, reshard.getLoc());
  Value part = putInto(build, whole, value, coordinate, step.from, step.axes.front(), mesh, shape);
  Value all = addTo(builder, reshard, step, part, /*sums=*/{}, getAllButLast(step));
  moveName(value, all);
  return all;
}
