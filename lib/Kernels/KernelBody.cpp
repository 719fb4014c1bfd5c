//===- KernelBody.cpp - lowers a kernel's body to linalg ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Kernels/KernelBody.h"
#include "dialects/Dist/Interfaces.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;

RankedTensorType schedule::getSignless(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  auto integer = dyn_cast<IntegerType>(tensor.getElementType());
  if (!integer || integer.isSignless())
    return tensor;
  return tensor.clone(IntegerType::get(type.getContext(), integer.getWidth()));
}

FailureOr<SmallVector<Value>> schedule::lowerBody(Block &body, OpBuilder &builder, ValueRange arguments) {
  IRMapping mapping;
  mapping.map(body.getArguments(), arguments);
  for (Operation &op : body.without_terminator()) {
    auto lowering = dyn_cast<KernelOpInterface>(op);
    if (!lowering)
      return op.emitError() << "operation " << op.getName() << " has no kernel lowering";
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(mapping.lookup(operand));
    FailureOr<SmallVector<Value>> results = lowering.lowerToLinalg(builder, operands);
    if (failed(results))
      return failure();
    mapping.map(op.getResults(), *results);
  }
  SmallVector<Value> outputs;
  for (Value operand : body.getTerminator()->getOperands())
    outputs.push_back(mapping.lookup(operand));
  return outputs;
}
