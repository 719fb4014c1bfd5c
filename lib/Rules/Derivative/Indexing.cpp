//===- Indexing.cpp - derivatives of gather and scatter -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A gather clamps positions and a scatter drops windows that do not lie inside, so neither is the other's transpose as
// it stands. The cotangent of a gather is scattered to clamped positions; that of a scatter's updates is gathered from
// a tensor that zeros follow, for what was dropped to read.
//
//===----------------------------------------------------------------------===//

#include "Attach.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Net/Indices.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;
using namespace meshwright::net::derivative;

/// True if several boxes of a gather may hold the same element; not if each belongs to another batch of the operand.
static bool mayMeet(GatherOp op) {
  GatherDimsAttr dims = op.getDims();
  for (auto [dim, size] : llvm::enumerate(shapeOf(op.getIndices())))
    if (size > 1 && static_cast<int64_t>(dim) != dims.getIndexVectorDim() &&
        !llvm::is_contained(dims.getIndicesBatchingDims(), static_cast<int64_t>(dim)))
      return true;
  return false;
}

static FailureOr<Cotangents> differentiateGather(GatherOp op, Context c) {
  if (!c.wanted.test(0) || typeOf(op.getResult()).getNumElements() == 0)
    return Cotangents{Value(), Value()};
  GatherDimsAttr dims = op.getDims();
  SmallVector<int64_t> limits;
  for (int64_t dim : dims.getStartIndexMap())
    limits.push_back(shapeOf(op.getOperand())[dim] - op.getSizes()[dim]);
  Value indices = op.getIndices();
  if (!limits.empty())
    indices = clampIndices(c.build, indices, dims.getIndexVectorDim(), limits);
  auto scatterDims = ScatterDimsAttr::get(op.getContext(), dims.getOffsetDims(), dims.getCollapsedDims(),
                                          dims.getOperandBatchingDims(), dims.getIndicesBatchingDims(),
                                          dims.getStartIndexMap(), dims.getIndexVectorDim());
  // Sums of several 16-bit floats at one place are computed in f32 and rounded once, like other sums of them.
  Type element = elementTypeOf(c.cotangent);
  bool isWidened = element.getIntOrFloatBitWidth() < 32 && mayMeet(op);
  Type sum = isWidened ? Type(c.build.builder.getF32Type()) : element;
  Value zeros = c.build.splat(typeOf(op.getOperand()).clone(sum), 0);
  Value scattered = ScatterOp::create(c.build.builder, c.build.location, zeros.getType(), ScatterKind::Add, zeros,
                                      indices, c.build.convert(c.cotangent, sum), scatterDims);
  Value result = c.build.convert(scattered, element);
  // A rank rounds its part: what travels between ranks is in 16 bit.
  if (isWidened)
    dist::setDefersReduction(result.getDefiningOp());
  return Cotangents{result, Value()};
}

/// The window sizes of a scatter per dimension of the operand.
static SmallVector<int64_t> windowSizes(ScatterOp op) {
  ScatterDimsAttr dims = op.getDims();
  SmallVector<int64_t> sizes;
  size_t next = 0;
  for (int64_t dim = 0, rank = typeOf(op.getOperand()).getRank(); dim < rank; ++dim) {
    bool dropped =
        llvm::is_contained(dims.getInsertedDims(), dim) || llvm::is_contained(dims.getOperandBatchingDims(), dim);
    sizes.push_back(dropped ? 1 : shapeOf(op.getUpdates())[dims.getUpdateWindowDims()[next++]]);
  }
  return sizes;
}

/// Reads from `source`, a tensor of the operand's shape, what each element of the updates of a scatter has met there,
/// and `outside` where it was dropped.
static Value gatherUpdates(NetBuilder &build, ScatterOp op, Value source, double outside) {
  ScatterDimsAttr dims = op.getDims();
  SmallVector<int64_t> sizes = windowSizes(op), margin(sizes.size(), 0), none(sizes.size(), 0);
  SmallVector<int64_t> last, end;
  for (int64_t dim : dims.getScatterDimsToOperandDims()) {
    margin[dim] = sizes[dim];
    end.push_back(shapeOf(op.getOperand())[dim]);
    last.push_back(end.back() - sizes[dim]);
  }
  // A window that is partly outside is read from the margin directly after the tensor.
  Value padded = build.pad(source, outside, none, margin, none);
  Value indices = build.convert(op.getIndices(), build.builder.getI64Type());
  if (!end.empty()) {
    int64_t vectorDim = dims.getIndexVectorDim();
    Value isBefore = build.compare(CompareDirection::Lt, indices, build.splatLike(indices, 0));
    Value isBeyond = build.compare(CompareDirection::Gt, indices, makeComponents(build, indices, vectorDim, last));
    Value isOutside = build.binary<OrOp>(isBefore, isBeyond);
    indices = build.select(isOutside, makeComponents(build, indices, vectorDim, end), indices);
  }
  auto gatherDims = GatherDimsAttr::get(op.getContext(), dims.getUpdateWindowDims(), dims.getInsertedDims(),
                                        dims.getOperandBatchingDims(), dims.getIndicesBatchingDims(),
                                        dims.getScatterDimsToOperandDims(), dims.getIndexVectorDim());
  return GatherOp::create(build.builder, build.location, typeOf(op.getUpdates()).clone(elementTypeOf(source)), padded,
                          indices, gatherDims, sizes);
}

static Value scatterLike(NetBuilder &build, ScatterOp op, Value operand, Value updates) {
  return ScatterOp::create(build.builder, build.location, operand.getType(), op.getKind(), operand, op.getIndices(),
                           updates, op.getDims());
}

/// If updates meet, the last one is kept, and it alone gets the cotangent: the updates are numbered, the numbers
/// scattered, and the updates whose numbers are found again are those that were kept.
static Value assignedUpdates(NetBuilder &build, ScatterOp op, Value cotangent) {
  Type i64 = build.builder.getI64Type();
  Value number =
      build.reshape(build.iota(i64, {typeOf(op.getUpdates()).getNumElements()}, 0), shapeOf(op.getUpdates()));
  Value scattered = scatterLike(build, op, build.splat(typeOf(op.getOperand()).clone(i64), -1), number);
  Value kept = build.compare(CompareDirection::Eq, gatherUpdates(build, op, scattered, -1), number);
  return build.select(kept, gatherUpdates(build, op, cotangent, 0), build.splatLike(op.getUpdates(), 0));
}

/// If updates meet, the largest (or smallest) ones share the cotangent of the place equally with the operand's element
/// there, if that is as large, as in JAX. NaN equals nothing and so gets nothing, except for elements of the operand
/// that no update reaches.
static Cotangents selectedUpdates(ScatterOp op, Context c) {
  NetBuilder &build = c.build;
  Value result = op.getResult(), updates = op.getUpdates();
  // Counts are exact in f32 where 16 bits have too few digits for them.
  Type element = elementTypeOf(c.cotangent);
  bool isWidened = element.getIntOrFloatBitWidth() < 32;
  Type counts = isWidened ? Type(build.builder.getF32Type()) : element;
  auto toCounts = [&](Value isOne) { return build.convert(isOne, counts); };
  auto countUpdates = [&](Value ones) -> Value {
    Value none = build.splat(typeOf(result).clone(counts), 0);
    return ScatterOp::create(build.builder, build.location, none.getType(), ScatterKind::Add, none, op.getIndices(),
                             ones, op.getDims());
  };
  Value wins = build.compare(CompareDirection::Eq, updates, gatherUpdates(build, op, result, 0));
  Value all = countUpdates(build.splat(typeOf(updates).clone(counts), 1));
  Value isAlone = build.compare(CompareDirection::Eq, all, build.splatLike(all, 0));
  Value isEqual = build.compare(CompareDirection::Eq, op.getOperand(), result);
  Value stays = build.binary<OrOp>(isEqual, isAlone);
  Value winners = build.add(countUpdates(toCounts(wins)), toCounts(stays));
  winners = build.binary<MaximumOp>(winners, build.splatLike(winners, 1));
  Value share = build.convert(build.divide(build.convert(c.cotangent, counts), winners), element);
  Cotangents cotangents(3);
  if (c.wanted.test(0))
    cotangents[0] = build.select(stays, share, build.splatLike(share, 0));
  if (c.wanted.test(2))
    cotangents[2] = build.select(wins, gatherUpdates(build, op, share, 0), build.splatLike(updates, 0));
  return cotangents;
}

static FailureOr<Cotangents> differentiateScatter(ScatterOp op, Context c) {
  if (op.getKind() == ScatterKind::Multiply)
    return op.emitOpError() << "combines by " << stringifyScatterKind(op.getKind())
                            << ", which has no derivative; only add, assign, max and min do";
  if (typeOf(op.getUpdates()).getNumElements() == 0)
    return Cotangents{c.wanted.test(0) ? c.cotangent : Value(), Value(), Value()};
  if (op.getKind() == ScatterKind::Max || op.getKind() == ScatterKind::Min)
    return selectedUpdates(op, c);
  bool adds = op.getKind() == ScatterKind::Add;
  Cotangents cotangents(3);
  if (c.wanted.test(0))
    cotangents[0] = adds ? c.cotangent : scatterLike(c.build, op, c.cotangent, c.build.splatLike(op.getUpdates(), 0));
  if (c.wanted.test(2))
    cotangents[2] = adds ? gatherUpdates(c.build, op, c.cotangent, 0) : assignedUpdates(c.build, op, c.cotangent);
  return cotangents;
}

void derivative::attachIndexing(MLIRContext *context) {
  attach<GatherOp, differentiateGather>(context);
  attach<ScatterOp, differentiateScatter>(context);
}
