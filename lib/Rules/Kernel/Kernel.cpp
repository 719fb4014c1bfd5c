//===- Kernel.cpp - shared by the kernel lowerings ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers of all lowerings: signless types, accumulators of sums, constants, and element-wise `linalg` operations. Sums
// of 16-bit floats are computed in f32.
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"
#include "dialects/Dist/Conversions.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;

Type kernel::getSignless(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  return integer && !integer.isSignless() ? IntegerType::get(type.getContext(), integer.getWidth()) : type;
}

RankedTensorType kernel::getSignless(RankedTensorType type) { return type.clone(getSignless(type.getElementType())); }

bool kernel::isUnsigned(Type type) { return type.isUnsignedInteger() || type.isInteger(1); }

Type kernel::getAccumulator(Type type) {
  auto real = dyn_cast<FloatType>(type);
  return real && real.getWidth() < 32 ? Float32Type::get(type.getContext()) : getSignless(type);
}

Value kernel::convertFloat(Builder &builder, Value value, Type type) {
  auto from = cast<FloatType>(value.getType()), to = cast<FloatType>(type);
  if (from == to)
    return value;
  // Between two narrow types the way leads through f32.
  if (to.getWidth() < 32 && from.getWidth() < 32)
    return convertFloat(builder, convertFloat(builder, value, builder.getF32Type()), type);
  if (from.getWidth() < 32 && to.getWidth() > 32)
    return convertFloat(builder, convertFloat(builder, value, builder.getF32Type()), type);
  if (from.getWidth() < to.getWidth())
    return arith::ExtFOp::create(builder, type, value);
  return arith::TruncFOp::create(builder, type, value);
}

Value kernel::constant(Builder &builder, Type type, double value) {
  if (isa<FloatType>(type))
    return arith::ConstantOp::create(builder, builder.getFloatAttr(type, value));
  return arith::ConstantOp::create(builder, builder.getIntegerAttr(type, static_cast<int64_t>(value)));
}

Value kernel::constantInt(Builder &builder, Type type, const APInt &value) {
  return arith::ConstantOp::create(builder, builder.getIntegerAttr(type, value));
}

static Value buildGeneric(kernel::Builder &builder, Value init, ValueRange inputs, ArrayRef<AffineMap> maps,
                          ArrayRef<utils::IteratorType> iterators,
                          function_ref<Value(kernel::Builder &, ValueRange)> body) {
  auto buildBody = [&](OpBuilder &nested, Location loc, ValueRange args) {
    kernel::Builder inner(loc, nested);
    Value result = body(inner, args);
    linalg::YieldOp::create(inner, result);
  };
  return linalg::GenericOp::create(builder, init.getType(), inputs, init, maps, iterators, buildBody).getResult(0);
}

Value kernel::mapElements(Builder &builder, RankedTensorType result, ValueRange inputs, ArrayRef<AffineMap> maps,
                          Body body) {
  Value init = tensor::EmptyOp::create(builder, result.getShape(), result.getElementType());
  SmallVector<AffineMap> all(maps);
  all.push_back(builder.getMultiDimIdentityMap(result.getRank()));
  SmallVector<utils::IteratorType> iterators(result.getRank(), utils::IteratorType::parallel);
  return buildGeneric(builder, init, inputs, all, iterators,
                      [&](Builder &inner, ValueRange args) { return body(inner, args.drop_back()); });
}

Value kernel::mapElements(Builder &builder, RankedTensorType result, ValueRange inputs, Body body) {
  SmallVector<AffineMap> maps(inputs.size(), builder.getMultiDimIdentityMap(result.getRank()));
  return mapElements(builder, result, inputs, maps, body);
}

Value kernel::moveElements(Builder &builder, RankedTensorType result, Value input, AffineMap map) {
  return mapElements(builder, result, input, map, [](Builder &, ValueRange args) { return args[0]; });
}

Value kernel::getNeutral(Builder &builder, ReduceKind kind, Type type) {
  Type signless = getSignless(type);
  if (isa<FloatType>(type) && kind == ReduceKind::Sum)
    return constant(builder, type, 0);
  if (isa<FloatType>(type))
    return arith::ConstantOp::create(builder, getNeutralElement(kind, type));
  unsigned width = signless.getIntOrFloatBitWidth();
  bool isUnsignedType = isUnsigned(type);
  switch (kind) {
  case ReduceKind::Product:
    return constantInt(builder, signless, APInt(width, 1));
  case ReduceKind::And:
    return constantInt(builder, signless, APInt::getAllOnes(width));
  case ReduceKind::Max:
    return constantInt(builder, signless, isUnsignedType ? APInt::getZero(width) : APInt::getSignedMinValue(width));
  case ReduceKind::Min:
    return constantInt(builder, signless, isUnsignedType ? APInt::getAllOnes(width) : APInt::getSignedMaxValue(width));
  default:
    return constantInt(builder, signless, APInt::getZero(width));
  }
}

Value kernel::combine(Builder &builder, ReduceKind kind, Type type, Value lhs, Value rhs) {
  bool real = isa<FloatType>(type), boolean = type.isInteger(1);
  switch (kind) {
  case ReduceKind::Sum:
    if (real)
      return arith::AddFOp::create(builder, lhs, rhs);
    // As StableHLO has it, booleans add by "or" and multiply by "and".
    return boolean ? arith::OrIOp::create(builder, lhs, rhs).getResult()
                   : arith::AddIOp::create(builder, lhs, rhs).getResult();
  case ReduceKind::Product:
    if (real)
      return arith::MulFOp::create(builder, lhs, rhs);
    return arith::MulIOp::create(builder, lhs, rhs);
  case ReduceKind::Max:
    if (real)
      return arith::MaximumFOp::create(builder, lhs, rhs);
    return isUnsigned(type) ? arith::MaxUIOp::create(builder, lhs, rhs).getResult()
                            : arith::MaxSIOp::create(builder, lhs, rhs).getResult();
  case ReduceKind::Min:
    if (real)
      return arith::MinimumFOp::create(builder, lhs, rhs);
    return isUnsigned(type) ? arith::MinUIOp::create(builder, lhs, rhs).getResult()
                            : arith::MinSIOp::create(builder, lhs, rhs).getResult();
  case ReduceKind::And:
    return arith::AndIOp::create(builder, lhs, rhs);
  case ReduceKind::Or:
    return arith::OrIOp::create(builder, lhs, rhs);
  case ReduceKind::Tree:
    break;
  }
  llvm_unreachable("every kind of reduction is combined");
}

Value kernel::reduceElements(Builder &builder, ReduceKind kind, RankedTensorType result, AffineMap resultMap,
                             ValueRange inputs, ArrayRef<AffineMap> maps, Body body) {
  Type element = result.getElementType();
  RankedTensorType type = getSignless(result);
  // Over no dimension every element is combined with nothing.
  if (resultMap.getNumDims() == resultMap.getNumResults())
    return mapElements(builder, type, inputs, maps, body);
  // Over nothing there is no loop.
  if (llvm::any_of(inputs, [](Value input) { return typeOf(input).getNumElements() == 0; }))
    return mapElements(builder, type, {}, [&](Builder &inner, ValueRange) { return getNeutral(inner, kind, element); });
  Value empty = tensor::EmptyOp::create(builder, type.getShape(), type.getElementType());
  Value init = linalg::FillOp::create(builder, getNeutral(builder, kind, element), empty).getResult(0);
  SmallVector<AffineMap> all(maps);
  all.push_back(resultMap);
  SmallVector<utils::IteratorType> iterators(resultMap.getNumDims(), utils::IteratorType::reduction);
  for (AffineExpr expr : resultMap.getResults())
    iterators[cast<AffineDimExpr>(expr).getPosition()] = utils::IteratorType::parallel;
  return buildGeneric(builder, init, inputs, all, iterators, [&](Builder &inner, ValueRange args) {
    return combine(inner, kind, element, args.back(), body(inner, args.drop_back()));
  });
}
