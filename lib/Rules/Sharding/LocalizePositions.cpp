//===- LocalizePositions.cpp - the arithmetic of positions -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Localize.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Net/NetBuilder.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::net;
using namespace meshwright::sharding;

Value Arithmetic::splat(RankedTensorType type, int64_t value) {
  Type element = type.getElementType();
  Attribute attribute = isa<FloatType>(element)
                            ? Attribute(FloatAttr::get(element, static_cast<double>(value)))
                            : Attribute(IntegerAttr::get(element, APInt(element.getIntOrFloatBitWidth(), value,
                                                                        /*isSigned=*/true, /*implicitTrunc=*/true)));
  return ConstantOp::create(localizer.builder, loc, type, DenseElementsAttr::get(type, attribute));
}

Value Arithmetic::splatLike(Value like, int64_t value) { return splat(typeOf(like), value); }

Value Arithmetic::broadcast(Value value, RankedTensorType type, ArrayRef<int64_t> dims) {
  if (value.getType() == type)
    return value;
  return BroadcastOp::create(localizer.builder, loc, type, value, localizer.builder.getDenseI64ArrayAttr(dims));
}

Value Arithmetic::convert(Value value, Type element) {
  RankedTensorType type = typeOf(value);
  if (type.getElementType() == element)
    return value;
  return ConvertOp::create(localizer.builder, loc, type.clone(element), value);
}

Value Arithmetic::reshape(Value value, ArrayRef<int64_t> shape) {
  RankedTensorType type = typeOf(value);
  if (type.getShape() == shape)
    return value;
  return ReshapeOp::create(localizer.builder, loc, type.clone(shape), value);
}

Value Arithmetic::compare(CompareDirection direction, Value lhs, Value rhs) {
  auto type = typeOf(lhs).clone(localizer.builder.getI1Type());
  return CompareOp::create(localizer.builder, loc, type, direction, lhs, rhs, /*total_order=*/false);
}

Value Arithmetic::select(Value predicate, Value onTrue, Value onFalse) {
  return SelectOp::create(localizer.builder, loc, onTrue.getType(), predicate, onTrue, onFalse);
}

Value Arithmetic::coordinateLike(Axis axis, Value like) {
  RankedTensorType type = typeOf(like);
  return broadcast(convert(localizer.getCoordinate(axis), type.getElementType()), type, {});
}

Value Arithmetic::globalIndices(const Placement &placement, unsigned dim, int64_t size) {
  SmallVector<LocalDigit> digits = getLocalDigits(placement.dims[dim], size);
  int64_t left = 1;
  for (const LocalDigit &digit : digits)
    left *= digit.localSize;
  // With what the last rank holds beyond its part, indices are below twice the size.
  bool isLong = size > std::numeric_limits<int32_t>::max() / 2;
  auto type = RankedTensorType::get({left}, localizer.builder.getIntegerType(isLong ? 64 : 32));
  Value rest = IotaOp::create(localizer.builder, loc, type, localizer.builder.getI64IntegerAttr(0));
  Value sum;
  auto add = [&](Value digit, int64_t stride) {
    if (stride != 1)
      digit = binary<MultiplyOp>(digit, splat(type, stride));
    sum = sum ? binary<AddOp>(sum, digit) : digit;
  };
  for (const LocalDigit &digit : llvm::reverse(digits)) {
    if (digit.axis) {
      add(coordinateLike(*digit.axis, rest), digit.globalStride);
      continue;
    }
    if (digit.localSize == 1)
      continue;
    if (digit.localSize == left) {
      add(rest, digit.globalStride);
    } else {
      add(binary<RemainderOp>(rest, splat(type, digit.localSize)), digit.globalStride);
      rest = binary<DivideOp>(rest, splat(type, digit.localSize));
    }
    left /= digit.localSize;
  }
  return sum;
}

Arithmetic::Position Arithmetic::localPositions(Value indices, const Placement &placement, unsigned dim, int64_t size) {
  Value rest = indices, local, isHere;
  for (const LocalDigit &digit : getLocalDigits(placement.dims[dim], size)) {
    // A plain digit of one value is zero, and so is what is left for it.
    if (!digit.axis && digit.localSize == 1)
      continue;
    Value value = rest;
    if (digit.globalStride != 1) {
      Value stride = splatLike(indices, digit.globalStride);
      value = binary<DivideOp>(rest, stride);
      rest = binary<RemainderOp>(rest, stride);
    }
    if (digit.axis) {
      Value here = compare(CompareDirection::Eq, value, coordinateLike(*digit.axis, indices));
      isHere = isHere ? binary<AndOp>(isHere, here) : here;
    } else {
      local = local ? binary<AddOp>(binary<MultiplyOp>(local, splatLike(indices, digit.localSize)), value) : value;
    }
  }
  if (!local)
    local = splatLike(indices, 0);
  return {local, isHere};
}

int64_t sharding::toLocalBoundary(const Placement &placement, unsigned dim, int64_t size, int64_t position) {
  int64_t local = 0;
  for (const LocalDigit &digit : getLocalDigits(placement.dims[dim], size)) {
    if (!digit.axis)
      local = local * digit.localSize + position / digit.globalStride;
    position %= digit.globalStride;
  }
  return local;
}
