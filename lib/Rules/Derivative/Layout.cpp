//===- Layout.cpp - derivatives of operations that move elements ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All of them are linear: the cotangent goes back the way the elements came.
//
//===----------------------------------------------------------------------===//

#include "Attach.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;
using namespace meshwright::net::derivative;

static FailureOr<Cotangents> differentiateBroadcast(BroadcastOp op, Context c) {
  SmallVector<int64_t> repeated;
  for (int64_t dim = 0, rank = typeOf(op.getResult()).getRank(); dim < rank; ++dim)
    if (!llvm::is_contained(op.getDims(), dim))
      repeated.push_back(dim);
  Value sum = c.build.reduce(ReduceKind::Sum, c.cotangent, repeated);
  // The remaining dimensions are the operand's, in the order of the result.
  SmallVector<int64_t> permutation;
  for (int64_t dim : op.getDims())
    permutation.push_back(llvm::count_if(op.getDims(), [&](int64_t other) { return other < dim; }));
  return Cotangents{c.build.transpose(sum, permutation)};
}

static FailureOr<Cotangents> differentiateReshape(ReshapeOp op, Context c) {
  return Cotangents{c.build.reshape(c.cotangent, shapeOf(op.getOperand()))};
}

static FailureOr<Cotangents> differentiateTranspose(TransposeOp op, Context c) {
  SmallVector<int64_t> inverse(op.getPermutation().size());
  for (auto [index, dim] : llvm::enumerate(op.getPermutation()))
    inverse[dim] = index;
  return Cotangents{c.build.transpose(c.cotangent, inverse)};
}

static FailureOr<Cotangents> differentiateReverse(ReverseOp op, Context c) {
  return Cotangents{c.build.reverse(c.cotangent, op.getDims())};
}

static FailureOr<Cotangents> differentiateSlice(SliceOp op, Context c) {
  if (typeOf(op.getResult()).getNumElements() == 0)
    return Cotangents{Value()};
  SmallVector<int64_t> high, interior;
  for (auto [dim, size] : llvm::enumerate(shapeOf(op.getOperand()))) {
    int64_t step = op.getSteps()[dim], last = (shapeOf(op.getResult())[dim] - 1) * step;
    interior.push_back(step - 1);
    high.push_back(size - op.getStarts()[dim] - last - 1);
  }
  return Cotangents{c.build.pad(c.cotangent, 0, op.getStarts(), high, interior)};
}

/// The cotangent of what a pad surrounds: what was cut is zero, what was put between is skipped.
static Value padOperand(PadOp op, Context &c) {
  if (typeOf(op.getResult()).getNumElements() == 0 || typeOf(op.getOperand()).getNumElements() == 0)
    return {};
  int64_t rank = typeOf(op.getResult()).getRank();
  SmallVector<int64_t> cutLow, cutHigh, starts, limits, steps;
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t low = op.getLow()[dim], step = op.getInterior()[dim] + 1, size = shapeOf(op.getOperand())[dim];
    cutLow.push_back(std::max<int64_t>(-low, 0));
    cutHigh.push_back(std::max<int64_t>(-op.getHigh()[dim], 0));
    starts.push_back(std::max<int64_t>(low, 0));
    limits.push_back(starts.back() + (size - 1) * step + 1);
    steps.push_back(step);
  }
  Value whole = c.build.pad(c.cotangent, 0, cutLow, cutHigh, SmallVector<int64_t>(rank, 0));
  return c.build.slice(whole, starts, limits, steps);
}

/// The cotangent of what a pad surrounds with: the sum over the elements that hold it.
static Value padValue(PadOp op, Context &c) {
  Type i1 = c.build.builder.getI1Type();
  Value inside = c.build.splat(typeOf(op.getOperand()).clone(i1), 0);
  Value outside = c.build.splat(RankedTensorType::get({}, i1), 1);
  Value mask = PadOp::create(c.build.builder, c.build.location, typeOf(c.cotangent).clone(i1), inside, outside,
                             op.getLow(), op.getHigh(), op.getInterior());
  Value masked = c.build.select(mask, c.cotangent, c.build.splatLike(c.cotangent, 0));
  return c.build.reduce(ReduceKind::Sum, masked, llvm::to_vector(llvm::seq<int64_t>(0, typeOf(c.cotangent).getRank())));
}

static FailureOr<Cotangents> differentiatePad(PadOp op, Context c) {
  return Cotangents{c.wanted.test(0) ? padOperand(op, c) : Value(), c.wanted.test(1) ? padValue(op, c) : Value()};
}

static FailureOr<Cotangents> differentiateConcatenate(ConcatenateOp op, Context c) {
  Cotangents cotangents;
  int64_t dim = op.getDim(), begin = 0;
  for (auto [index, operand] : llvm::enumerate(op.getOperands())) {
    int64_t end = begin + shapeOf(operand)[dim];
    cotangents.push_back(c.wanted.test(index) ? c.build.cut(c.cotangent, dim, begin, end) : Value());
    begin = end;
  }
  return cotangents;
}

void derivative::attachLayout(MLIRContext *context) {
  attach<BroadcastOp, differentiateBroadcast>(context);
  attach<ReshapeOp, differentiateReshape>(context);
  attach<TransposeOp, differentiateTranspose>(context);
  attach<ReverseOp, differentiateReverse>(context);
  attach<SliceOp, differentiateSlice>(context);
  attach<PadOp, differentiatePad>(context);
  attach<ConcatenateOp, differentiateConcatenate>(context);
}
