//===- Contraction.cpp - simpler products, reductions and gathers ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attach.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;
using namespace meshwright::net::fold;

/// The conjunction or disjunction of equal truth values, of which there is one at least, is that value.
static Value foldReducedLogic(ReduceOp op, NetBuilder &build) {
  bool logic = op.getKind() == ReduceKind::And || op.getKind() == ReduceKind::Or;
  SplatElementsAttr splat = getSplat(op.getOperand());
  if (!logic || !splat || typeOf(op.getOperand()).getNumElements() == 0)
    return {};
  return makeSplat(build, op.getResult(), splat.getSplatValue<Attribute>());
}

/// A reduction of nothing or of dimensions of size 1 only moves elements.
static Value foldReduce(ReduceOp op, NetBuilder &build) {
  if (Value constant = foldReducedLogic(op, build))
    return constant;
  bool trivial = llvm::all_of(op.getDims(), [&](int64_t dim) { return shapeOf(op.getOperand())[dim] == 1; });
  return trivial ? build.reshape(op.getOperand(), shapeOf(op.getResult())) : Value();
}

namespace {

/// A factor of a product and the dimensions that it pairs with the other one.
struct Factor {
  Value value;
  SmallVector<int64_t> batch, contract;

  /// Reads the operand of a transposition instead, where that leaves the free dimensions in order.
  bool skipTranspose();
};

} // namespace

bool Factor::skipTranspose() {
  auto transpose = value.getDefiningOp<TransposeOp>();
  if (!transpose)
    return false;
  ArrayRef<int64_t> permutation = transpose.getPermutation();
  SmallVector<int64_t> free;
  for (int64_t dim = 0, rank = permutation.size(); dim < rank; ++dim)
    if (!llvm::is_contained(batch, dim) && !llvm::is_contained(contract, dim))
      free.push_back(permutation[dim]);
  if (!llvm::is_sorted(free))
    return false;
  for (int64_t &dim : batch)
    dim = permutation[dim];
  for (int64_t &dim : contract)
    dim = permutation[dim];
  value = transpose.getOperand();
  return true;
}

static Value foldDot(DotOp op, NetBuilder &build) {
  Factor lhs{op.getLhs(), llvm::to_vector(op.getLhsBatch()), llvm::to_vector(op.getLhsContract())};
  Factor rhs{op.getRhs(), llvm::to_vector(op.getRhsBatch()), llvm::to_vector(op.getRhsContract())};
  bool left = lhs.skipTranspose(), right = rhs.skipTranspose();
  if (!left && !right)
    return {};
  return build.dot(lhs.value, rhs.value, lhs.batch, rhs.batch, lhs.contract, rhs.contract,
                   elementTypeOf(op.getResult()));
}

/// A gather of one box that leaves its positions no choice drops dimensions of size 1.
static Value foldGather(GatherOp op, NetBuilder &build) {
  GatherDimsAttr dims = op.getDims();
  bool oneBox = typeOf(op.getResult()).getRank() == static_cast<int64_t>(dims.getOffsetDims().size());
  if (!oneBox || op.getSizes() != shapeOf(op.getOperand()))
    return {};
  return build.reshape(op.getOperand(), shapeOf(op.getResult()));
}

void fold::attachContraction(MLIRContext *context) {
  attach<ReduceOp, foldReduce>(context);
  attach<DotOp, foldDot>(context);
  attach<GatherOp, foldGather>(context);
}
