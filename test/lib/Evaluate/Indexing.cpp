//===- Indexing.cpp - evaluates gathers, scatters and boxes ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As StableHLO's specification words them: for every index of the windows (the result of a gather, the updates of a
// scatter) the element of the operand that it stands for.
//
//===----------------------------------------------------------------------===//

#include "test/lib/Evaluate/Evaluate.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::evaluate;

namespace {

/// The dimension numbers that gather and scatter share.
struct Numbers {
  ArrayRef<int64_t> windowDims, droppedDims, operandBatching, indicesBatching, indexMap;
  int64_t vectorDim;
};

} // namespace

/// The box to which the window at `index` belongs, as an index into the batch dimensions of the indices.
static Index batchOf(const Numbers &numbers, Shape index) {
  Index batch;
  for (auto [dim, at] : llvm::enumerate(index))
    if (!llvm::is_contained(numbers.windowDims, static_cast<int64_t>(dim)))
      batch.push_back(at);
  return batch;
}

/// The position that the index vector of a box names, as full index into the operand.
static Index startOf(const Numbers &numbers, const Tensor &indices, int64_t rank, const Index &batch) {
  Index start(rank, 0);
  for (auto [component, dim] : llvm::enumerate(numbers.indexMap)) {
    Index at(batch);
    if (numbers.vectorDim < static_cast<int64_t>(indices.shape().size()))
      at.insert(at.begin() + numbers.vectorDim, static_cast<int64_t>(component));
    start[dim] = indices.data[linearize(indices.shape(), at)].i;
  }
  return start;
}

/// The part of the index into the operand that comes from the batch dimensions, and that from within the window.
static Index offsetOf(const Numbers &numbers, int64_t rank, Shape index, const Index &batch) {
  Index offset(rank, 0);
  for (auto [operandDim, indicesDim] : llvm::zip_equal(numbers.operandBatching, numbers.indicesBatching))
    offset[operandDim] = batch[indicesDim < numbers.vectorDim ? indicesDim : indicesDim - 1];
  size_t next = 0;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(numbers.droppedDims, dim) && !llvm::is_contained(numbers.operandBatching, dim))
      offset[dim] = index[numbers.windowDims[next++]];
  return offset;
}

/// The sizes of a box in the dimensions of the operand.
static Index boxOf(const Numbers &numbers, int64_t rank, Shape windows) {
  Index sizes(rank, 1);
  size_t next = 0;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(numbers.droppedDims, dim) && !llvm::is_contained(numbers.operandBatching, dim))
      sizes[dim] = windows[numbers.windowDims[next++]];
  return sizes;
}

/// An unsigned position of 64 bits is large, not negative.
static int64_t asPosition(const Tensor &indices, int64_t value) {
  return indices.isUnsigned() && value < 0 ? INT64_MAX : value;
}

static Tensor evaluateGather(net::GatherOp op, const Tensor &operand, const Tensor &indices) {
  net::GatherDimsAttr dims = op.getDims();
  Numbers numbers{dims.getOffsetDims(),          dims.getCollapsedDims(), dims.getOperandBatchingDims(),
                  dims.getIndicesBatchingDims(), dims.getStartIndexMap(), dims.getIndexVectorDim()};
  Tensor result(cast<RankedTensorType>(op.getResult().getType()));
  int64_t rank = operand.type.getRank();
  size_t next = 0;
  forEachIndex(result.shape(), [&](Shape index) {
    Index batch = batchOf(numbers, index);
    Index source = startOf(numbers, indices, rank, batch), offset = offsetOf(numbers, rank, index, batch);
    for (int64_t dim = 0; dim < rank; ++dim) {
      int64_t last = operand.shape()[dim] - op.getSizes()[dim];
      source[dim] = std::clamp<int64_t>(asPosition(indices, source[dim]), 0, last) + offset[dim];
    }
    result.data[next++] = operand.data[linearize(operand.shape(), source)];
  });
  return result;
}

static Element combine(net::ScatterKind kind, const Tensor &operand, Element old, Element update) {
  bool isFloat = operand.isFloat();
  bool less = operand.isUnsigned() ? static_cast<uint64_t>(old.i) < static_cast<uint64_t>(update.i)
              : isFloat            ? old.f < update.f
                                   : old.i < update.i;
  switch (kind) {
  case net::ScatterKind::Assign:
    return update;
  case net::ScatterKind::Add:
    return isFloat ? Element{.f = old.f + update.f}
                   : Element{.i = static_cast<int64_t>(static_cast<uint64_t>(old.i) + static_cast<uint64_t>(update.i))};
  case net::ScatterKind::Multiply:
    return isFloat ? Element{.f = old.f * update.f}
                   : Element{.i = static_cast<int64_t>(static_cast<uint64_t>(old.i) * static_cast<uint64_t>(update.i))};
  case net::ScatterKind::Max:
    return isFloat ? Element{.f = maximum(old.f, update.f)} : less ? update : old;
  case net::ScatterKind::Min:
    return isFloat ? Element{.f = minimum(old.f, update.f)} : less ? old : update;
  }
  llvm_unreachable("a kind of scatter");
}

static Tensor evaluateScatter(net::ScatterOp op, const Tensor &operand, const Tensor &indices, const Tensor &updates) {
  net::ScatterDimsAttr dims = op.getDims();
  Numbers numbers{dims.getUpdateWindowDims(),         dims.getInsertedDims(),
                  dims.getOperandBatchingDims(),      dims.getIndicesBatchingDims(),
                  dims.getScatterDimsToOperandDims(), dims.getIndexVectorDim()};
  Tensor result = operand;
  int64_t rank = operand.type.getRank();
  Index sizes = boxOf(numbers, rank, updates.shape());
  size_t next = 0;
  forEachIndex(updates.shape(), [&](Shape index) {
    Element update = updates.data[next++];
    Index batch = batchOf(numbers, index);
    Index target = startOf(numbers, indices, rank, batch), offset = offsetOf(numbers, rank, index, batch);
    for (int64_t dim = 0; dim < rank; ++dim) {
      // Positions may be as large as integers get.
      int64_t start = asPosition(indices, target[dim]);
      if (start < 0 || start > operand.shape()[dim] - sizes[dim])
        return;
      target[dim] = start + offset[dim];
    }
    Element &element = result.data[linearize(result.shape(), target)];
    element = combine(op.getKind(), operand, element, update);
  });
  for (Element &element : result.data) {
    if (operand.isFloat())
      element.f = roundTo(operand.type.getElementType(), element.f);
    else
      element.i = wrapTo(operand.type.getElementType(), element.i);
  }
  return result;
}

/// The clamped place of a box.
static Index placeOf(ArrayRef<const Tensor *> starts, Shape whole, Shape box) {
  Index place;
  for (auto [start, size, boxSize] : llvm::zip_equal(starts, whole, box))
    place.push_back(std::clamp<int64_t>(asPosition(*start, start->data.front().i), 0, size - boxSize));
  return place;
}

/// The index of the whole tensor that an index of the box at `place` means.
static Index shift(Shape index, const Index &place) {
  Index shifted;
  for (auto [at, start] : llvm::zip_equal(index, place))
    shifted.push_back(at + start);
  return shifted;
}

static Tensor evaluateDynamicSlice(net::DynamicSliceOp op, ArrayRef<const Tensor *> operands) {
  Tensor result(cast<RankedTensorType>(op.getResult().getType()));
  const Tensor &whole = *operands.front();
  Index place = placeOf(operands.drop_front(), whole.shape(), result.shape());
  size_t next = 0;
  forEachIndex(result.shape(),
               [&](Shape index) { result.data[next++] = whole.data[linearize(whole.shape(), shift(index, place))]; });
  return result;
}

static Tensor evaluateDynamicUpdateSlice(ArrayRef<const Tensor *> operands) {
  Tensor result = *operands.front();
  const Tensor &box = *operands[1];
  Index place = placeOf(operands.drop_front(2), result.shape(), box.shape());
  size_t next = 0;
  forEachIndex(box.shape(),
               [&](Shape index) { result.data[linearize(result.shape(), shift(index, place))] = box.data[next++]; });
  return result;
}

std::optional<Tensor> evaluate::evaluateIndexing(Operation *op, ArrayRef<const Tensor *> operands) {
  if (auto gather = dyn_cast<net::GatherOp>(op))
    return evaluateGather(gather, *operands[0], *operands[1]);
  if (auto scatter = dyn_cast<net::ScatterOp>(op))
    return evaluateScatter(scatter, *operands[0], *operands[1], *operands[2]);
  if (auto slice = dyn_cast<net::DynamicSliceOp>(op))
    return evaluateDynamicSlice(slice, operands);
  if (isa<net::DynamicUpdateSliceOp>(op))
    return evaluateDynamicUpdateSlice(operands);
  return std::nullopt;
}
