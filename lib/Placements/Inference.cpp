//===- Inference.cpp - placements inferred from local programs ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One walk over a local program. Inputs, reads of variables and the results of conversions have the placements that are
// stated; every other value has, on each axis, what its operation makes of its operands (Meaning.h). Placements that
// are stated where values are used, by conversions, assignments and results, are compared with what is known by then.
//
// Axes of times are left to the gate's other checks, and so are axes on which a value has one owner or an operation
// runs on some ranks only. What loops carry from iteration to iteration is not known.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Placements/Inference.h"
#include "Meaning.h"
#include "dialects/Dist/Conversions.h"
#include "dialects/Dist/Support.h"
#include "dialects/Net/Net.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::placements;

namespace {

/// The state of a value on every axis of ranks.
using States = SmallVector<State, 4>;

class Inference {
public:
  Inference(ModuleOp module, Mesh mesh) : module(module), mesh(std::move(mesh)), axes(this->mesh.getNumRankAxes()) {}

  LogicalResult run();

private:
  States getStates(const Placement &placement) const;
  std::optional<Placement> resolve(Attribute mapping, Attribute globalType) const;
  LogicalResult verifyFunction(func::FuncOp func);
  LogicalResult visit(Operation *op);
  LogicalResult visitConversion(ConversionOpInterface op);
  LogicalResult compute(Operation *op);
  LogicalResult verifyUse(Operation *op, Value value, const Placement &stated, StringRef what);
  InFlightDiagnostic reject(Operation *op, Value value, Axis axis, StringRef mistake);

  ModuleOp module;
  Mesh mesh;
  unsigned axes;
  llvm::StringMap<Placement> variables;
  DenseMap<Value, States> known;
};

} // namespace

/// The states by a placement; nothing is known of axes with owners.
States Inference::getStates(const Placement &placement) const {
  States states;
  for (Axis axis = 0; axis < axes; ++axis) {
    bool hasOwner = llvm::any_of(placement.support, [&](const auto &entry) { return entry.first == axis; });
    if (hasOwner || mesh.getSize(axis) == 1)
      states.push_back({});
    else if (placement.isPartial(axis))
      // A tree is a sum whose order is fixed.
      states.push_back(State::partial(isSum(placement.partialKind) ? ReduceKind::Sum : placement.partialKind));
    else if (auto split = placement.findSplit(axis))
      states.push_back(State::split(split->first < 64 ? uint64_t(1) << split->first : 0));
    else
      states.push_back(State::whole());
  }
  return states;
}

std::optional<Placement> Inference::resolve(Attribute mapping, Attribute globalType) const {
  auto type = dyn_cast_or_null<TypeAttr>(globalType);
  auto tensor = type ? dyn_cast<RankedTensorType>(type.getValue()) : RankedTensorType();
  auto stated = dyn_cast_or_null<MappingAttr>(mapping);
  if (!tensor || !stated)
    return std::nullopt;
  FailureOr<Placement> placement =
      Placement::resolve(stated, mesh, tensor.getShape(), [&] { return InFlightDiagnostic(); });
  return succeeded(placement) ? std::optional(*placement) : std::nullopt;
}

InFlightDiagnostic Inference::reject(Operation *op, Value value, Axis axis, StringRef mistake) {
  InFlightDiagnostic error = op->emitOpError()
                             << mistake << "; it is partial over axis \"" << mesh.getName(axis) << "\"";
  error.attachNote(value.getLoc()) << "the value is made here";
  return error;
}

static StringRef describe(const State &state) {
  switch (state.kind) {
  case State::Unknown:
    return "not known";
  case State::Whole:
  case State::Equal:
    return "whole on every rank";
  case State::Split:
    return "a part";
  case State::Partial:
    return state.isPartialSum() ? "a partial sum" : "partial by another reduction";
  }
  return "";
}

/// True if a value in state `actual` may stand where `stated` is.
static bool agrees(const State &actual, const State &stated) {
  if (actual.kind == State::Unknown || actual.kind == State::Equal || stated.kind == State::Unknown)
    return true;
  switch (stated.kind) {
  case State::Whole:
    return actual.kind == State::Whole;
  case State::Split:
    // A value that is the same on every rank may be the same in every part.
    return actual.kind == State::Whole || (actual.kind == State::Split && (actual.dims & stated.dims));
  default:
    return actual.kind == State::Partial ? actual.reduction == stated.reduction
                                         : actual.kind == State::Whole && isIdempotent(stated.reduction);
  }
}

LogicalResult Inference::verifyUse(Operation *op, Value value, const Placement &stated, StringRef what) {
  auto it = known.find(value);
  if (it == known.end())
    return success();
  States expected = getStates(stated);
  for (Axis axis = 0; axis < axes; ++axis) {
    if (agrees(it->second[axis], expected[axis]))
      continue;
    InFlightDiagnostic error = op->emitOpError() << what << " a value that is stated to be " << describe(expected[axis])
                                                 << " over axis \"" << mesh.getName(axis) << "\", but it is "
                                                 << describe(it->second[axis]);
    if (expected[axis].kind == State::Split && it->second[axis].kind == State::Split)
      error << " of another dimension";
    error.attachNote(value.getLoc()) << "the value is made here";
    return error;
  }
  return success();
}

LogicalResult Inference::visitConversion(ConversionOpInterface op) {
  FailureOr<dist::Conversion> conversion = resolveConversion(op);
  if (failed(conversion) || failed(verifyUse(op, op.getInput(), conversion->from, "takes")))
    return failure();
  // A rank takes its own part.
  if (auto shard = dyn_cast<ShardOp>(op.getOperation()))
    if (auto coordinate = shard.getCoordinates().front().getDefiningOp<CoordinateOp>())
      if (coordinate.getAxis() != mesh.getName(conversion->axes.front()))
        return op->emitOpError() << "takes the part at the coordinate of axis \"" << coordinate.getAxis()
                                 << "\", not of \"" << mesh.getName(conversion->axes.front()) << "\"";
  known[op->getResult(0)] = getStates(conversion->to);
  return success();
}

/// Finds the states of the results. An operation that some ranks run says nothing of the axes that it names.
LogicalResult Inference::compute(Operation *op) {
  DictionaryAttr on = getOn(op);
  SmallVector<States, 2> results(op->getNumResults());
  for (Axis axis = 0; axis < axes; ++axis) {
    SmallVector<State, 4> operands;
    for (Value operand : op->getOperands()) {
      auto it = known.find(operand);
      operands.push_back(it == known.end() ? State() : it->second[axis]);
    }
    Outcome outcome = getOutcome(op, operands);
    bool isEverywhere = mesh.getSize(axis) > 1 && !(on && on.contains(mesh.getName(axis)));
    if (isEverywhere && !outcome.mistake.empty())
      return reject(op, op->getOperand(outcome.operand), axis, outcome.mistake);
    for (States &states : results)
      states.push_back(isEverywhere ? outcome.result : State());
  }
  for (auto [result, states] : llvm::zip_equal(op->getResults(), results))
    known[result] = states;
  return success();
}

LogicalResult Inference::visit(Operation *op) {
  if (auto conversion = dyn_cast<ConversionOpInterface>(op))
    return visitConversion(conversion);
  if (auto read = dyn_cast<net::ReadOp>(op)) {
    if (auto it = variables.find(read.getVariable()); it != variables.end())
      known[read.getResult()] = getStates(it->second);
    return success();
  }
  if (auto assign = dyn_cast<net::AssignOp>(op)) {
    auto it = variables.find(assign.getVariable());
    return it == variables.end() ? success() : verifyUse(op, assign.getValue(), it->second, "assigns");
  }
  if (auto coordinate = dyn_cast<CoordinateOp>(op)) {
    States states(axes, State::whole());
    if (std::optional<Axis> axis = mesh.find(coordinate.getAxis()); axis && *axis < axes)
      states[*axis] = {};
    known[coordinate.getResult()] = states;
    return success();
  }
  if (auto mask = dyn_cast<MaskOp>(op)) {
    if (auto it = known.find(mask.getInput()); it != known.end())
      known[mask.getResult()] = States(it->second);
    return success();
  }
  // Values of loops and sums over times are left unknown.
  if (op->hasTrait<net::LoopPart>() || !isa_and_nonnull<net::NetDialect>(op->getDialect()))
    return success();
  return compute(op);
}

LogicalResult Inference::verifyFunction(func::FuncOp func) {
  for (BlockArgument argument : func.getArguments()) {
    unsigned index = argument.getArgNumber();
    if (auto placement = resolve(func.getArgAttr(index, kMappingAttr), func.getArgAttr(index, net::kGlobalTypeAttr)))
      known[argument] = getStates(*placement);
  }
  for (Operation &op : func.getBody().front())
    if (failed(visit(&op)))
      return failure();
  Operation *end = func.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(end->getOperands()))
    if (auto placement =
            resolve(func.getResultAttr(index, kMappingAttr), func.getResultAttr(index, net::kGlobalTypeAttr)))
      if (failed(verifyUse(end, value, *placement, "returns")))
        return failure();
  return success();
}

LogicalResult Inference::run() {
  for (auto variable : module.getOps<net::VariableOp>())
    if (auto placement = resolve(kMappingAttr.get(variable), net::kGlobalTypeAttr.get(variable)))
      variables.insert({variable.getSymName(), *placement});
  for (auto func : module.getOps<func::FuncOp>())
    if (!func.isDeclaration() && failed(verifyFunction(func)))
      return failure();
  return success();
}

LogicalResult placements::verifyPlacements(ModuleOp module) {
  MeshOp mesh = findMesh(module);
  return mesh ? Inference(module, mesh.getMesh()).run() : success();
}
