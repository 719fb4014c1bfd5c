//===- LocalizeIndexing.cpp - gather and scatter of one rank ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the dimension that indices choose from is split, an index means a position on one rank: the rank that holds it
// reads or writes there. All others read -0, so that the sum over the ranks is the result to the sign of a zero, or
// drop the update.
//
//===----------------------------------------------------------------------===//

#include "Localize.h"
#include "dialects/Dist/Conversions.h"
#include "dialects/Net/NetBuilder.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::net;
using namespace meshwright::sharding;

namespace {

/// Rewrites the index vectors of one gather or scatter.
class IndexVectors {
public:
  IndexVectors(Localizer &localizer, Location loc, Value indices, int64_t vectorDim, ArrayRef<int64_t> indexMap,
               ArrayRef<int64_t> operandShape)
      : localizer(localizer), arithmetic(localizer, loc), loc(loc), indices(indices), vectorDim(vectorDim),
        indexMap(indexMap), operandShape(operandShape) {}

  /// Replaces the indices into the `dims` that are split by positions on this rank, -1 where the index is not here if
  /// `drop`, in range if not. `isHere` is then the conjunction over the batch dimensions; null where `drop`.
  Value localize(ArrayRef<int64_t> dims, bool drop);
  Value isHere;

private:
  Value getComponent(unsigned component);
  Value toSigned(Value component, int64_t size);
  Value localizeComponent(Value component, int64_t dim, bool drop);

  Localizer &localizer;
  Arithmetic arithmetic;
  Location loc;
  Value indices;
  int64_t vectorDim;
  ArrayRef<int64_t> indexMap, operandShape;
};

} // namespace

/// The entries of every index vector that speak of one dimension; the vector dimension stays, with size 1.
Value IndexVectors::getComponent(unsigned component) {
  RankedTensorType type = typeOf(indices);
  if (indexMap.size() == 1)
    return indices;
  SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape()), steps(type.getRank(), 1), shape(limits);
  starts[vectorDim] = component;
  limits[vectorDim] = component + 1;
  shape[vectorDim] = 1;
  return SliceOp::create(localizer.builder, loc, type.clone(shape), indices, starts, limits, steps);
}

/// `component` in a signed type that holds the size of its dimension and every index of interest.
Value IndexVectors::toSigned(Value component, int64_t size) {
  auto element = cast<IntegerType>(typeOf(component).getElementType());
  bool isLong = size > std::numeric_limits<int32_t>::max();
  // Indices from 2^63 on are negative in i64. All indices from the size on are alike, so that the size stands for them.
  if (element.isUnsigned() && element.getWidth() == 64)
    component = arithmetic.binary<MinimumOp>(component, arithmetic.splatLike(component, size));
  if (element.getWidth() >= 32 && !element.isUnsigned() && (!isLong || element.getWidth() == 64))
    return component;
  return arithmetic.convert(component, localizer.builder.getIntegerType(element.getWidth() < 32 && !isLong ? 32 : 64));
}

Value IndexVectors::localizeComponent(Value component, int64_t dim, bool drop) {
  int64_t size = operandShape[dim];
  component = toSigned(component, size);
  Value zero = arithmetic.splatLike(component, 0), last = arithmetic.splatLike(component, size - 1);
  Value clamped = arithmetic.binary<MinimumOp>(arithmetic.binary<MaximumOp>(component, zero), last);
  auto [local, here] = arithmetic.localPositions(clamped, localizer.operandPlacements[0], dim, size);
  if (drop) {
    Value inRange = arithmetic.compare(CompareDirection::Eq, clamped, component);
    here = arithmetic.binary<AndOp>(here, inRange);
    return arithmetic.select(here, local, arithmetic.splatLike(local, -1));
  }
  SmallVector<int64_t> batch(typeOf(component).getShape());
  if (vectorDim < static_cast<int64_t>(batch.size()))
    batch.erase(batch.begin() + vectorDim);
  here = arithmetic.reshape(here, batch);
  isHere = isHere ? arithmetic.binary<AndOp>(isHere, here) : here;
  return local;
}

Value IndexVectors::localize(ArrayRef<int64_t> dims, bool drop) {
  SmallVector<Value> components;
  for (auto [component, dim] : llvm::enumerate(indexMap)) {
    Value value = getComponent(component);
    bool isChosen = llvm::is_contained(dims, dim);
    components.push_back(isChosen ? localizeComponent(value, dim, drop) : toSigned(value, operandShape[dim]));
  }
  // Components that were compared in a wider type widen the others.
  Type widest = typeOf(components.front()).getElementType();
  for (Value component : components)
    if (Type element = typeOf(component).getElementType();
        element.getIntOrFloatBitWidth() > widest.getIntOrFloatBitWidth())
      widest = element;
  for (Value &component : components)
    component = arithmetic.convert(component, widest);
  if (components.size() == 1)
    return components.front();
  return ConcatenateOp::create(localizer.builder, loc, typeOf(indices).clone(widest), components,
                               localizer.builder.getI64IntegerAttr(vectorDim));
}

/// The dimensions of the operand that are split and that indices choose from with windows of one element.
static SmallVector<int64_t> getChosenDims(const Placement &operand, ArrayRef<int64_t> dropped) {
  SmallVector<int64_t> dims;
  for (int64_t dim : dropped)
    if (!operand.dims[dim].empty())
      dims.push_back(dim);
  return dims;
}

/// `gathered` where the index is here; elsewhere -0, which changes no sum, not even the sign of a zero.
static Value keepOwn(GatherOp op, Value gathered, Value isHere, Localizer &localizer) {
  Arithmetic arithmetic(localizer, op.getLoc());
  RankedTensorType type = typeOf(gathered);
  SmallVector<int64_t> batchDims;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (!llvm::is_contained(op.getDims().getOffsetDims(), dim))
      batchDims.push_back(dim);
  Value predicate = arithmetic.broadcast(isHere, type.clone(localizer.builder.getI1Type()), batchDims);
  TypedAttr nothing = getNeutralElement(ReduceKind::Sum, type.getElementType());
  Value others = ConstantOp::create(localizer.builder, op.getLoc(), type, DenseElementsAttr::get(type, nothing));
  return arithmetic.select(predicate, gathered, others);
}

LocalResults sharding::localizeGather(GatherOp op, Localizer &localizer) {
  GatherDimsAttr dims = op.getDims();
  const Placement &operand = localizer.operandPlacements[0];
  SmallVector<int64_t> sizes(op.getSizes()), chosen = getChosenDims(operand, dims.getCollapsedDims());
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (!operand.dims[dim].empty() && size == typeOf(op.getOperand()).getDimSize(dim) && size > 1)
      size = typeOf(localizer.operands[0]).getDimSize(dim);
  Value indices = localizer.operands[1], isHere;
  if (!chosen.empty()) {
    IndexVectors vectors(localizer, op.getLoc(), indices, dims.getIndexVectorDim(), dims.getStartIndexMap(),
                         typeOf(op.getOperand()).getShape());
    indices = vectors.localize(chosen, /*drop=*/false);
    isHere = vectors.isHere;
  }
  Value value = GatherOp::create(localizer.builder, op.getLoc(), localizer.getResultType(op, 0), localizer.operands[0],
                                 indices, dims, sizes);
  if (isHere)
    value = keepOwn(op, value, isHere, localizer);
  inherit(value.getDefiningOp(), op, Inherit::Local);
  return SmallVector<Value>{value};
}

/// The index vectors of `op`, of a type that has an index outside of one of the dimensions they choose from at least:
/// all signed types do, and unsigned ones whose largest index is beyond the shortest dimension.
static Value withOutside(ScatterOp op, Value indices, Localizer &localizer) {
  auto element = cast<IntegerType>(typeOf(indices).getElementType());
  if (!element.isUnsigned() && element.getWidth() > 1)
    return indices;
  int64_t shortest = std::numeric_limits<int64_t>::max();
  for (int64_t dim : op.getDims().getScatterDimsToOperandDims())
    shortest = std::min(shortest, typeOf(op.getOperand()).getDimSize(dim));
  if (APInt::getAllOnes(element.getWidth()).uge(static_cast<uint64_t>(shortest)))
    return indices;
  Arithmetic arithmetic(localizer, op.getLoc());
  return arithmetic.convert(indices, localizer.builder.getIntegerType(element.getWidth() < 32 ? 32 : 64));
}

/// The index vectors with an index outside of every dimension where a rank holds positions beyond its part: what would
/// be written from there is dropped.
static Value dropBeyond(ScatterOp op, Value indices, Localizer &localizer) {
  const Placement &placement = localizer.operandPlacements[1];
  SmallVector<int64_t> dims;
  SmallVector<Value> coordinates;
  for (unsigned dim = 0; dim < placement.dims.size(); ++dim)
    if (placement.isUneven(dim, localizer.mesh)) {
      dims.push_back(dim);
      for (const Split &split : placement.dims[dim])
        coordinates.push_back(localizer.getCoordinate(split.axis));
    }
  if (dims.empty())
    return indices;
  indices = withOutside(op, indices, localizer);
  OpBuilder &builder = localizer.builder;
  ArrayRef<int64_t> shape = typeOf(op.getIndices()).getShape();
  auto element = cast<IntegerType>(typeOf(indices).getElementType());
  // No tensor has 2^62 elements along a dimension.
  unsigned width = element.getWidth();
  APInt far = APInt::getSignedMinValue(width);
  if (element.isUnsigned() || width == 1)
    far = width == 64 ? APInt::getOneBitSet(width, 62) : APInt::getAllOnes(width);
  TypedAttr outside = IntegerAttr::get(element, far);
  return MaskOp::create(
      builder, op.getLoc(), indices.getType(), indices, coordinates, builder.getDenseI64ArrayAttr(dims),
      placement.toAttr(builder.getContext(), localizer.mesh, shape), builder.getDenseI64ArrayAttr(shape), outside);
}

LocalResults sharding::localizeScatter(ScatterOp op, Localizer &localizer) {
  ScatterDimsAttr dims = op.getDims();
  SmallVector<int64_t> chosen = getChosenDims(localizer.operandPlacements[0], dims.getInsertedDims());
  Value indices = dropBeyond(op, localizer.operands[1], localizer);
  if (!chosen.empty()) {
    IndexVectors vectors(localizer, op.getLoc(), indices, dims.getIndexVectorDim(), dims.getScatterDimsToOperandDims(),
                         typeOf(op.getOperand()).getShape());
    indices = vectors.localize(chosen, /*drop=*/true);
  }
  Value value = ScatterOp::create(localizer.builder, op.getLoc(), localizer.getResultType(op, 0), op.getKind(),
                                  localizer.operands[0], indices, localizer.operands[2], dims);
  inherit(value.getDefiningOp(), op, Inherit::Local);
  return SmallVector<Value>{value};
}
