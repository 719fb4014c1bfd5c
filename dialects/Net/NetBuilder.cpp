//===- NetBuilder.cpp - builds expressions of net operations --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Derivatives, optimizers and localization write formulas with this builder. It computes result types and leaves out
// identities, so that the formulas read like the mathematics and produce no operations to fold afterwards.
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/NetBuilder.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;

bool net::isFloat(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType());
}

ConstantOp net::getConstant(Value value) {
  Operation *op = value.getDefiningOp();
  while (isa_and_nonnull<BroadcastOp, ReshapeOp, TransposeOp, ConvertOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return dyn_cast_or_null<ConstantOp>(op);
}

std::optional<APFloat> net::getFloatSplat(Value value) {
  Operation *op = value.getDefiningOp();
  while (isa_and_nonnull<BroadcastOp, ReshapeOp, TransposeOp>(op))
    op = op->getOperand(0).getDefiningOp();
  auto constant = dyn_cast_or_null<ConstantOp>(op);
  auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
  if (!splat || !isa<FloatType>(splat.getElementType()))
    return std::nullopt;
  return splat.getSplatValue<APFloat>();
}

bool net::isZero(Value value) {
  ConstantOp constant = getConstant(value);
  auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
  if (!splat)
    return false;
  if (isa<FloatType>(splat.getElementType()))
    return splat.getSplatValue<APFloat>().isZero();
  return splat.getElementType().isIntOrIndex() && splat.getSplatValue<APInt>().isZero();
}

/// Converts `number` to an attribute of the element type.
static Attribute makeElement(Type elementType, double number) {
  if (auto type = dyn_cast<FloatType>(elementType))
    return FloatAttr::get(type, number);
  auto type = cast<IntegerType>(elementType);
  auto integer = static_cast<int64_t>(number);
  return IntegerAttr::get(type, APInt(type.getWidth(), static_cast<uint64_t>(integer), /*isSigned=*/integer < 0,
                                      /*implicitTrunc=*/true));
}

Value NetBuilder::splat(Type type, double value) {
  auto tensor = cast<RankedTensorType>(type);
  auto attribute = DenseElementsAttr::get(tensor, makeElement(tensor.getElementType(), value));
  return ConstantOp::create(builder, location, type, attribute);
}

Value NetBuilder::compare(CompareDirection direction, Value x, Value y) {
  return CompareOp::create(builder, location, typeOf(x).clone(builder.getI1Type()), direction, x, y,
                           /*total_order=*/false);
}

Value NetBuilder::select(Value predicate, Value onTrue, Value onFalse) {
  return SelectOp::create(builder, location, onTrue.getType(), predicate, onTrue, onFalse);
}

Value NetBuilder::convert(Value x, Type elementType) {
  if (elementTypeOf(x) == elementType)
    return x;
  return ConvertOp::create(builder, location, typeOf(x).clone(elementType), x);
}

Value NetBuilder::broadcast(Value x, Dims shape, Dims dims) {
  if (shape.size() == dims.size() && llvm::is_sorted(dims))
    return x;
  return BroadcastOp::create(builder, location, typeOf(x).clone(shape), x, dims);
}

Value NetBuilder::reshape(Value x, Dims shape) {
  if (shapeOf(x) == shape)
    return x;
  return ReshapeOp::create(builder, location, typeOf(x).clone(shape), x);
}

Value NetBuilder::transpose(Value x, Dims permutation) {
  if (llvm::is_sorted(permutation))
    return x;
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(shapeOf(x)[dim]);
  return TransposeOp::create(builder, location, typeOf(x).clone(shape), x, permutation);
}

Value NetBuilder::reverse(Value x, Dims dims) {
  if (llvm::all_of(dims, [&](int64_t dim) { return shapeOf(x)[dim] < 2; }))
    return x;
  return ReverseOp::create(builder, location, x.getType(), x, dims);
}

Value NetBuilder::slice(Value x, Dims starts, Dims limits, Dims steps) {
  SmallVector<int64_t> shape;
  for (auto [start, limit, step] : llvm::zip_equal(starts, limits, steps))
    shape.push_back((limit - start + step - 1) / step);
  if (shape == shapeOf(x))
    return x;
  return SliceOp::create(builder, location, typeOf(x).clone(shape), x, starts, limits, steps);
}

Value NetBuilder::cut(Value x, int64_t dim, int64_t begin, int64_t end) {
  SmallVector<int64_t> starts(typeOf(x).getRank(), 0), limits(shapeOf(x)), steps(starts.size(), 1);
  starts[dim] = begin;
  limits[dim] = end;
  return slice(x, starts, limits, steps);
}

Value NetBuilder::pad(Value x, double value, Dims low, Dims high, Dims interior) {
  SmallVector<int64_t> shape;
  bool changes = false;
  for (auto [dim, size] : llvm::enumerate(shapeOf(x))) {
    shape.push_back(low[dim] + size + std::max<int64_t>(size - 1, 0) * interior[dim] + high[dim]);
    changes |= low[dim] || high[dim] || (interior[dim] && size > 1);
  }
  if (!changes)
    return x;
  Value padding = splat(RankedTensorType::get({}, elementTypeOf(x)), value);
  return PadOp::create(builder, location, typeOf(x).clone(shape), x, padding, low, high, interior);
}

Value NetBuilder::dynamicSlice(Value x, ValueRange starts, Dims shape) {
  if (shapeOf(x) == shape)
    return x;
  return DynamicSliceOp::create(builder, location, typeOf(x).clone(shape), x, starts);
}

Value NetBuilder::dynamicUpdateSlice(Value x, Value box, ValueRange starts) {
  if (x.getType() == box.getType())
    return box;
  return DynamicUpdateSliceOp::create(builder, location, x.getType(), x, box, starts);
}

Value NetBuilder::concatenate(ValueRange values, int64_t dim) {
  SmallVector<int64_t> shape(shapeOf(values.front()));
  for (Value value : values.drop_front())
    shape[dim] += shapeOf(value)[dim];
  return ConcatenateOp::create(builder, location, typeOf(values.front()).clone(shape), values, dim);
}

Value NetBuilder::reduce(ReduceKind kind, Value x, Dims dims) {
  if (dims.empty())
    return x;
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(shapeOf(x)))
    if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
      shape.push_back(size);
  return ReduceOp::create(builder, location, typeOf(x).clone(shape), kind, x, dims);
}

Value NetBuilder::dot(Value lhs, Value rhs, Dims lhsBatch, Dims rhsBatch, Dims lhsContract, Dims rhsContract,
                      Type elementType) {
  SmallVector<int64_t> shape;
  for (int64_t dim : lhsBatch)
    shape.push_back(shapeOf(lhs)[dim]);
  auto appendFree = [&](Value value, Dims batch, Dims contract) {
    for (auto [dim, size] : llvm::enumerate(shapeOf(value)))
      if (!llvm::is_contained(batch, static_cast<int64_t>(dim)) &&
          !llvm::is_contained(contract, static_cast<int64_t>(dim)))
        shape.push_back(size);
  };
  appendFree(lhs, lhsBatch, lhsContract);
  appendFree(rhs, rhsBatch, rhsContract);
  return DotOp::create(builder, location, RankedTensorType::get(shape, elementType), lhs, rhs, lhsBatch, rhsBatch,
                       lhsContract, rhsContract);
}

Value NetBuilder::iota(Type elementType, Dims shape, int64_t dim) {
  return IotaOp::create(builder, location, RankedTensorType::get(shape, elementType), dim);
}
