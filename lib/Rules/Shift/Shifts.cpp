//===- Shifts.cpp - how operations depend on a subtracted maximum ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exp and log turn an additive dependence into a multiplicative one and back; sums, products and quotients combine
// them, and where the factors cancel the dependence is gone. An operation without a rule here ends the proof, so that a
// missing rule costs a gradient that is computed for nothing, and never a wrong one.
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/NetBuilder.h"
#include "dialects/Net/Shift.h"
#include "meshwright/Rules/Rules.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;

/// The dependence of every operand, null where there is none.
using Operands = ArrayRef<const ShiftDependence *>;
/// Nothing where the dependence is not of a known form.
using Result = std::optional<ShiftDependence>;

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

/// The dimensions of a value after a reshape that only adds or drops dimensions of size 1.
static std::optional<SmallVector<int64_t>> reshapeDims(ReshapeOp op, ArrayRef<int64_t> dims) {
  ArrayRef<int64_t> from = shapeOf(op.getOperand()), to = shapeOf(op.getResult());
  SmallVector<int64_t> result(to.size(), -1);
  size_t next = 0;
  for (size_t dim = 0; dim < to.size(); ++dim) {
    if (to[dim] == 1)
      continue;
    while (next < from.size() && from[next] == 1)
      ++next;
    if (next == from.size() || from[next] != to[dim])
      return std::nullopt;
    result[dim] = dims[next++];
  }
  return result;
}

static Result transfer(BroadcastOp op, Operands from) {
  SmallVector<int64_t> dims(typeOf(op.getResult()).getRank(), -1);
  for (auto [index, dim] : llvm::enumerate(op.getDims()))
    dims[dim] = from[0]->dims[index];
  return from[0]->with(std::move(dims));
}

static Result transfer(TransposeOp op, Operands from) {
  SmallVector<int64_t> dims;
  for (int64_t dim : op.getPermutation())
    dims.push_back(from[0]->dims[dim]);
  return from[0]->with(std::move(dims));
}

static Result transfer(ReshapeOp op, Operands from) {
  std::optional<SmallVector<int64_t>> dims = reshapeDims(op, from[0]->dims);
  return dims ? Result(from[0]->with(std::move(*dims))) : std::nullopt;
}

/// A slice keeps what m is indexed by whole.
static Result transfer(SliceOp op, Operands from) {
  for (auto [index, dim] : llvm::enumerate(from[0]->dims))
    if (dim >= 0 && shapeOf(op.getOperand())[index] != shapeOf(op.getResult())[index])
      return std::nullopt;
  return *from[0];
}

/// Boxes are taken whole in the dimensions that m is indexed by, or follow them as batching dimensions.
static Result transfer(GatherOp op, Operands operands) {
  const ShiftDependence *from = operands[0];
  if (!from)
    return std::nullopt;
  GatherDimsAttr attr = op.getDims();
  SmallVector<int64_t> dims(typeOf(op.getResult()).getRank(), -1), windows, batches;
  for (auto [index, dim] : llvm::enumerate(from->dims)) {
    auto operandDim = static_cast<int64_t>(index);
    bool batching = llvm::is_contained(attr.getOperandBatchingDims(), operandDim);
    bool collapsed = llvm::is_contained(attr.getCollapsedDims(), operandDim);
    if (dim >= 0 && !batching && op.getSizes()[index] != shapeOf(op.getOperand())[index])
      return std::nullopt;
    if (!batching && !collapsed)
      windows.push_back(dim);
  }
  for (int64_t dim = 0, rank = typeOf(op.getIndices()).getRank(); dim < rank; ++dim) {
    if (dim == attr.getIndexVectorDim())
      continue;
    const auto *paired = llvm::find(attr.getIndicesBatchingDims(), dim);
    batches.push_back(paired == attr.getIndicesBatchingDims().end()
                          ? -1
                          : from->dims[attr.getOperandBatchingDims()[paired - attr.getIndicesBatchingDims().begin()]]);
  }
  size_t nextWindow = 0, nextBatch = 0;
  for (int64_t dim = 0, rank = dims.size(); dim < rank; ++dim)
    dims[dim] = llvm::is_contained(attr.getOffsetDims(), dim) ? windows[nextWindow++] : batches[nextBatch++];
  return from->with(std::move(dims));
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// lhs + sign · rhs.
static Result combineSum(Operands from, int64_t sign) {
  const ShiftDependence *left = from[0], *right = from[1];
  if (left && right && left->multiplicative && left->matches(*right))
    return *left;
  if ((left && left->multiplicative) || (right && right->multiplicative))
    return std::nullopt;
  if (!left)
    return right->with(sign * right->factor);
  if (!right)
    return *left;
  if (left->dims != right->dims)
    return std::nullopt;
  return left->with(left->factor + sign * right->factor);
}

/// lhs · rhs^sign.
static Result combineProduct(Operands from, int64_t sign) {
  const ShiftDependence *left = from[0], *right = from[1];
  if ((left && !left->multiplicative) || (right && !right->multiplicative))
    return std::nullopt;
  if (!left)
    return right->with(sign * right->factor);
  if (!right)
    return *left;
  if (left->dims != right->dims)
    return std::nullopt;
  return left->with(left->factor + sign * right->factor);
}

static Result transfer(AddOp, Operands from) { return combineSum(from, 1); }
static Result transfer(SubtractOp, Operands from) { return combineSum(from, -1); }
static Result transfer(MultiplyOp, Operands from) { return combineProduct(from, 1); }
static Result transfer(DivideOp, Operands from) { return combineProduct(from, -1); }

static Result transfer(NegateOp, Operands from) {
  return from[0]->multiplicative ? *from[0] : from[0]->with(-from[0]->factor);
}

/// |v exp(k m)| = |v| exp(k m): JAX takes the logarithm of the sum's absolute value.
static Result transfer(AbsOp, Operands from) { return from[0]->multiplicative ? Result(*from[0]) : std::nullopt; }

static Result transfer(ExpOp, Operands from) {
  if (from[0]->multiplicative)
    return std::nullopt;
  return ShiftDependence{true, from[0]->factor, from[0]->dims};
}

static Result transfer(LogOp, Operands from) {
  if (!from[0]->multiplicative)
    return std::nullopt;
  return ShiftDependence{false, from[0]->factor, from[0]->dims};
}

static Result transfer(ConvertOp, Operands from) { return *from[0]; }

static Result transfer(ReduceOp op, Operands operands) {
  const ShiftDependence &from = *operands[0];
  bool extremum = op.getKind() == ReduceKind::Max || op.getKind() == ReduceKind::Min;
  if (!extremum && !(op.getKind() == ReduceKind::Sum && from.multiplicative))
    return std::nullopt;
  SmallVector<int64_t> dims;
  for (auto [index, dim] : llvm::enumerate(from.dims)) {
    if (!llvm::is_contained(op.getDims(), static_cast<int64_t>(index)))
      dims.push_back(dim);
    else if (dim >= 0)
      return std::nullopt;
  }
  return from.with(std::move(dims));
}

/// A sum of products with one factor that does not depend on m.
static Result transfer(DotOp op, Operands operands) {
  bool isLeft = operands[0] != nullptr;
  const ShiftDependence &from = *operands[isLeft ? 0 : 1];
  if ((isLeft && operands[1]) || !from.multiplicative)
    return std::nullopt;
  for (int64_t dim : isLeft ? op.getLhsContract() : op.getRhsContract())
    if (from.dims[dim] >= 0)
      return std::nullopt;
  SmallVector<int64_t> dims;
  auto add = [&](ArrayRef<int64_t> own, bool hasShift) {
    for (int64_t dim : own)
      dims.push_back(hasShift ? from.dims[dim] : -1);
  };
  add(isLeft ? op.getLhsBatch() : op.getRhsBatch(), true);
  add(op.getLhsFree(), isLeft);
  add(op.getRhsFree(), !isLeft);
  return from.with(std::move(dims));
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// Whether adding to (multiplying) every element of a constant leaves it as it is.
static bool isAbsorbing(Value value, bool multiplicative) {
  std::optional<APFloat> splat = getFloatSplat(value);
  return splat && (splat->isNaN() || splat->isInfinity() || (multiplicative && splat->isZero()));
}

/// Two values of which each element is one or the other.
static Result join(Value first, Value second, const ShiftDependence *left, const ShiftDependence *right) {
  if (left && right)
    return left->matches(*right) ? Result(*left) : std::nullopt;
  const ShiftDependence &one = left ? *left : *right;
  return isAbsorbing(left ? second : first, one.multiplicative) ? Result(one) : std::nullopt;
}

static Result transfer(SelectOp op, Operands from) {
  // The replacement of a value that is not finite does not matter: there is no derivative there.
  auto finite = op.getPredicate().getDefiningOp<IsFiniteOp>();
  if (finite && finite.getOperand() == op.getOnTrue() && from[1] && !from[2])
    return *from[1];
  return join(op.getOnTrue(), op.getOnFalse(), from[1], from[2]);
}

static Result transfer(MaximumOp op, Operands from) { return join(op.getLhs(), op.getRhs(), from[0], from[1]); }
static Result transfer(MinimumOp op, Operands from) { return join(op.getLhs(), op.getRhs(), from[0], from[1]); }

namespace {

template <typename OpT> struct Shift : ShiftOpInterface::ExternalModel<Shift<OpT>, OpT> {
  Result transferShift(Operation *op, Operands operands) const { return transfer(cast<OpT>(op), operands); }
};

template <typename... OpTs> void attach(MLIRContext *context) {
  (OpTs::template attachInterface<Shift<OpTs>>(*context), ...);
}

} // namespace

void meshwright::registerNetShifts(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, NetDialect *) {
    attach<BroadcastOp, GatherOp, ReshapeOp, SliceOp, TransposeOp>(context);
    attach<AbsOp, AddOp, ConvertOp, DivideOp, DotOp, ExpOp, LogOp, MultiplyOp, NegateOp, ReduceOp, SubtractOp>(context);
    attach<MaximumOp, MinimumOp, SelectOp>(context);
  });
}
