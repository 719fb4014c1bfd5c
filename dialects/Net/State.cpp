//===- State.cpp - verifiers of variables and their uses ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/Net.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;

/// The global type of the variable. Local types do not serve for comparison, since variables of the same placement may
/// be stored differently.
static RankedTensorType getWholeType(VariableOp variable) {
  if (auto global = kGlobalTypeAttr.get(variable))
    if (auto type = dyn_cast<RankedTensorType>(global.getValue()))
      return type;
  return variable.getTensorType();
}

/// True if every size in `shape` equals that in `other` or is 1.
static bool isLike(ArrayRef<int64_t> shape, ArrayRef<int64_t> other) {
  return shape.size() == other.size() && llvm::all_of(llvm::zip(shape, other), [](auto sizes) {
           return std::get<0>(sizes) == 1 || std::get<0>(sizes) == std::get<1>(sizes);
         });
}

LogicalResult VariableOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FlatSymbolRefAttr like = getLikeAttr();
  if (!like)
    return success();
  auto other = symbols.lookupNearestSymbolFrom<VariableOp>(*this, like);
  // variable_c2
  if (!other)
    return emitOpError() << "is placed like " << like << ", which is no variable";
  if (!isLike(getWholeType(*this).getShape(), getWholeType(other).getShape()))
    return emitOpError() << "of " << getWholeType(*this) << " is placed like " << like << " of " << getWholeType(other);
  return success();
}

/// Checks that `variable` exists and has `type`.
static LogicalResult verifyUse(Operation *op, SymbolTableCollection &symbols, FlatSymbolRefAttr variable, Type type) {
  auto definition = symbols.lookupNearestSymbolFrom<VariableOp>(op, variable);
  if (!definition)
    return op->emitOpError() << "names " << variable << ", which is no variable";
  if (definition.getTensorType() != type) {
    auto diagnostic = op->emitOpError() << "uses " << variable << " as " << type << " but it is "
                                        << definition.getTensorType();
    diagnostic.attachNote(definition.getLoc()) << "the variable is here";
    return diagnostic;
  }
  return success();
}

LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyUse(*this, symbols, getVariableAttr(), getResult().getType());
}

/// True if `op` is the first assignment in its block. The search stops at the previous assignment, so that the searches
/// of all assignments of a block together visit each operation once.
static bool isFirstAssign(AssignOp op) {
  for (Operation *before = op->getPrevNode(); before; before = before->getPrevNode())
    if (isa<AssignOp>(before))
      return false;
  return true;
}

/// Checks that no variable is assigned twice from `first` to the end of its block.
static LogicalResult verifyAssignedOnce(AssignOp first) {
  llvm::MapVector<Attribute, AssignOp> seen;
  for (Operation *op = first; op; op = op->getNextNode()) {
    auto assign = dyn_cast<AssignOp>(op);
    if (!assign)
      continue;
    auto [entry, inserted] = seen.insert({assign.getVariableAttr(), assign});
    if (inserted)
      continue;
    auto diagnostic = assign.emitOpError() << "assigns " << assign.getVariableAttr() << " a second time";
    diagnostic.attachNote(entry->second.getLoc()) << "the first assignment is here";
    return diagnostic;
  }
  return success();
}

LogicalResult AssignOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // assign_c1
  if (failed(verifyUse(*this, symbols, getVariableAttr(), getValue().getType())))
    return failure();
  // assign_c2
  return isFirstAssign(*this) ? verifyAssignedOnce(*this) : success();
}
