//===- State.cpp - verifiers of variables and their uses ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/Net.h"

using namespace mlir;
using namespace meshwright::net;

LogicalResult VariableOp::verify() {
  FlatSymbolRefAttr like = getLikeAttr();
  if (!like)
    return success();
  auto other = SymbolTable::lookupNearestSymbolFrom<VariableOp>(*this, like);
  // variable_c2
  if (!other)
    return emitOpError() << "is placed like " << like << ", which is no variable";
  if (other.getTensorType().getShape() != getTensorType().getShape())
    return emitOpError() << "of " << getTensorType() << " is placed like " << like << " of " << other.getTensorType();
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

LogicalResult AssignOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyUse(*this, symbols, getVariableAttr(), getValue().getType());
}
