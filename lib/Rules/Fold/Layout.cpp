//===- Layout.cpp - simpler layout operations -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations that move elements become fewer, move fewer elements, or read and write them in rows.
//
//===----------------------------------------------------------------------===//

#include "Attach.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;
using namespace meshwright::net::fold;

/// An operation that moves the elements of a splat makes a splat; for other operands `rule` decides.
template <typename OpT, Value (*rule)(OpT, NetBuilder &)> static Value foldSplat(OpT op, NetBuilder &build) {
  if (SplatElementsAttr splat = getSplat(op.getOperand()))
    return makeConstant(build, op.getResult(), splat.resizeSplat(typeOf(op.getResult())));
  return rule(op, build);
}

static Value foldBroadcast(BroadcastOp op, NetBuilder &build) {
  if (op.getOperand().getType() == op.getResult().getType() && llvm::is_sorted(op.getDims()))
    return op.getOperand();
  auto inner = op.getOperand().getDefiningOp<BroadcastOp>();
  if (!inner)
    return {};
  SmallVector<int64_t> dims;
  for (int64_t dim : inner.getDims())
    dims.push_back(op.getDims()[dim]);
  return build.broadcast(inner.getOperand(), shapeOf(op.getResult()), dims);
}

static Value foldReshape(ReshapeOp op, NetBuilder &build) {
  if (op.getOperand().getType() == op.getResult().getType())
    return op.getOperand();
  if (auto inner = op.getOperand().getDefiningOp<ReshapeOp>())
    return build.reshape(inner.getOperand(), shapeOf(op.getResult()));
  return {};
}

/// A transposed product is that of the factors in the other order where its innermost dimension is one of the left
/// factor: rows that are written, and read, stay rows in memory. What else the transposition does remains. A product
/// that others use stays.
static Value foldTransposedDot(TransposeOp op, NetBuilder &build) {
  auto dot = op.getOperand().getDefiningOp<DotOp>();
  if (!dot || !dot->hasOneUse())
    return {};
  int64_t batch = dot.getLhsBatch().size(), left = dot.getLhsFree().size(), right = dot.getRhsFree().size();
  int64_t innermost = -1;
  for (auto [dim, size] : llvm::zip_equal(op.getPermutation(), shapeOf(op.getResult())))
    if (size != 1)
      innermost = dim;
  if (innermost < batch || innermost >= batch + left)
    return {};
  SmallVector<int64_t> permutation;
  for (int64_t dim : op.getPermutation())
    permutation.push_back(dim < batch ? dim : dim < batch + left ? dim + right : dim - left);
  Value exchanged = build.dot(dot.getRhs(), dot.getLhs(), dot.getRhsBatch(), dot.getLhsBatch(), dot.getRhsContract(),
                              dot.getLhsContract(), elementTypeOf(op.getResult()));
  inherit(exchanged.getDefiningOp(), dot, Inherit::Replacement);
  return build.transpose(exchanged, permutation);
}

/// Elements are transposed before they are padded: there are fewer of them.
static Value foldTransposedPad(TransposeOp op, NetBuilder &build) {
  auto pad = op.getOperand().getDefiningOp<PadOp>();
  if (!pad || !pad->hasOneUse())
    return {};
  auto permute = [&](ArrayRef<int64_t> sizes) {
    return llvm::map_to_vector(op.getPermutation(), [&](int64_t dim) { return sizes[dim]; });
  };
  Value inner = build.transpose(pad.getOperand(), op.getPermutation());
  inherit(inner.getDefiningOp(), op, Inherit::Replacement);
  return PadOp::create(build.builder, build.location, op.getType(), inner, pad.getValue(), permute(pad.getLow()),
                       permute(pad.getHigh()), permute(pad.getInterior()));
}

static Value foldTranspose(TransposeOp op, NetBuilder &build) {
  if (llvm::is_sorted(op.getPermutation()))
    return op.getOperand();
  if (auto inner = op.getOperand().getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> permutation;
    for (int64_t dim : op.getPermutation())
      permutation.push_back(inner.getPermutation()[dim]);
    return build.transpose(inner.getOperand(), permutation);
  }
  if (Value padded = foldTransposedPad(op, build))
    return padded;
  return foldTransposedDot(op, build);
}

/// One element of a constant is a splat.
static Value foldElement(SliceOp op, NetBuilder &build) {
  auto constant = op.getOperand().getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!elements || typeOf(op.getResult()).getNumElements() != 1)
    return {};
  SmallVector<uint64_t> index(op.getStarts());
  auto element =
      *(elements.getValues<Attribute>().begin() + ElementsAttr::getFlattenedIndex(elements.getType(), index));
  return makeConstant(build, op.getResult(), DenseElementsAttr::get(typeOf(op.getResult()), element));
}

/// A slice that lies in one of the tensors that were joined is a slice of that one.
static Value foldSliceOfParts(SliceOp op, NetBuilder &build) {
  auto parts = op.getOperand().getDefiningOp<ConcatenateOp>();
  if (!parts)
    return {};
  int64_t dim = parts.getDim(), begin = 0;
  for (Value part : parts.getOperands()) {
    int64_t size = shapeOf(part)[dim];
    if (op.getStarts()[dim] >= begin && op.getLimits()[dim] <= begin + size) {
      SmallVector<int64_t> starts(op.getStarts()), limits(op.getLimits());
      starts[dim] -= begin;
      limits[dim] -= begin;
      return build.slice(part, starts, limits, op.getSteps());
    }
    begin += size;
  }
  return {};
}

static Value foldSlice(SliceOp op, NetBuilder &build) {
  if (op.getOperand().getType() == op.getResult().getType())
    return op.getOperand();
  if (Value element = foldElement(op, build))
    return element;
  return foldSliceOfParts(op, build);
}

static bool isZeroSize(int64_t size) { return size == 0; }

/// Padding by nothing, and padding a splat with itself.
static Value foldPad(PadOp op, NetBuilder &build) {
  SplatElementsAttr inside = getSplat(op.getOperand()), outside = getSplat(op.getValue());
  if (inside && outside && inside.getSplatValue<Attribute>() == outside.getSplatValue<Attribute>())
    return makeConstant(build, op.getResult(), inside.resizeSplat(typeOf(op.getResult())));
  bool nothing = llvm::all_of(op.getLow(), isZeroSize) && llvm::all_of(op.getHigh(), isZeroSize) &&
                 op.getOperand().getType() == op.getResult().getType();
  return nothing ? op.getOperand() : Value();
}

/// An element of a stack that pads a single one, such as the gradient of the last state of a scan, is that one or the
/// padding: no stack is needed. A stack that others read stays.
static Value foldTake(TakeOp op, NetBuilder &build) {
  auto pad = op.getStack().getDefiningOp<PadOp>();
  if (!pad || shapeOf(pad.getOperand()).front() != 1 || !llvm::all_of(pad.getLow().drop_front(), isZeroSize) ||
      !llvm::all_of(pad.getHigh().drop_front(), isZeroSize) || pad.getLow().front() < 0 || pad.getHigh().front() < 0 ||
      !llvm::all_of(pad.getInterior().drop_front(), isZeroSize) ||
      !llvm::all_of(pad->getUsers(), llvm::IsaPred<TakeOp>))
    return {};
  ArrayRef<int64_t> shape = shapeOf(op.getResult());
  Value numbers = build.iota(build.builder.getI32Type(), shapeOf(op.getStack()).front(), 0);
  Value number = build.splatLike(numbers, static_cast<double>(pad.getLow().front()));
  Value isInside = TakeOp::create(build.builder, build.location, RankedTensorType::get({}, build.builder.getI1Type()),
                                  build.compare(CompareDirection::Eq, numbers, number), op.getIndex());
  return build.select(build.broadcast(isInside, shape), build.reshape(pad.getOperand(), shape),
                      build.broadcast(pad.getValue(), shape));
}

/// A single part is the whole.
static Value foldConcatenate(ConcatenateOp op, NetBuilder &) {
  return op->getNumOperands() == 1 ? op->getOperand(0) : Value();
}

void fold::attachLayout(MLIRContext *context) {
  attach<BroadcastOp, foldSplat<BroadcastOp, foldBroadcast>>(context);
  attach<ReshapeOp, foldSplat<ReshapeOp, foldReshape>>(context);
  attach<TransposeOp, foldSplat<TransposeOp, foldTranspose>>(context);
  attach<SliceOp, foldSplat<SliceOp, foldSlice>>(context);
  attach<PadOp, foldPad>(context);
  attach<ConcatenateOp, foldConcatenate>(context);
  attach<TakeOp, foldTake>(context);
}
