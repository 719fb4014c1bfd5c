//===- Conversions.cpp - verifiers of conversions between placements ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each conversion takes its axes from one state (replicated, split, partial, held by one owner) to another. All
// verifiers are one function of the two states: it resolves both placements, compares local types, looks up the state
// of every axis before and after, erases the axes and requires that the rests are equal.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Conversions.h"
#include "dialects/Dist/Regrouping.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;

//===----------------------------------------------------------------------===//
// Reductions and placements
//===----------------------------------------------------------------------===//

bool meshwright::dist::isIdempotent(ReduceKind kind) { return !isSum(kind) && kind != ReduceKind::Product; }

TypedAttr meshwright::dist::getNeutralElement(ReduceKind kind, Type type) {
  if (auto floats = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &semantics = floats.getFloatSemantics();
    // Some 8-bit float types have no infinity.
    auto getLargest = [&](bool negative) {
      return APFloat::semanticsHasInf(semantics) ? APFloat::getInf(semantics, negative)
                                                 : APFloat::getLargest(semantics, negative);
    };
    switch (kind) {
    case ReduceKind::Max:
      return FloatAttr::get(type, getLargest(/*negative=*/true));
    case ReduceKind::Min:
      return FloatAttr::get(type, getLargest(/*negative=*/false));
    case ReduceKind::Product:
      return FloatAttr::get(type, 1.0);
    default:
      // -0 + x is x for every x, but +0 + -0 is +0. Types with a single zero get that one.
      return FloatAttr::get(type, APFloat::getZero(semantics, /*Negative=*/true));
    }
  }
  auto integer = cast<IntegerType>(type);
  unsigned width = integer.getWidth();
  bool isUnsigned = integer.isUnsigned() || width == 1;
  switch (kind) {
  case ReduceKind::Max:
    return IntegerAttr::get(type, isUnsigned ? APInt::getZero(width) : APInt::getSignedMinValue(width));
  case ReduceKind::Min:
    return IntegerAttr::get(type, isUnsigned ? APInt::getAllOnes(width) : APInt::getSignedMaxValue(width));
  case ReduceKind::Product:
    return IntegerAttr::get(type, APInt(width, 1));
  case ReduceKind::And:
    return IntegerAttr::get(type, APInt::getAllOnes(width));
  default:
    return IntegerAttr::get(type, APInt::getZero(width));
  }
}

Placement meshwright::dist::normalize(Placement placement, const Mesh &mesh) {
  for (Axis axis = 0; axis < mesh.getNumAxes(); ++axis)
    if (mesh.getSize(axis) == 1)
      placement.erase(axis);
  llvm::erase_if(placement.support, [&](const auto &entry) {
    return static_cast<int64_t>(entry.second.size()) == mesh.getSize(entry.first);
  });
  if (placement.partialAxes.empty())
    placement.partialKind = ReduceKind::Sum;
  return placement;
}

LogicalResult meshwright::dist::checkSupport(const Placement &placement, const Mesh &mesh,
                                             llvm::function_ref<InFlightDiagnostic()> emitError) {
  for (const auto &[axis, coordinates] : placement.support) {
    if (coordinates.size() != 1)
      return emitError() << "has a value on " << coordinates.size() << " of the " << mesh.getSize(axis)
                         << " coordinates of axis \"" << mesh.getName(axis)
                         << "\"; a value is held by one of them or by all";
    if (placement.findSplit(axis) || placement.isPartial(axis))
      return emitError() << "has a value that only coordinate " << coordinates.front() << " of axis \""
                         << mesh.getName(axis) << "\" holds and that is "
                         << (placement.isPartial(axis) ? "partial" : "split") << " over that axis";
  }
  return success();
}

bool meshwright::dist::isNested(const Placement &placement, ArrayRef<int64_t> shape) {
  for (auto [splits, size] : llvm::zip(placement.dims, shape)) {
    int64_t extent = size;
    for (const Split &split : splits) {
      if (split.extent == 0 ? extent != 0 : extent % split.extent != 0)
        return false;
      extent = split.stride;
    }
  }
  return true;
}

/// The moduli that are applied in turn to an index to find its coordinate on digit `last` of a dimension, without those
/// that have no effect because the next modulus divides them.
static SmallVector<int64_t> getModuli(ArrayRef<Split> splits, size_t last, int64_t size) {
  SmallVector<int64_t> moduli{splits[last].extent};
  for (size_t index = last; index-- > 0;)
    if (int64_t extent = splits[index].extent; extent != size && extent % moduli.back() != 0)
      moduli.push_back(extent);
  return moduli;
}

bool meshwright::dist::keepsDigits(const Placement &from, const Placement &to, ArrayRef<int64_t> shape) {
  for (auto [before, after, size] : llvm::zip(from.dims, to.dims, shape))
    for (auto [index, split] : llvm::enumerate(before)) {
      const auto *other = llvm::find(after, split);
      if (size > 0 && other != after.end() &&
          getModuli(before, index, size) != getModuli(after, other - after.begin(), size))
        return false;
    }
  return true;
}

//===----------------------------------------------------------------------===//
// Verification common to all conversions
//===----------------------------------------------------------------------===//

FailureOr<Conversion> meshwright::dist::resolveConversion(ConversionOpInterface op) {
  auto module = op->getParentOfType<ModuleOp>();
  MeshOp mesh = module ? findMesh(module) : MeshOp();
  if (!mesh)
    return op->emitOpError() << "stands in a module without mesh";
  Conversion conversion;
  conversion.mesh = mesh.getMesh();
  conversion.shape.assign(op.getShape().begin(), op.getShape().end());
  for (StringRef name : op.getAxes().getAsValueRange<StringAttr>()) {
    std::optional<Axis> axis = conversion.mesh.find(name);
    if (!axis || llvm::is_contained(conversion.axes, *axis))
      return op->emitOpError() << "names axis \"" << name
                               << "\", which the module's mesh does not have or which stands twice";
    conversion.axes.push_back(*axis);
  }
  if (conversion.axes.empty())
    return op->emitOpError() << "names no axis";
  auto error = [&] { return op->emitOpError(); };
  FailureOr<Placement> from = Placement::resolve(op.getFrom(), conversion.mesh, conversion.shape, error);
  if (failed(from))
    return failure();
  FailureOr<Placement> to = Placement::resolve(op.getTo(), conversion.mesh, conversion.shape, error);
  if (failed(to))
    return failure();
  for (const Placement &placement : {*from, *to})
    if (failed(checkSupport(normalize(placement, conversion.mesh), conversion.mesh, error)))
      return failure();
  conversion.from = *from;
  conversion.to = *to;
  return conversion;
}

static LogicalResult verifyLocalType(Operation *op, Value value, const Placement &placement, ArrayRef<int64_t> shape,
                                     StringRef what) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> local = placement.getLocalShape(shape);
  if (type.getShape() == ArrayRef<int64_t>(local))
    return success();
  return op->emitOpError() << "has " << what << " of " << type << " but its placement makes the local shape "
                           << type.clone(local);
}

using State = meshwright::AxisState;

static State getState(const Placement &placement, Axis axis) {
  if (placement.isPartial(axis))
    return State::Partial;
  if (placement.getHolder(axis))
    return State::Held;
  return placement.findSplit(axis) ? State::Split : State::Replicated;
}

static StringRef stringify(State state) {
  switch (state) {
  case State::Replicated:
    return "replicated";
  case State::Split:
    return "split";
  case State::Partial:
    return "partial";
  case State::Held:
    return "one holder";
  }
  llvm_unreachable("all states are covered");
}

/// Checks constraints C1 to C4 of a conversion that takes every axis from state `before` to state `after`.
static FailureOr<Conversion> verifyConversion(ConversionOpInterface op, State before, State after) {
  // c_allreduce_c1, c_allreduce_c2
  FailureOr<Conversion> conversion = resolveConversion(op);
  if (failed(conversion))
    return failure();
  // c_allreduce_c3
  Type from = getElementTypeOrSelf(op.getInput()), to = getElementTypeOrSelf(op->getResult(0));
  if (from != to)
    return op->emitOpError() << "turns elements of " << from << " into " << to;
  bool adds = isSum(conversion->from.partialKind) || conversion->from.partialKind == ReduceKind::Product;
  if (before == State::Partial && adds && from.isInteger(1))
    return op->emitOpError() << "reduces " << from << " by " << stringifyReduceKind(conversion->from.partialKind)
                             << ", which has no such reduction";
  if (failed(verifyLocalType(op, op.getInput(), conversion->from, conversion->shape, "an operand")) ||
      failed(verifyLocalType(op, op->getResult(0), conversion->to, conversion->shape, "a result")))
    return failure();
  // c_allreduce_c4, c_reducescatter_c4, c_allgather_c4, c_alltoall_c4, c_broadcast_c4, c_reduce_c4, c_send_c4,
  // shard_c4, to_partial_c4
  Placement fromRest = conversion->from, toRest = conversion->to;
  for (Axis axis : conversion->axes) {
    State actualBefore = getState(conversion->from, axis), actualAfter = getState(conversion->to, axis);
    if (actualBefore != before || actualAfter != after)
      return op->emitOpError() << "takes axis \"" << conversion->mesh.getName(axis) << "\" from "
                               << stringify(actualBefore) << " to " << stringify(actualAfter) << ", not from "
                               << stringify(before) << " to " << stringify(after);
    fromRest.erase(axis);
    toRest.erase(axis);
  }
  if (normalize(fromRest, conversion->mesh) != normalize(toRest, conversion->mesh) ||
      !keepsDigits(conversion->from, conversion->to, conversion->shape))
    return op->emitOpError() << "has placements " << op.getFrom() << " and " << op.getTo()
                             << " that differ beyond its axes";
  return conversion;
}

static LogicalResult verifyOneAxis(ConversionOpInterface op) {
  if (op.getAxes().size() != 1)
    return op->emitOpError() << "acts on " << op.getAxes().size() << " axes, not one";
  return success();
}

static LogicalResult verifyCoordinates(Operation *op, size_t coordinates, size_t axes) {
  if (coordinates != axes)
    return op->emitOpError() << "has " << coordinates << " coordinates for " << axes << " axes";
  return success();
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// Constraints beyond the states of the axes; kinds without any fall to this one.
static LogicalResult verifyRest(ConversionOpInterface, const Conversion &) { return success(); }

static LogicalResult verifyRest(SendOp op, const Conversion &conversion) {
  if (failed(verifyOneAxis(op)))
    return failure();
  Axis axis = conversion.axes.front();
  if (int64_t holder = *conversion.from.getHolder(axis); holder == conversion.to.getHolder(axis))
    return op.emitOpError() << "sends what coordinate " << holder << " of axis \"" << conversion.mesh.getName(axis)
                            << "\" has to itself";
  return success();
}

static LogicalResult verifyRest(AllToAllOp op, const Conversion &conversion) {
  if (failed(verifyOneAxis(op)))
    return failure();
  Axis axis = conversion.axes.front();
  unsigned dim = conversion.from.findSplit(axis)->first;
  if (dim != conversion.to.findSplit(axis)->first)
    return success();
  if (conversion.from == conversion.to)
    return op.emitOpError() << "splits dimension " << dim << " alike before and after";
  if (!Regrouping::find(conversion.shape[dim], conversion.from.dims[dim], conversion.to.dims[dim], axis,
                        conversion.mesh.getSize(axis)))
    return op.emitOpError() << "splits dimension " << dim
                            << " before and after, into parts that are not exchanged evenly";
  return success();
}

#define COLLECTIVE(KIND, PACKAGED, NAME, OPERATION, BEFORE, AFTER, CROSSINGS)                                          \
  LogicalResult OPERATION::verify() {                                                                                  \
    FailureOr<Conversion> conversion = verifyConversion(*this, State::BEFORE, State::AFTER);                           \
    return failed(conversion) ? failure() : verifyRest(*this, *conversion);                                            \
  }
#include "meshwright/runtime/Collectives.def"

LogicalResult ShardOp::verify() {
  if (failed(verifyConversion(*this, State::Replicated, State::Split)) || failed(verifyOneAxis(*this)))
    return failure();
  // shard_c5
  return verifyCoordinates(*this, getCoordinates().size(), getAxes().size());
}

LogicalResult ToPartialOp::verify() {
  FailureOr<Conversion> resolved = resolveConversion(*this);
  if (failed(resolved))
    return failure();
  bool held = resolved->from.getHolder(resolved->axes.front()).has_value();
  FailureOr<Conversion> conversion = verifyConversion(*this, held ? State::Held : State::Replicated, State::Partial);
  if (failed(conversion))
    return failure();
  if (!held && isIdempotent(conversion->to.partialKind))
    return emitOpError() << "is the identity for kind " << stringifyReduceKind(conversion->to.partialKind);
  // to_partial_c5
  return verifyCoordinates(*this, getCoordinates().size(), held ? 0 : getAxes().size());
}

LogicalResult MaskOp::verify() {
  auto module = (*this)->getParentOfType<ModuleOp>();
  MeshOp mesh = module ? findMesh(module) : MeshOp();
  if (!mesh)
    return emitOpError() << "stands in a module without mesh";
  // mask_c1
  FailureOr<Placement> placement =
      Placement::resolve(getPlacement(), mesh.getMesh(), getShape(), [&] { return emitOpError(); });
  if (failed(placement) || failed(verifyLocalType(*this, getInput(), *placement, getShape(), "an operand")))
    return failure();
  // mask_c2
  size_t axes = 0;
  SmallVector<int64_t> seen;
  for (int64_t dim : getDims()) {
    if (dim < 0 || dim >= static_cast<int64_t>(getShape().size()) || llvm::is_contained(seen, dim) ||
        placement->dims[dim].empty())
      return emitOpError() << "masks dimension " << dim << " of " << getShape().size()
                           << ", which does not exist, is not split or stands twice";
    seen.push_back(dim);
    axes += placement->dims[dim].size();
  }
  // mask_c4
  if (getFill().getType() != getElementTypeOrSelf(getInput()))
    return emitOpError() << "fills elements of " << getElementTypeOrSelf(getInput()) << " with " << getFill();
  // mask_c3
  return verifyCoordinates(*this, getCoordinates().size(), axes);
}
