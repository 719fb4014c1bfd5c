//===- Loop.cpp - loops on batches ----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All members go through an iteration together, because all loops are counted by constants. Stacks have the iterations
// first and the batch after them; that is restored before and after the loop.
//
//===----------------------------------------------------------------------===//

#include "Attach.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;
using namespace meshwright::net::batch;

/// The `net.end_loop` of the loop whose number `index` is.
static Operation *findEnd(Value index) {
  for (Operation *user : index.getUsers())
    if (isa<EndLoopOp>(user))
      return user;
  llvm_unreachable("a loop has an end");
}

static Value batchCarry(CarryOp op, Batch &batch) {
  batch.build.builder.setInsertionPoint(op.getIndex().getDefiningOp());
  Value init = batch.get(0);
  batch.build.builder.setInsertionPoint(op);
  return make(op, batch, init, op.getIndex());
}

static Value batchNext(NextOp op, Batch &batch) { return make(op, batch, batch.get(0), batch.get(1)); }

static Value batchTotal(TotalOp op, Batch &batch) { return make(op, batch, batch.get(0), op.getIndex()); }

static Value batchTake(TakeOp op, Batch &batch) {
  NetBuilder &build = batch.build;
  build.builder.setInsertionPoint(op.getIndex().getDefiningOp());
  Value stack = batch.get(0);
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, typeOf(stack).getRank()));
  std::rotate(order.begin(), order.begin() + batch.getRank(), order.begin() + batch.getRank() + 1);
  stack = build.transpose(stack, order);
  build.builder.setInsertionPoint(op);
  return make(op, batch, stack, op.getIndex());
}

static Value batchStack(StackOp op, Batch &batch) {
  NetBuilder &build = batch.build;
  SmallVector<int64_t> shape = batch.addSizes(shapeOf(op.getValue()));
  shape.insert(shape.begin(), shapeOf(op.getResult()).front());
  Value stack =
      StackOp::create(build.builder, build.location, typeOf(op.getResult()).clone(shape), batch.get(0), op.getIndex());
  build.builder.setInsertionPointAfter(findEnd(op.getIndex()));
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  std::rotate(order.begin(), order.begin() + 1, order.begin() + batch.getRank() + 1);
  return build.transpose(stack, order);
}

void batch::attachLoop(MLIRContext *context) {
  attach<CarryOp, batchCarry>(context);
  attach<NextOp, batchNext>(context);
  attach<TotalOp, batchTotal>(context);
  attach<TakeOp, batchTake>(context);
  attach<StackOp, batchStack>(context);
}
