//===- Dynamic.cpp - derivatives of boxes at run-time places --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attach.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;
using namespace meshwright::net::derivative;

/// One cotangent per operand: those given, and none for the places.
static Cotangents withoutStarts(Operation *op, ArrayRef<Value> cotangents) {
  Cotangents all(cotangents);
  all.resize(op->getNumOperands());
  return all;
}

static FailureOr<Cotangents> differentiateDynamicSlice(DynamicSliceOp op, Context c) {
  Value zeros = c.build.splatLike(op.getOperand(), 0);
  return withoutStarts(op, c.build.dynamicUpdateSlice(zeros, c.cotangent, op.getStarts()));
}

static FailureOr<Cotangents> differentiateDynamicUpdateSlice(DynamicUpdateSliceOp op, Context c) {
  Value operand, update;
  if (c.wanted.test(0))
    operand = c.build.dynamicUpdateSlice(c.cotangent, c.build.splatLike(op.getUpdate(), 0), op.getStarts());
  if (c.wanted.test(1))
    update = c.build.dynamicSlice(c.cotangent, op.getStarts(), shapeOf(op.getUpdate()));
  return withoutStarts(op, {operand, update});
}

void derivative::attachDynamic(MLIRContext *context) {
  attach<DynamicSliceOp, differentiateDynamicSlice>(context);
  attach<DynamicUpdateSliceOp, differentiateDynamicUpdateSlice>(context);
}
