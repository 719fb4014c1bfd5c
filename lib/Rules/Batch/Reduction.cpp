//===- Reduction.cpp - reductions and orders on batches -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attach.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;
using namespace meshwright::net::batch;

static Value batchReduce(ReduceOp op, Batch &batch) {
  return make(op, batch, op.getKind(), batch.get(0), batch.shift(op.getDims()));
}

static Results batchArgReduce(ArgReduceOp op, Batch &batch) {
  auto made = ArgReduceOp::create(batch.build.builder, batch.build.location, batch.addSizes(op.getValue().getType()),
                                  batch.addSizes(op.getIndex().getType()), op.getKind(), batch.get(0),
                                  static_cast<int64_t>(op.getDim()) + batch.getRank());
  return {made.getValue(), made.getIndex()};
}

static Value batchArgSort(ArgSortOp op, Batch &batch) {
  SmallVector<Value> keys;
  for (unsigned index = 0; index < op->getNumOperands(); ++index)
    keys.push_back(batch.get(index));
  return make(op, batch, keys, op.getDim() + batch.getRank(), op.getDescending(), op.getTotalOrder());
}

void batch::attachReduction(MLIRContext *context) {
  attach<ReduceOp, batchReduce>(context);
  attach<ArgReduceOp, batchArgReduce>(context);
  attach<ArgSortOp, batchArgSort>(context);
}
