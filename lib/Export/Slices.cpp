//===- Slices.cpp - a batch in slices as a loop ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The coordinate on the axis of slices becomes the index of a `stablehlo.while`:
//
//   before   collectives of parameters whose results all slices share, and what they read
//   each     what depends on the slice, its collectives, and the sums over slices
//   after    what reads complete sums: reductions over ranks, the update
//
// Operations that do not depend on the slice stay in the loop; XLA moves those that it finds worth keeping. Those that
// are read after the loop too are written again. Fetches that are repeated to save memory must not be moved: variables
// that they read pass a barrier together with the number of the slice.
//
//===----------------------------------------------------------------------===//

#include "Slices.h"
#include "Forms.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::exporter;

Slices::Slices(func::FuncOp func, const dist::Mesh &mesh, dist::Axis axis)
    : block(func.getBody().front()), symbols(func->getParentOfType<ModuleOp>()), nest(net::LoopNest::findBodies(block)),
      axis(axis), axisName(mesh.getName(axis)), size(mesh.getSize(axis)) {}

/// The outermost loop that contains `op`, or `op` itself.
Operation *Slices::getUnit(Operation *op) const {
  net::LoopOp loop = nest.getOutermost(op);
  return loop ? loop.getOperation() : op;
}

/// True if a read or an assignment is of a variable that exists within the step alone.
bool Slices::isWithinStep(Operation *op) const {
  auto read = dyn_cast<net::ReadOp>(op);
  return dist::kWithinStepAttr.isOn(symbols.lookup(read ? read.getVariable() : cast<net::AssignOp>(op).getVariable()));
}

/// True if the results of `op` differ between slices whatever its operands are.
bool Slices::isSource(Operation *op) const {
  if (auto coordinate = dyn_cast<dist::CoordinateOp>(op))
    return coordinate.getAxis() == axisName;
  return isa<net::ReadOp>(op) && isWithinStep(op);
}

void Slices::findVarying() {
  for (Operation &op : block) {
    bool varies = llvm::any_of(op.getOperands(), [&](Value operand) {
      Operation *maker = operand.getDefiningOp();
      return maker && varying.contains(getUnit(maker));
    });
    bool isFetch = isa<dist::CollectiveOp>(op) && !dist::kOnceAttr.isOn(&op);
    if (isFetch && !varies)
      fetches.push_back(&op);
    if (varies || isFetch || isSource(&op))
      varying.insert(getUnit(&op));
  }
}

/// Finds the variables that collectives of every slice fetch.
void Slices::findFetched() {
  SmallVector<Operation *> next;
  llvm::copy_if(fetches, std::back_inserter(next),
                [&](Operation *op) { return places.lookup(getUnit(op)) == Place::Each; });
  llvm::DenseSet<Operation *> seen;
  while (!next.empty())
    for (Value operand : next.pop_back_val()->getOperands()) {
      Operation *maker = operand.getDefiningOp();
      if (!maker || !seen.insert(maker).second)
        continue;
      if (isa<net::ReadOp>(maker))
        fetched.insert(operand);
      next.push_back(maker);
    }
}

Slices::Place Slices::getPlace(Value value) const {
  Operation *maker = value.getDefiningOp();
  return maker ? places.lookup(getUnit(maker)) : Place::Before;
}

/// Finds the places of operations from the last one on. Sums over slices are assigned in each; everything else that
/// is assigned or returned is known after the last one.
LogicalResult Slices::place() {
  for (Operation &op : llvm::reverse(block)) {
    Place &place = places[getUnit(&op)];
    if (isa<net::ReadOp, net::AssignOp>(op) && isWithinStep(&op))
      place = Place::Each;
    if (isa<dist::CollectiveOp>(op) && dist::kOnceAttr.isOn(&op))
      place = Place::Before;
    if (place == Place::Before && varying.contains(getUnit(&op)))
      return op.emitError() << "is done once for all slices of axis \"" << axisName << "\", but depends on the slice";
    Place own = place;
    for (Value operand : op.getOperands())
      if (Operation *maker = operand.getDefiningOp()) {
        Place &other = places[getUnit(maker)];
        other = std::max(other, own);
      }
  }
  WalkResult result = block.walk([&](net::AssignOp assign) {
    if (assign->getBlock() == &block || !isWithinStep(assign))
      return WalkResult::advance();
    assign.emitError() << "keeps a value for the next slice of axis \"" << axisName
                       << "\" at some of the steps alone, which has no form in StableHLO";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

void Slices::findPassed() {
  llvm::MapVector<StringAttr, Passed> accumulators;
  llvm::SetVector<Value> left;
  auto readAfter = [&](Operation *reader) {
    for (Value operand : reader->getOperands()) {
      if (getPlace(operand) != Place::Each)
        continue;
      Operation *unit = getUnit(operand.getDefiningOp());
      if (varying.contains(unit))
        left.insert(operand);
      else
        repeated.insert(unit);
    }
  };
  for (Operation &op : llvm::reverse(block))
    if (places.lookup(getUnit(&op)) == Place::After || repeated.contains(getUnit(&op)))
      op.walk(readAfter);
  for (Operation &op : block) {
    if (!isa<net::ReadOp, net::AssignOp>(op) || !isWithinStep(&op))
      continue;
    if (auto read = dyn_cast<net::ReadOp>(op)) {
      Passed &value = accumulators[read.getVariableAttr().getAttr()];
      value.reads.push_back(read.getResult());
      if (!value.next)
        value.next = read.getResult();
    } else {
      auto assign = cast<net::AssignOp>(op);
      accumulators[assign.getVariableAttr().getAttr()].next = assign.getValue();
    }
  }
  for (auto &[name, value] : accumulators) {
    left.remove(value.next);
    passed.push_back(value);
  }
  // In the order of the program.
  for (Value value : llvm::reverse(left))
    passed.push_back({{}, value});
}

FailureOr<Slices> Slices::find(func::FuncOp func, const dist::Mesh &mesh, dist::Axis axis) {
  Slices slices(func, mesh, axis);
  slices.findVarying();
  if (failed(slices.place()))
    return failure();
  slices.findPassed();
  slices.findFetched();
  return slices;
}

bool Slices::isAfter(Operation *op) const { return places.lookup(op) == Place::After || repeated.contains(op); }

LogicalResult Slices::write(Body &body, Writer &writer) const {
  auto isIn = [&](Place place) { return [this, place](Operation *op) { return places.lookup(op) == place; }; };
  if (failed(body.write(isIn(Place::Before))))
    return failure();
  // The first slice reads no accumulator, whatever it is at the start.
  Terms inits = llvm::map_to_vector(passed, [&](const Passed &value) {
    auto type = cast<RankedTensorType>(value.next.getType());
    return writer.splat(type.getElementType(), 0, type.getShape());
  });
  auto writeSlice = [&](const Term &index, ArrayRef<Term> before) -> FailureOr<Terms> {
    writer.setCoordinate(axis, index);
    for (auto [value, term] : llvm::zip_equal(passed, before))
      for (Value read : value.reads)
        writer.set(read, term);
    Terms variables = writer.get(fetched.getArrayRef());
    if (!variables.empty()) {
      variables.push_back(index);
      for (auto [value, term] : llvm::zip(fetched, writer.barrier(variables)))
        writer.set(value, term);
    }
    if (failed(body.write(isIn(Place::Each))))
      return failure();
    for (auto [value, term] : llvm::zip(fetched, variables))
      writer.set(value, term);
    return llvm::map_to_vector(passed, [&](const Passed &value) { return writer.get(value.next); });
  };
  auto number = RankedTensorType::get({}, IntegerType::get(block.getParentOp()->getContext(), 32));
  FailureOr<Terms> last = writer.writeLoop(number, size, /*isReverse=*/false, inits, writeSlice);
  if (failed(last))
    return failure();
  for (auto [value, term] : llvm::zip_equal(passed, *last))
    writer.set(value.next, term);
  writer.setCoordinate(axis, writer.integer(number.getElementType(), size - 1));
  return success();
}
