//===- Window.cpp - windows and convolutions on batches -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attach.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;
using namespace meshwright::net::batch;

static Value batchReduceWindow(ReduceWindowOp op, Batch &batch) {
  return make(op, batch, op.getKind(), batch.get(0), batch.addEntries(op.getSizes(), 1),
              batch.addEntries(op.getStrides(), 1), batch.addEntries(op.getLow(), 0), batch.addEntries(op.getHigh(), 0),
              batch.addEntries(op.getBaseDilation(), 1), batch.addEntries(op.getWindowDilation(), 1));
}

static Value batchSelectAndScatter(SelectAndScatterOp op, Batch &batch) {
  return make(op, batch, op.getKind(), batch.get(0), batch.get(1), batch.addEntries(op.getSizes(), 1),
              batch.addEntries(op.getStrides(), 1), batch.addEntries(op.getLow(), 0), batch.addEntries(op.getHigh(), 0),
              batch.addEntries(op.getBaseDilation(), 1), batch.addEntries(op.getWindowDilation(), 1));
}

/// Joins the dimensions of the batch with dimension `dim` of a member: the members are its slowest part.
static Value joinInto(Batch &batch, Value value, int64_t dim) {
  SmallVector<int64_t> order, shape;
  ArrayRef<int64_t> sizes = shapeOf(value);
  for (int64_t own = 0, rank = static_cast<int64_t>(sizes.size()) - batch.getRank(); own < rank; ++own) {
    int64_t size = sizes[own + batch.getRank()];
    if (own == dim)
      for (auto [number, members] : llvm::enumerate(batch.getSizes())) {
        order.push_back(static_cast<int64_t>(number));
        size *= members;
      }
    order.push_back(own + batch.getRank());
    shape.push_back(size);
  }
  return batch.build.reshape(batch.build.transpose(value, order), shape);
}

/// Undoes `joinInto` for a value of which the members have `shape`.
static Value splitFrom(Batch &batch, Value value, int64_t dim, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> divided(shape.take_front(dim)), order;
  llvm::append_range(divided, batch.getSizes());
  llvm::append_range(divided, shape.drop_front(dim));
  for (int64_t member = 0; member < batch.getRank(); ++member)
    order.push_back(dim + member);
  for (int64_t own = 0; own < static_cast<int64_t>(shape.size()); ++own)
    order.push_back(own < dim ? own : own + batch.getRank());
  return batch.build.transpose(batch.build.reshape(value, divided), order);
}

/// With one kernel for all, the members are further elements of the batch of images. With kernels of their own they are
/// further groups of features, or of the batch if that has groups already.
static Value batchConvolution(ConvolutionOp op, Batch &batch) {
  ConvolutionDimsAttr dims = op.getDims();
  int64_t groups = op.getGroups(), batchGroups = op.getBatchGroups(), members = 1;
  for (int64_t size : batch.getSizes())
    members *= size;
  bool isShared = batch.isSingle(1) && batchGroups == 1;
  bool joinsBatch = isShared || batchGroups > 1;
  Value lhs = joinInto(batch, batch.get(0), joinsBatch ? dims.getLhsBatch() : dims.getLhsFeature());
  Value rhs = isShared ? batch.getSingle(1) : joinInto(batch, batch.get(1), dims.getRhsOutput());
  if (!isShared)
    (joinsBatch ? batchGroups : groups) *= members;
  int64_t joined = isShared ? dims.getOutBatch() : dims.getOutFeature();
  ArrayRef<int64_t> own = shapeOf(op.getResult());
  SmallVector<int64_t> shape(own);
  shape[joined] *= members;
  Value result = ConvolutionOp::create(batch.build.builder, batch.build.location, typeOf(op.getResult()).clone(shape),
                                       lhs, rhs, dims, op.getStrides(), op.getLow(), op.getHigh(), op.getLhsDilation(),
                                       op.getRhsDilation(), op.getReversed(), groups, batchGroups);
  return splitFrom(batch, result, joined, own);
}

void batch::attachWindow(MLIRContext *context) {
  attach<ReduceWindowOp, batchReduceWindow>(context);
  attach<SelectAndScatterOp, batchSelectAndScatter>(context);
  attach<ConvolutionOp, batchConvolution>(context);
}
