//===- Layout.cpp - layout operations on batches --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements move within their member of the batch.
//
//===----------------------------------------------------------------------===//

#include "Attach.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;
using namespace meshwright::net::batch;

static Value batchBroadcast(BroadcastOp op, Batch &batch) {
  return batch.build.broadcast(batch.get(0), batch.addSizes(shapeOf(op.getResult())), batch.addDims(op.getDims()));
}

static Value batchReshape(ReshapeOp op, Batch &batch) {
  return batch.build.reshape(batch.get(0), batch.addSizes(shapeOf(op.getResult())));
}

static Value batchTranspose(TransposeOp op, Batch &batch) {
  return batch.build.transpose(batch.get(0), batch.addDims(op.getPermutation()));
}

static Value batchReverse(ReverseOp op, Batch &batch) {
  return batch.build.reverse(batch.get(0), batch.shift(op.getDims()));
}

static Value batchSlice(SliceOp op, Batch &batch) {
  return batch.build.slice(batch.get(0), batch.addEntries(op.getStarts(), 0), batch.addSizes(op.getLimits()),
                           batch.addEntries(op.getSteps(), 1));
}

static Value batchConcatenate(ConcatenateOp op, Batch &batch) {
  SmallVector<Value> operands;
  for (unsigned index = 0; index < op->getNumOperands(); ++index)
    operands.push_back(batch.get(index));
  return make(op, batch, operands, op.getDim() + batch.getRank());
}

static Value batchPad(PadOp op, Batch &batch) {
  SmallVector<int64_t> low = batch.addEntries(op.getLow(), 0), high = batch.addEntries(op.getHigh(), 0),
                       interior = batch.addEntries(op.getInterior(), 0);
  Value operand = batch.get(0);
  if (batch.isSingle(1))
    return make(op, batch, operand, batch.getSingle(1), low, high, interior);
  // Each member has a value of its own, which replaces another one wherever no element is.
  NetBuilder &build = batch.build;
  Value scalar = build.splat(op.getValue().getType(), 0);
  Value padded = make(op, batch, operand, scalar, low, high, interior);
  Type i1 = build.builder.getI1Type();
  Value here = build.splat(typeOf(operand).clone(i1), 1);
  here = PadOp::create(build.builder, build.location, typeOf(padded).clone(i1), here,
                       build.splat(RankedTensorType::get({}, i1), 0), low, high, interior);
  Value values = build.broadcast(batch.get(1), shapeOf(padded), batch.addDims({}));
  return build.select(here, padded, values);
}

void batch::attachLayout(MLIRContext *context) {
  attach<BroadcastOp, batchBroadcast>(context);
  attach<ReshapeOp, batchReshape>(context);
  attach<TransposeOp, batchTranspose>(context);
  attach<ReverseOp, batchReverse>(context);
  attach<SliceOp, batchSlice>(context);
  attach<ConcatenateOp, batchConcatenate>(context);
  attach<PadOp, batchPad>(context);
}
