//===- Reduction.cpp - derivatives of reductions --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attach.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;
using namespace meshwright::net::derivative;

/// The dimensions of a tensor of `rank` that are not reduced.
static SmallVector<int64_t> keptDims(int64_t rank, ArrayRef<int64_t> reduced) {
  SmallVector<int64_t> kept;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(reduced, dim))
      kept.push_back(dim);
  return kept;
}

/// Every element that equals the extremum gets the same share of the cotangent.
static Value extremum(NetBuilder &build, Value cotangent, ReduceOp op, ArrayRef<int64_t> kept) {
  Value x = op.getOperand();
  Value hit = build.compare(CompareDirection::Eq, x, build.broadcast(op.getResult(), shapeOf(x), kept));
  Value count = build.reduce(ReduceKind::Sum, build.convert(hit, elementTypeOf(x)), op.getDims());
  Value share = build.broadcast(build.divide(cotangent, count), shapeOf(x), kept);
  return build.select(hit, share, build.splatLike(x, 0));
}

/// The product of the other elements. Dividing by an element is right where it is not zero; where one element alone is
/// zero it is the product of the rest, and everything else is zero.
static Value product(NetBuilder &build, Value cotangent, ReduceOp op, ArrayRef<int64_t> kept) {
  Value x = op.getOperand(), zero = build.splatLike(x, 0);
  Value isZero = build.compare(CompareDirection::Eq, x, zero);
  Value zeros = build.reduce(ReduceKind::Sum, build.convert(isZero, elementTypeOf(x)), op.getDims());
  Value nonzero = build.select(isZero, build.splatLike(x, 1), x);
  Value rest = build.multiply(cotangent, build.reduce(ReduceKind::Product, nonzero, op.getDims()));
  Value none = build.compare(CompareDirection::Eq, zeros, build.splatLike(zeros, 0));
  Value one = build.compare(CompareDirection::Eq, zeros, build.splatLike(zeros, 1));
  Value noRest = build.splatLike(rest, 0);
  Value forNonzero = build.divide(build.broadcast(build.select(none, rest, noRest), shapeOf(x), kept), nonzero);
  Value forZero = build.broadcast(build.select(one, rest, noRest), shapeOf(x), kept);
  return build.select(isZero, forZero, forNonzero);
}

static FailureOr<Cotangents> differentiateReduce(ReduceOp op, Context c) {
  SmallVector<int64_t> kept = keptDims(typeOf(op.getOperand()).getRank(), op.getDims());
  switch (op.getKind()) {
  case ReduceKind::Sum:
    return Cotangents{c.build.broadcast(c.cotangent, shapeOf(op.getOperand()), kept)};
  case ReduceKind::Max:
  case ReduceKind::Min:
    return Cotangents{extremum(c.build, c.cotangent, op, kept)};
  case ReduceKind::Product:
    return Cotangents{product(c.build, c.cotangent, op, kept)};
  case ReduceKind::And:
  case ReduceKind::Or:
  case ReduceKind::Tree:
    return op.emitOpError() << "reduces floats by " << stringifyReduceKind(op.getKind()) << ", which has no derivative";
  }
  llvm_unreachable("a kind of reduction");
}

namespace {

/// The element that was found gets the cotangent.
struct ArgReduceModel : DerivativeOpInterface::ExternalModel<ArgReduceModel, ArgReduceOp> {
  FailureOr<Cotangents> differentiate(Operation *operation, OpBuilder &builder, ArrayRef<Value> cotangents,
                                      const BitVector &wanted) const {
    auto op = cast<ArgReduceOp>(operation);
    NetBuilder build(builder, op.getLoc());
    ArrayRef<int64_t> shape = shapeOf(op.getOperand());
    int64_t dim = op.getDim();
    SmallVector<int64_t> kept = keptDims(shape.size(), {dim});
    Value position = build.iota(elementTypeOf(op.getIndex()), shape, dim);
    Value found = build.compare(CompareDirection::Eq, position, build.broadcast(op.getIndex(), shape, kept));
    return Cotangents{
        build.select(found, build.broadcast(cotangents.front(), shape, kept), build.splatLike(op.getOperand(), 0))};
  }
};

} // namespace

void derivative::attachReduction(MLIRContext *context) {
  attach<ReduceOp, differentiateReduce>(context);
  ArgReduceOp::attachInterface<ArgReduceModel>(*context);
}
