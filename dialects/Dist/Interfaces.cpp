//===- Interfaces.cpp - localization and cost of operations ---------------===//
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

static int64_t countElements(TypeRange types) {
  int64_t elements = 0;
  for (Type type : types)
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      elements += tensor.getNumElements();
  return elements;
}

int64_t meshwright::dist::getFlops(Operation *op) {
  auto costed = dyn_cast<CostOpInterface>(op);
  return costed ? costed.getFlops() : countElements(op->getResultTypes());
}

bool meshwright::dist::isHeavy(Operation *op) {
  return getFlops(op) > countElements(op->getOperandTypes()) + countElements(op->getResultTypes());
}
