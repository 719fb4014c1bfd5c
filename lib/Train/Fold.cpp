//===- Fold.cpp - algebraic, layout and product folds ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every fold looks only at an operation and the definitions of its operands. Constants stay splats: no fold builds an
// attribute with more elements than its inputs have.
//
//===----------------------------------------------------------------------===//

#include "Fold.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;
using namespace meshwright::train;

SplatElementsAttr train::getSplat(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
}

static Value makeConstant(OpBuilder &builder, Value like, DenseElementsAttr value) {
  return ConstantOp::create(builder, like.getLoc(), like.getType(), value);
}

/// True if every element of `value` is `number`; 0 matches zeros of either sign.
static bool isSplatOf(Value value, double number) {
  SplatElementsAttr splat = getSplat(value);
  if (!splat)
    return false;
  if (isa<FloatType>(splat.getElementType()))
    return splat.getSplatValue<APFloat>().isExactlyValue(number) ||
           (number == 0 && splat.getSplatValue<APFloat>().isZero());
  auto type = dyn_cast<IntegerType>(splat.getElementType());
  return type && type.getWidth() > 1 && splat.getSplatValue<APInt>() == static_cast<uint64_t>(number);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

static Value foldAdd(AddOp op, NetBuilder &build) {
  if (isSplatOf(op.getRhs(), 0))
    return op.getLhs();
  if (isSplatOf(op.getLhs(), 0))
    return op.getRhs();
  if (auto negated = op.getRhs().getDefiningOp<NegateOp>())
    return build.subtract(op.getLhs(), negated.getOperand());
  if (auto negated = op.getLhs().getDefiningOp<NegateOp>())
    return build.subtract(op.getRhs(), negated.getOperand());
  return {};
}

static Value foldSubtract(SubtractOp op, NetBuilder &build) {
  if (isSplatOf(op.getRhs(), 0))
    return op.getLhs();
  if (auto negated = op.getRhs().getDefiningOp<NegateOp>())
    return build.add(op.getLhs(), negated.getOperand());
  return {};
}

static Value foldMultiply(MultiplyOp op) {
  if (isSplatOf(op.getRhs(), 1))
    return op.getLhs();
  if (isSplatOf(op.getLhs(), 1))
    return op.getRhs();
  return {};
}

/// max(x, −∞) and min(x, ∞) are x, also for NaN.
template <typename OpT> static Value foldExtremum(OpT op, bool largest) {
  for (auto [value, other] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
    SplatElementsAttr splat = getSplat(value);
    if (!splat || !isa<FloatType>(splat.getElementType()))
      continue;
    APFloat bound = splat.getSplatValue<APFloat>();
    if (bound.isInfinity() && bound.isNegative() == largest)
      return other;
  }
  return {};
}

static Value foldSelect(SelectOp op) {
  if (op.getOnTrue() == op.getOnFalse())
    return op.getOnTrue();
  SplatElementsAttr predicate = getSplat(op.getPredicate());
  if (!predicate)
    return {};
  return predicate.getSplatValue<APInt>().isZero() ? op.getOnFalse() : op.getOnTrue();
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

/// A layout operation on a splat gives a splat.
static Value foldSplatLayout(Operation *op, OpBuilder &builder) {
  SplatElementsAttr splat = getSplat(op->getOperand(0));
  if (!splat)
    return {};
  return makeConstant(builder, op->getResult(0), splat.resizeSplat(typeOf(op->getResult(0))));
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

/// A transpose that only exchanges the two groups of free dimensions of a product is the product of the operands in the
/// opposite order. A product with other uses stays.
static Value foldTransposedDot(TransposeOp op, NetBuilder &build) {
  auto dot = op.getOperand().getDefiningOp<DotOp>();
  if (!dot || !dot->hasOneUse())
    return {};
  int64_t batch = dot.getLhsBatch().size(), left = dot.getLhsFree().size(), right = dot.getRhsFree().size();
  SmallVector<int64_t> swapped = llvm::to_vector(llvm::seq<int64_t>(0, batch));
  llvm::append_range(swapped, llvm::seq<int64_t>(batch + left, batch + left + right));
  llvm::append_range(swapped, llvm::seq<int64_t>(batch, batch + left));
  if (op.getPermutation() != ArrayRef<int64_t>(swapped))
    return {};
  return build.dot(dot.getRhs(), dot.getLhs(), dot.getRhsBatch(), dot.getLhsBatch(), dot.getRhsContract(),
                   dot.getLhsContract(), elementTypeOf(op.getResult()));
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
  return foldTransposedDot(op, build);
}

/// A single element of a constant is a splat.
static Value foldElement(SliceOp op, OpBuilder &builder) {
  auto constant = op.getOperand().getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!elements || typeOf(op.getResult()).getNumElements() != 1)
    return {};
  SmallVector<uint64_t> index(op.getStarts());
  auto element =
      *(elements.getValues<Attribute>().begin() + ElementsAttr::getFlattenedIndex(elements.getType(), index));
  return makeConstant(builder, op.getResult(), DenseElementsAttr::get(typeOf(op.getResult()), element));
}

/// A slice within one operand of a concatenation is a slice of that operand.
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
  if (Value element = foldElement(op, build.builder))
    return element;
  return foldSliceOfParts(op, build);
}

/// Folds empty padding, and padding of a splat with its own value.
static Value foldPad(PadOp op, OpBuilder &builder) {
  SplatElementsAttr inside = getSplat(op.getOperand()), outside = getSplat(op.getValue());
  if (inside && outside && inside.getSplatValue<Attribute>() == outside.getSplatValue<Attribute>())
    return makeConstant(builder, op.getResult(), inside.resizeSplat(typeOf(op.getResult())));
  auto isZero = [](int64_t size) { return size == 0; };
  bool nothing = llvm::all_of(op.getLow(), isZero) && llvm::all_of(op.getHigh(), isZero) &&
                 op.getOperand().getType() == op.getResult().getType();
  return nothing ? op.getOperand() : Value();
}

//===----------------------------------------------------------------------===//
// Contraction, reduction and indexing
//===----------------------------------------------------------------------===//

/// A reduction over no dimensions, or over dimensions of size 1, is a reshape.
static Value foldReduce(ReduceOp op, NetBuilder &build) {
  bool trivial = llvm::all_of(op.getDims(), [&](int64_t dim) { return shapeOf(op.getOperand())[dim] == 1; });
  return trivial ? build.reshape(op.getOperand(), shapeOf(op.getResult())) : Value();
}

namespace {

/// An operand of a product, with its batch and contracted dimensions.
struct Factor {
  Value value;
  SmallVector<int64_t> batch, contract;

  /// Skips a transpose of the operand if the free dimensions stay in order.
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

/// A gather of a single slice as large as the operand leaves no choice of positions; it only drops dimensions of size
/// 1.
static Value foldGather(GatherOp op, NetBuilder &build) {
  GatherDimsAttr dims = op.getDims();
  bool oneBox = typeOf(op.getResult()).getRank() == static_cast<int64_t>(dims.getOffsetDims().size());
  if (!oneBox || op.getSizes() != shapeOf(op.getOperand()))
    return {};
  return build.reshape(op.getOperand(), shapeOf(op.getResult()));
}

static Value foldLayout(Operation *op, NetBuilder &build) {
  if (isa<BroadcastOp, ReshapeOp, TransposeOp, SliceOp>(op))
    if (Value splat = foldSplatLayout(op, build.builder))
      return splat;
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](BroadcastOp op) { return foldBroadcast(op, build); })
      .Case([&](ReshapeOp op) { return foldReshape(op, build); })
      .Case([&](TransposeOp op) { return foldTranspose(op, build); })
      .Case([&](SliceOp op) { return foldSlice(op, build); })
      .Case([&](PadOp op) { return foldPad(op, build.builder); })
      .Case([&](ConcatenateOp op) { return op->getNumOperands() == 1 ? op->getOperand(0) : Value(); })
      .Default(Value());
}

Value train::foldOperation(Operation *op, OpBuilder &builder) {
  NetBuilder build(builder, op->getLoc());
  if (Value constant = foldConstants(op, build))
    return constant;
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](AddOp op) { return foldAdd(op, build); })
      .Case([&](SubtractOp op) { return foldSubtract(op, build); })
      .Case([&](MultiplyOp op) { return foldMultiply(op); })
      .Case([&](DivideOp op) { return isSplatOf(op.getRhs(), 1) ? op.getLhs() : Value(); })
      .Case([&](NegateOp op) {
        auto inner = op.getOperand().getDefiningOp<NegateOp>();
        return inner ? inner.getOperand() : Value();
      })
      .Case([&](MaximumOp op) { return foldExtremum(op, true); })
      .Case([&](MinimumOp op) { return foldExtremum(op, false); })
      .Case([&](SelectOp op) { return foldSelect(op); })
      .Case([&](ConvertOp op) {
        return op.getOperand().getType() == op.getResult().getType() ? op.getOperand() : Value();
      })
      .Case([&](ReduceOp op) { return foldReduce(op, build); })
      .Case([&](DotOp op) { return foldDot(op, build); })
      .Case([&](GatherOp op) { return foldGather(op, build); })
      .Default([&](Operation *op) { return foldLayout(op, build); });
}
