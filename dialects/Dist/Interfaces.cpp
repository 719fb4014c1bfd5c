//===- Interfaces.cpp - localization of operations ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Interfaces.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace meshwright::dist;

#include "dialects/Dist/DistInterfaces.cpp.inc"

RankedTensorType Localizer::getResultType(Operation *op, unsigned index) const {
  auto type = cast<RankedTensorType>(op->getResult(index).getType());
  return type.clone(resultPlacements[index].getLocalShape(type.getShape()));
}

SmallVector<Value> Localizer::clone(Operation *op) {
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  for (unsigned index = 0; index < op->getNumResults(); ++index)
    state.addTypes(getResultType(op, index));
  state.addAttributes(op->getAttrs());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  Operation *made = builder.create(state);
  meshwright::forget(made, meshwright::Inherit::Local);
  return llvm::to_vector_of<Value>(made->getResults());
}
