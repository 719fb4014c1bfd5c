//===- Exchanges.cpp - compares placements before and after ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A conversion exchanges data on an axis if it changes a split, reduces a partial value, or takes a value away from its
// owner; a slice of a replicated value is local. Received values of other stages are excluded, since a stage receives
// them once for all readers.
//
//===----------------------------------------------------------------------===//

#include "Exchanges.h"
#include "dialects/Dist/Placement.h"
#include "dialects/Net/Net.h"
#include "meshwright/Support/Stages.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::complete;
using namespace meshwright::dist;

bool complete::isReceived(Operation *maker, Operation *op) {
  std::optional<int64_t> from = getStage(maker), to = getStage(op);
  return from && to && from != to;
}

/// True if ranks exchange data to convert from `from` to `to`.
bool Exchanges::areBetween(MappingAttr from, MappingAttr to, Value value) const {
  if (!mesh || !from || !to || from == to)
    return false;
  auto error = [&] { return emitError(value.getLoc()); };
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  auto before = Placement::resolve(from, *mesh, shape, error), after = Placement::resolve(to, *mesh, shape, error);
  if (failed(before) || failed(after))
    return true;
  for (Axis axis = 0; axis < mesh->getNumAxes(); ++axis) {
    bool moves = before->findSplit(axis) && before->findSplit(axis) != after->findSplit(axis);
    bool reduces = before->isPartial(axis) && !after->isPartial(axis);
    bool leaves = before->getHolder(axis) && before->getHolder(axis) != after->getHolder(axis);
    if (moves || reduces || leaves)
      return true;
  }
  return false;
}

static MappingAttr getAt(Operation *op, StringRef name, unsigned index) {
  auto list = op->getAttrOfType<ArrayAttr>(name);
  return list && index < list.size() ? dyn_cast<MappingAttr>(list[index]) : MappingAttr();
}

bool Exchanges::areRepeatedBy(Operation *op) const {
  for (OpOperand &operand : op->getOpOperands()) {
    Operation *maker = operand.get().getDefiningOp();
    if (maker && isReceived(maker, op))
      continue;
    MappingAttr read = getAt(op, kOperandsAttr, operand.getOperandNumber());
    if (areBetween(getMapping(operand.get()), read, operand.get()))
      return true;
  }
  return areBetween(getAt(op, kComputesAttr, 0), getAt(op, kResultsAttr, 0), op->getResult(0));
}

bool Exchanges::areShared(OpOperand &read) const {
  MappingAttr target = getAt(read.getOwner(), kOperandsAttr, read.getOperandNumber());
  if (!areBetween(getMapping(read.get()), target, read.get()))
    return false;
  return llvm::any_of(read.get().getUses(), [&](OpOperand &other) {
    return net::getRole(other.getOwner()) == net::Role::Forward &&
           getAt(other.getOwner(), kOperandsAttr, other.getOperandNumber()) == target;
  });
}
