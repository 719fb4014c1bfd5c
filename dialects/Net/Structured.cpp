//===- Structured.cpp - verifiers of structured operations ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of layout operations, dot, reductions, gather and scatter. Each computes the result's shape from operands
// and attributes and compares it with the stated one; the comments name the constraints of the operation's description.
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/Net.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace meshwright::net;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
static ArrayRef<int64_t> shapeOf(Value value) { return typeOf(value).getShape(); }

/// Checks that `dims` are distinct dimensions of a tensor of `rank`.
static LogicalResult verifyDims(Operation *op, ArrayRef<int64_t> dims, int64_t rank, StringRef what) {
  llvm::SmallBitVector seen(rank);
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= rank)
      return op->emitOpError() << what << " names dimension " << dim << " of a tensor of rank " << rank;
    if (seen.test(dim))
      return op->emitOpError() << what << " names dimension " << dim << " twice";
    seen.set(dim);
  }
  return success();
}

static LogicalResult verifyShape(Operation *op, ArrayRef<int64_t> expected, ArrayRef<int64_t> actual) {
  if (expected == actual)
    return success();
  auto diagnostic = op->emitOpError() << "has result shape [";
  llvm::interleaveComma(actual, diagnostic);
  diagnostic << "] but its operands and attributes make [";
  llvm::interleaveComma(expected, diagnostic);
  return diagnostic << "]";
}

static LogicalResult verifyCount(Operation *op, ArrayRef<int64_t> list, int64_t rank, StringRef what) {
  if (static_cast<int64_t>(list.size()) != rank)
    return op->emitOpError() << "has " << list.size() << " " << what << " for a tensor of rank " << rank;
  return success();
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult IotaOp::verify() {
  // iota_c1
  return verifyDims(*this, {static_cast<int64_t>(getDim())}, typeOf(getResult()).getRank(), "dim");
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  ArrayRef<int64_t> from = shapeOf(getOperand()), to = shapeOf(getResult());
  // broadcast_c1
  if (failed(verifyCount(*this, getDims(), from.size(), "dims")) ||
      failed(verifyDims(*this, getDims(), to.size(), "dims")))
    return failure();
  // broadcast_c2
  for (auto [index, dim] : llvm::enumerate(getDims()))
    if (from[index] != to[dim])
      return emitOpError() << "maps dimension " << index << " of size " << from[index] << " to dimension " << dim
                           << " of size " << to[dim];
  return success();
}

LogicalResult ReshapeOp::verify() {
  // reshape_c1
  int64_t from = typeOf(getOperand()).getNumElements(), to = typeOf(getResult()).getNumElements();
  if (from != to)
    return emitOpError() << "turns " << from << " elements into " << to;
  return success();
}

LogicalResult TransposeOp::verify() {
  ArrayRef<int64_t> from = shapeOf(getOperand());
  // transpose_c1
  if (failed(verifyCount(*this, getPermutation(), from.size(), "dims")) ||
      failed(verifyDims(*this, getPermutation(), from.size(), "dims")))
    return failure();
  SmallVector<int64_t> expected;
  for (int64_t dim : getPermutation())
    expected.push_back(from[dim]);
  return verifyShape(*this, expected, shapeOf(getResult()));
}

LogicalResult SliceOp::verify() {
  ArrayRef<int64_t> from = shapeOf(getOperand());
  int64_t rank = from.size();
  // slice_c1
  if (failed(verifyCount(*this, getStarts(), rank, "starts")) ||
      failed(verifyCount(*this, getLimits(), rank, "limits")) || failed(verifyCount(*this, getSteps(), rank, "steps")))
    return failure();
  SmallVector<int64_t> expected;
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t start = getStarts()[dim], limit = getLimits()[dim], step = getSteps()[dim];
    // slice_c2
    if (start < 0 || start > limit || limit > from[dim] || step < 1)
      return emitOpError() << "takes [" << start << ":" << limit << ":" << step << "] of dimension " << dim
                           << " of size " << from[dim];
    expected.push_back(llvm::divideCeil(limit - start, step));
  }
  // slice_c3
  return verifyShape(*this, expected, shapeOf(getResult()));
}

LogicalResult PadOp::verify() {
  ArrayRef<int64_t> from = shapeOf(getOperand());
  int64_t rank = from.size();
  // pad_c1
  if (failed(verifyCount(*this, getLow(), rank, "low")) || failed(verifyCount(*this, getHigh(), rank, "high")) ||
      failed(verifyCount(*this, getInterior(), rank, "interior")))
    return failure();
  // pad_c3
  Type element = typeOf(getOperand()).getElementType();
  if (typeOf(getValue()).getRank() != 0 || typeOf(getValue()).getElementType() != element ||
      typeOf(getResult()).getElementType() != element)
    return emitOpError() << "pads " << getOperand().getType() << " with " << getValue().getType() << " to "
                         << getResult().getType();
  SmallVector<int64_t> expected;
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t interior = getInterior()[dim];
    int64_t size = from[dim] + std::max<int64_t>(from[dim] - 1, 0) * interior + getLow()[dim] + getHigh()[dim];
    if (interior < 0 || size < 0)
      return emitOpError() << "has interior " << interior << " and makes dimension " << dim << " of size " << size;
    expected.push_back(size);
  }
  // pad_c2
  return verifyShape(*this, expected, shapeOf(getResult()));
}

LogicalResult ConcatenateOp::verify() {
  int64_t rank = typeOf(getResult()).getRank(), dim = getDim();
  if (failed(verifyDims(*this, {dim}, rank, "dim")))
    return failure();
  SmallVector<int64_t> expected(shapeOf(getOperands().front()));
  for (auto [index, operand] : llvm::enumerate(getOperands())) {
    ArrayRef<int64_t> shape = shapeOf(operand);
    // concatenate_c1; a trait has checked that there is an operand.
    if (static_cast<int64_t>(shape.size()) != rank)
      return emitOpError() << "joins operand " << index << " of rank " << shape.size() << " into a result of rank "
                           << rank;
    // concatenate_c2
    for (int64_t other = 0; other < rank; ++other)
      if (other != dim && shape[other] != expected[other])
        return emitOpError() << "joins operand " << index << " of size " << shape[other] << " in dimension " << other
                             << " with one of size " << expected[other];
    if (index > 0)
      expected[dim] += shape[dim];
  }
  return verifyShape(*this, expected, shapeOf(getResult()));
}

//===----------------------------------------------------------------------===//
// Contraction and reduction
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> freeDims(int64_t rank, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
  SmallVector<int64_t> free;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(batch, dim) && !llvm::is_contained(contract, dim))
      free.push_back(dim);
  return free;
}

SmallVector<int64_t> DotOp::getLhsFree() {
  return freeDims(typeOf(getLhs()).getRank(), getLhsBatch(), getLhsContract());
}
SmallVector<int64_t> DotOp::getRhsFree() {
  return freeDims(typeOf(getRhs()).getRank(), getRhsBatch(), getRhsContract());
}

LogicalResult DotOp::verify() {
  ArrayRef<int64_t> lhs = shapeOf(getLhs()), rhs = shapeOf(getRhs());
  SmallVector<int64_t> lhsDims(getLhsBatch()), rhsDims(getRhsBatch());
  llvm::append_range(lhsDims, getLhsContract());
  llvm::append_range(rhsDims, getRhsContract());
  // dot_c1
  if (failed(verifyDims(*this, lhsDims, lhs.size(), "lhs")) || failed(verifyDims(*this, rhsDims, rhs.size(), "rhs")))
    return failure();
  if (getLhsBatch().size() != getRhsBatch().size() || getLhsContract().size() != getRhsContract().size())
    return emitOpError() << "pairs " << getLhsBatch().size() << " and " << getLhsContract().size()
                         << " dimensions with " << getRhsBatch().size() << " and " << getRhsContract().size();
  for (auto [left, right] : llvm::zip(lhsDims, rhsDims))
    if (lhs[left] != rhs[right])
      return emitOpError() << "pairs dimension " << left << " of size " << lhs[left] << " with dimension " << right
                           << " of size " << rhs[right];
  SmallVector<int64_t> expected;
  for (int64_t dim : getLhsBatch())
    expected.push_back(lhs[dim]);
  for (int64_t dim : getLhsFree())
    expected.push_back(lhs[dim]);
  for (int64_t dim : getRhsFree())
    expected.push_back(rhs[dim]);
  // dot_c2
  return verifyShape(*this, expected, shapeOf(getResult()));
}

LogicalResult ReduceOp::verify() {
  ArrayRef<int64_t> from = shapeOf(getOperand());
  // reduce_c3
  if (getKind() == ReduceKind::Tree)
    return emitOpError() << "reduces by tree, which is of placements and collectives; it is sum here";
  // reduce_c1
  if (failed(verifyDims(*this, getDims(), from.size(), "dims")))
    return failure();
  if (!llvm::is_sorted(getDims()))
    return emitOpError() << "has dims that do not increase";
  SmallVector<int64_t> expected;
  for (auto [dim, size] : llvm::enumerate(from))
    if (!llvm::is_contained(getDims(), static_cast<int64_t>(dim)))
      expected.push_back(size);
  // reduce_c2
  return verifyShape(*this, expected, shapeOf(getResult()));
}

LogicalResult ArgReduceOp::verify() {
  ArrayRef<int64_t> from = shapeOf(getOperand());
  int64_t dim = getDim();
  // arg_reduce_c1
  if (failed(verifyDims(*this, {dim}, from.size(), "dim")))
    return failure();
  if (from[dim] == 0)
    return emitOpError() << "looks for an element in dimension " << dim << " of size 0";
  // arg_reduce_c2
  if (typeOf(getValue()).getElementType() != typeOf(getOperand()).getElementType())
    return emitOpError() << "takes elements of " << getOperand().getType() << " into " << getValue().getType();
  SmallVector<int64_t> expected(from);
  expected.erase(expected.begin() + dim);
  return success(succeeded(verifyShape(*this, expected, shapeOf(getValue()))) &&
                 succeeded(verifyShape(*this, expected, shapeOf(getIndex()))));
}

//===----------------------------------------------------------------------===//
// Gather and scatter
//===----------------------------------------------------------------------===//

namespace {

/// The part of the verification that is common to gather and scatter: `windows` (the result of a gather, the updates of
/// a scatter) holds windows of `operand` at the positions in `indices`.
struct IndexedWindows {
  Operation *op;
  ArrayRef<int64_t> operand, indices, windows;
  ArrayRef<int64_t> windowDims, droppedDims, operandBatching, indicesBatching, indexMap;
  int64_t indexVectorDim;

  LogicalResult verifyLists() const;
  /// Checks the shape of `windows`, given the size of a window in every dimension of the operand.
  LogicalResult verifyWindows(ArrayRef<int64_t> sizes) const;
};

} // namespace

static LogicalResult verifySorted(Operation *op, ArrayRef<int64_t> dims, int64_t rank, StringRef what) {
  if (failed(verifyDims(op, dims, rank, what)))
    return failure();
  if (!llvm::is_sorted(dims))
    return op->emitOpError() << what << " does not increase";
  return success();
}

LogicalResult IndexedWindows::verifyLists() const {
  int64_t operandRank = operand.size(), indicesRank = indices.size();
  SmallVector<int64_t> absent(droppedDims);
  llvm::append_range(absent, operandBatching);
  if (failed(verifySorted(op, windowDims, windows.size(), "list of window dimensions")) ||
      failed(verifySorted(op, droppedDims, operandRank, "list of dropped dimensions")) ||
      failed(verifySorted(op, operandBatching, operandRank, "list of operand batching dimensions")) ||
      failed(verifyDims(op, indicesBatching, indicesRank, "list of indices batching dimensions")) ||
      failed(verifyDims(op, indexMap, operandRank, "index map")) ||
      failed(verifyDims(op, absent, operandRank, "dropped and batching dimensions")))
    return failure();
  if (indexVectorDim < 0 || indexVectorDim > indicesRank)
    return op->emitOpError() << "has index vector dimension " << indexVectorDim << " but indices of rank "
                             << indicesRank;
  int64_t vectorSize = indexVectorDim == indicesRank ? 1 : indices[indexVectorDim];
  if (vectorSize != static_cast<int64_t>(indexMap.size()))
    return op->emitOpError() << "has an index vector of size " << vectorSize << " for " << indexMap.size()
                             << " dimensions";
  if (operandBatching.size() != indicesBatching.size())
    return op->emitOpError() << "pairs " << operandBatching.size() << " batching dimensions with "
                             << indicesBatching.size();
  for (auto [left, right] : llvm::zip(operandBatching, indicesBatching))
    if (right == indexVectorDim || llvm::is_contained(indexMap, left) || operand[left] != indices[right])
      return op->emitOpError() << "pairs batching dimension " << left << " of size " << operand[left]
                               << " with dimension " << right << " of size " << indices[right];
  if (windowDims.size() + absent.size() != operand.size())
    return op->emitOpError() << "has " << windowDims.size() << " window dimensions and drops " << absent.size()
                             << " of " << operand.size();
  return success();
}

LogicalResult IndexedWindows::verifyWindows(ArrayRef<int64_t> sizes) const {
  SmallVector<int64_t> batch, window, expected;
  for (auto [dim, size] : llvm::enumerate(indices))
    if (static_cast<int64_t>(dim) != indexVectorDim)
      batch.push_back(size);
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (!llvm::is_contained(droppedDims, static_cast<int64_t>(dim)) &&
        !llvm::is_contained(operandBatching, static_cast<int64_t>(dim)))
      window.push_back(size);
  if (windowDims.size() + batch.size() != windows.size())
    return op->emitOpError() << "has " << windowDims.size() << " window and " << batch.size()
                             << " batch dimensions but windows of rank " << windows.size();
  size_t nextBatch = 0, nextWindow = 0;
  for (size_t dim = 0; dim < windows.size(); ++dim)
    expected.push_back(llvm::is_contained(windowDims, static_cast<int64_t>(dim)) ? window[nextWindow++]
                                                                                 : batch[nextBatch++]);
  return verifyShape(op, expected, windows);
}

LogicalResult GatherOp::verify() {
  GatherDimsAttr dims = getDims();
  IndexedWindows windows{*this,
                         shapeOf(getOperand()),
                         shapeOf(getIndices()),
                         shapeOf(getResult()),
                         dims.getOffsetDims(),
                         dims.getCollapsedDims(),
                         dims.getOperandBatchingDims(),
                         dims.getIndicesBatchingDims(),
                         dims.getStartIndexMap(),
                         dims.getIndexVectorDim()};
  if (typeOf(getOperand()).getElementType() != typeOf(getResult()).getElementType())
    return emitOpError() << "reads " << getOperand().getType() << " into " << getResult().getType();
  // gather_c1
  if (failed(windows.verifyLists()) || failed(verifyCount(*this, getSizes(), windows.operand.size(), "sizes")))
    return failure();
  // gather_c2
  for (auto [dim, size] : llvm::enumerate(getSizes())) {
    bool dropped = llvm::is_contained(windows.droppedDims, static_cast<int64_t>(dim)) ||
                   llvm::is_contained(windows.operandBatching, static_cast<int64_t>(dim));
    if (size < 0 || size > windows.operand[dim] || (dropped && size > 1))
      return emitOpError() << "reads boxes of size " << size << " from dimension " << dim << " of size "
                           << windows.operand[dim];
  }
  // gather_c3
  return windows.verifyWindows(getSizes());
}

LogicalResult ScatterOp::verify() {
  ScatterDimsAttr dims = getDims();
  IndexedWindows windows{*this,
                         shapeOf(getOperand()),
                         shapeOf(getIndices()),
                         shapeOf(getUpdates()),
                         dims.getUpdateWindowDims(),
                         dims.getInsertedDims(),
                         dims.getOperandBatchingDims(),
                         dims.getIndicesBatchingDims(),
                         dims.getScatterDimsToOperandDims(),
                         dims.getIndexVectorDim()};
  // scatter_c3
  if (getOperand().getType() != getResult().getType() ||
      typeOf(getOperand()).getElementType() != typeOf(getUpdates()).getElementType())
    return emitOpError() << "combines " << getUpdates().getType() << " into " << getOperand().getType() << " to "
                         << getResult().getType();
  // scatter_c1
  if (failed(windows.verifyLists()))
    return failure();
  // scatter_c2: the window may be smaller than the operand, so its sizes are those of the updates.
  SmallVector<int64_t> sizes(windows.operand.size(), 1);
  size_t next = 0;
  for (size_t dim = 0; dim < sizes.size(); ++dim)
    if (!llvm::is_contained(windows.droppedDims, static_cast<int64_t>(dim)) &&
        !llvm::is_contained(windows.operandBatching, static_cast<int64_t>(dim))) {
      sizes[dim] = windows.windows[windows.windowDims[next++]];
      if (sizes[dim] > windows.operand[dim])
        return emitOpError() << "writes boxes of size " << sizes[dim] << " to dimension " << dim << " of size "
                             << windows.operand[dim];
    }
  return windows.verifyWindows(sizes);
}
