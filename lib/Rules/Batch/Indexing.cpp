//===- Indexing.cpp - reads and writes at positions on batches ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A box at a scalar position stays one where the position is the same for all members. Elsewhere it becomes a gather or
// a scatter, whose index vectors differ by member.
//
//===----------------------------------------------------------------------===//

#include "Attach.h"
#include "dialects/Net/Indices.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;
using namespace meshwright::net::batch;

static Value batchGather(GatherOp op, Batch &batch) {
  GatherDimsAttr dims = op.getDims();
  int64_t vectorDim = dims.getIndexVectorDim() + batch.getRank();
  if (batch.isSingle(0)) {
    // All members read the same operand.
    auto shared = GatherDimsAttr::get(op.getContext(), batch.shift(dims.getOffsetDims()), dims.getCollapsedDims(),
                                      dims.getOperandBatchingDims(), batch.shift(dims.getIndicesBatchingDims()),
                                      dims.getStartIndexMap(), vectorDim);
    return make(op, batch, batch.getSingle(0), batch.get(1), shared, op.getSizes());
  }
  auto own =
      GatherDimsAttr::get(op.getContext(), batch.shift(dims.getOffsetDims()), batch.shift(dims.getCollapsedDims()),
                          batch.addDims(dims.getOperandBatchingDims()), batch.addDims(dims.getIndicesBatchingDims()),
                          batch.shift(dims.getStartIndexMap()), vectorDim);
  return make(op, batch, batch.get(0), batch.get(1), own, batch.addEntries(op.getSizes(), 1));
}

static Value batchScatter(ScatterOp op, Batch &batch) {
  ScatterDimsAttr dims = op.getDims();
  auto own = ScatterDimsAttr::get(
      op.getContext(), batch.shift(dims.getUpdateWindowDims()), batch.shift(dims.getInsertedDims()),
      batch.addDims(dims.getOperandBatchingDims()), batch.addDims(dims.getIndicesBatchingDims()),
      batch.shift(dims.getScatterDimsToOperandDims()), dims.getIndexVectorDim() + batch.getRank());
  return make(op, batch, op.getKind(), batch.get(0), batch.get(1), batch.get(2), own);
}

/// The starts of a box of `box` in `whole`, operands from `first` on, as an index vector for every member, clamped so
/// that the box lies inside.
static Value joinStarts(Batch &batch, unsigned first, ArrayRef<int64_t> whole, ArrayRef<int64_t> box) {
  NetBuilder &build = batch.build;
  SmallVector<Value> starts;
  for (unsigned dim = 0; dim < whole.size(); ++dim) {
    Value start = build.reshape(batch.get(first + dim), batch.addSizes(ArrayRef<int64_t>{1}));
    starts.push_back(clampIndices(build, start, batch.getRank(), {whole[dim] - box[dim]}));
  }
  if (!llvm::all_equal(llvm::map_range(starts, elementTypeOf)))
    for (Value &start : starts)
      start = build.convert(start, build.builder.getI64Type());
  return build.concatenate(starts, batch.getRank());
}

/// The starts of a box, which all members have in common, with 0 for the dimensions of the batch.
static SmallVector<Value> addStarts(Batch &batch, ValueRange starts) {
  Value zero = batch.build.splat(RankedTensorType::get({}, batch.build.builder.getI32Type()), 0);
  SmallVector<Value> result(batch.getRank(), zero);
  llvm::append_range(result, starts);
  return result;
}

static SmallVector<int64_t> count(int64_t rank) { return llvm::to_vector(llvm::seq<int64_t>(0, rank)); }

static Value batchDynamicSlice(DynamicSliceOp op, Batch &batch) {
  ArrayRef<int64_t> whole = shapeOf(op.getOperand()), box = shapeOf(op.getResult());
  if (batch.areSingle(1))
    return batch.build.dynamicSlice(batch.get(0), addStarts(batch, op.getStarts()), batch.addSizes(box));
  Value indices = joinStarts(batch, 1, whole, box);
  SmallVector<int64_t> own = count(whole.size());
  bool isShared = batch.isSingle(0);
  SmallVector<int64_t> paired = isShared ? SmallVector<int64_t>() : batch.addDims({});
  auto dims = GatherDimsAttr::get(op.getContext(), batch.shift(own), {}, paired, paired,
                                  isShared ? own : batch.shift(own), batch.getRank());
  return GatherOp::create(batch.build.builder, batch.build.location, batch.addSizes(op.getResult().getType()),
                          isShared ? batch.getSingle(0) : batch.get(0), indices, dims,
                          isShared ? SmallVector<int64_t>(box) : batch.addEntries(box, 1));
}

static Value batchDynamicUpdateSlice(DynamicUpdateSliceOp op, Batch &batch) {
  if (batch.areSingle(2))
    return batch.build.dynamicUpdateSlice(batch.get(0), batch.get(1), addStarts(batch, op.getStarts()));
  Value indices = joinStarts(batch, 2, shapeOf(op.getOperand()), shapeOf(op.getUpdate()));
  SmallVector<int64_t> own = batch.shift(count(shapeOf(op.getOperand()).size())), paired = batch.addDims({});
  auto dims = ScatterDimsAttr::get(op.getContext(), own, {}, paired, paired, own, batch.getRank());
  return ScatterOp::create(batch.build.builder, batch.build.location, batch.addSizes(op.getResult().getType()),
                           ScatterKind::Assign, batch.get(0), indices, batch.get(1), dims);
}

void batch::attachIndexing(MLIRContext *context) {
  attach<GatherOp, batchGather>(context);
  attach<ScatterOp, batchScatter>(context);
  attach<DynamicSliceOp, batchDynamicSlice>(context);
  attach<DynamicUpdateSliceOp, batchDynamicUpdateSlice>(context);
}
