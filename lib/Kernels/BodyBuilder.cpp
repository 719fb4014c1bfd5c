//===- BodyBuilder.cpp - writes the body of a kernel ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BodyBuilder.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

Value BodyBuilder::get(Value value) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  if (op && isInside(op)) {
    clone(op);
    return mapping.lookup(value);
  }
  inputs.push_back(value);
  Value argument = body.addArgument(value.getType(), value.getLoc());
  mapping.map(value, argument);
  return argument;
}

void BodyBuilder::clone(Operation *op) {
  for (Value operand : op->getOperands())
    get(operand);
  OpBuilder::atBlockEnd(&body).clone(*op, mapping)->setDiscardableAttrs(ArrayRef<NamedAttribute>());
}

SmallVector<Value> BodyBuilder::finish(ValueRange outputs) {
  SmallVector<Value> yielded = llvm::map_to_vector(outputs, [&](Value output) { return get(output); });
  OpBuilder builder = OpBuilder::atBlockEnd(&body);
  dist::YieldOp::create(builder, kernel.getLoc(), yielded);
  return std::move(inputs);
}
