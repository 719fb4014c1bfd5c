//===- ElementwiseInteger.cpp - integer operations that would trap or are undefined -===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer operations that trap on some machines or are undefined in LLVM get defined results here: division by zero,
// the overflow of the smallest number divided by −1, and the like for powers, shifts and conversions.
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"

using namespace mlir;
using namespace meshwright;
using Predicate = mlir::arith::CmpIPredicate;

static Value select(kernel::Builder &builder, Value condition, Value yes, Value no) {
  return arith::SelectOp::create(builder, condition, yes, no);
}
static Value compare(kernel::Builder &builder, Predicate predicate, Value lhs, Value rhs) {
  return arith::CmpIOp::create(builder, predicate, lhs, rhs);
}
static APInt allOnes(Type type) { return APInt::getAllOnes(type.getIntOrFloatBitWidth()); }

namespace {

/// The conditions under which the machine's division traps, and a divisor that avoids them.
struct Division {
  Value byZero, overflows, divisor;

  Division(kernel::Builder &builder, bool isUnsigned, Value lhs, Value rhs) {
    Type type = lhs.getType();
    Value zero = kernel::constant(builder, type, 0), one = kernel::constant(builder, type, 1);
    byZero = compare(builder, Predicate::eq, rhs, zero);
    Value unsafe = byZero;
    if (!isUnsigned) {
      APInt smallest = APInt::getSignedMinValue(type.getIntOrFloatBitWidth());
      Value isSmallest = compare(builder, Predicate::eq, lhs, kernel::constantInt(builder, type, smallest));
      Value byMinusOne = compare(builder, Predicate::eq, rhs, kernel::constantInt(builder, type, allOnes(type)));
      overflows = arith::AndIOp::create(builder, isSmallest, byMinusOne);
      unsafe = arith::OrIOp::create(builder, byZero, overflows);
    }
    divisor = select(builder, unsafe, one, rhs);
  }
};

} // namespace

Value kernel::divideIntegers(Builder &builder, bool isUnsigned, Value lhs, Value rhs) {
  // By one, the safe divisor, the smallest stays itself, as it should where the quotient overflows.
  Division division(builder, isUnsigned, lhs, rhs);
  Value quotient = isUnsigned ? arith::DivUIOp::create(builder, lhs, division.divisor).getResult()
                              : arith::DivSIOp::create(builder, lhs, division.divisor).getResult();
  return select(builder, division.byZero, constantInt(builder, lhs.getType(), allOnes(lhs.getType())), quotient);
}

Value kernel::remainderOfIntegers(Builder &builder, bool isUnsigned, Value lhs, Value rhs) {
  Division division(builder, isUnsigned, lhs, rhs);
  Value remainder = isUnsigned ? arith::RemUIOp::create(builder, lhs, division.divisor).getResult()
                               : arith::RemSIOp::create(builder, lhs, division.divisor).getResult();
  return select(builder, division.byZero, lhs, remainder);
}

Value kernel::powerOfIntegers(Builder &builder, bool isUnsigned, Value base, Value exponent) {
  Type type = base.getType();
  Value zero = constant(builder, type, 0), one = constant(builder, type, 1);
  auto isOdd = [&](Value value) {
    return compare(builder, Predicate::ne, arith::AndIOp::create(builder, value, one), zero);
  };
  Value isLarge = compare(builder, Predicate::slt, exponent, zero);
  if (isUnsigned) {
    // The operation takes exponents that are not negative as signed ones. Of w bits, from 3 on, the power of 2^(w-1) of
    // an odd number is 1 and that of an even one 0.
    APInt most = APInt::getSignedMaxValue(type.getIntOrFloatBitWidth());
    Value rest = arith::AndIOp::create(builder, exponent, constantInt(builder, type, most));
    Value result = math::IPowIOp::create(builder, base, rest);
    return select(builder, isLarge, select(builder, isOdd(base), result, zero), result);
  }
  Value result = math::IPowIOp::create(builder, base, arith::MaxSIOp::create(builder, exponent, zero));
  Value minusOne = constantInt(builder, type, allOnes(type)), odd = isOdd(exponent);
  Value reciprocal =
      select(builder, compare(builder, Predicate::eq, base, minusOne), select(builder, odd, minusOne, one),
             select(builder, compare(builder, Predicate::eq, base, one), one, zero));
  return select(builder, isLarge, reciprocal, result);
}

Value kernel::shift(Builder &builder, Shift kind, Value lhs, Value rhs) {
  Type type = lhs.getType();
  unsigned width = type.getIntOrFloatBitWidth();
  Value inRange = compare(builder, Predicate::ult, rhs, constantInt(builder, type, APInt(width, width)));
  Value zero = constant(builder, type, 0);
  Value last = constantInt(builder, type, APInt(width, width - 1));
  Value amount = select(builder, inRange, rhs, last);
  if (kind == Shift::RightArithmetic)
    return arith::ShRSIOp::create(builder, lhs, amount);
  Value shifted = kind == Shift::Left ? arith::ShLIOp::create(builder, lhs, amount).getResult()
                                      : arith::ShRUIOp::create(builder, lhs, amount).getResult();
  return select(builder, inRange, shifted, zero);
}

/// Towards zero; what does not fit becomes the nearest that does, and NaN zero.
static Value convertToInteger(kernel::Builder &builder, Type to, Value value) {
  Type target = kernel::getSignless(to);
  bool isUnsigned = kernel::isUnsigned(to);
  unsigned width = target.getIntOrFloatBitWidth();
  auto real = cast<FloatType>(value.getType());
  APInt least = isUnsigned ? APInt::getZero(width) : APInt::getSignedMinValue(width);
  APInt most = isUnsigned ? allOnes(target) : APInt::getSignedMaxValue(width);
  // One beyond the largest is a power of two, which every float type holds or takes for infinite.
  APFloat limit(real.getFloatSemantics());
  limit.convertFromAPInt(most.zext(width + 1) + 1, /*IsSigned=*/false, APFloat::rmNearestTiesToEven);
  APFloat floor(real.getFloatSemantics());
  floor.convertFromAPInt(least, !isUnsigned, APFloat::rmNearestTiesToEven);
  auto constant = [&](const APFloat &number) -> Value {
    return arith::ConstantOp::create(builder, builder.getFloatAttr(real, number));
  };
  Value converted = isUnsigned ? arith::FPToUIOp::create(builder, target, value).getResult()
                               : arith::FPToSIOp::create(builder, target, value).getResult();
  using Float = arith::CmpFPredicate;
  Value above = arith::CmpFOp::create(builder, Float::OGE, value, constant(limit));
  Value below = arith::CmpFOp::create(builder, Float::OLE, value, constant(floor));
  Value isNaN = arith::CmpFOp::create(builder, Float::UNO, value, value);
  converted = select(builder, above, kernel::constantInt(builder, target, most), converted);
  converted = select(builder, below, kernel::constantInt(builder, target, least), converted);
  return select(builder, isNaN, kernel::constant(builder, target, 0), converted);
}

/// `value`, of 64 bits, as a number that f64 holds and that rounds to all floats of at most 16 bits as `value` does:
/// from 2^53 on the last eleven bits become one, which says whether any was set.
static Value toShortNumber(kernel::Builder &builder, Value value, bool isUnsigned) {
  constexpr unsigned kCut = 11, kHeld = 53;
  auto shiftRight = [&](Value x, unsigned by) -> Value {
    Value amount = kernel::constant(builder, x.getType(), by);
    return isUnsigned ? arith::ShRUIOp::create(builder, x, amount).getResult()
                      : arith::ShRSIOp::create(builder, x, amount).getResult();
  };
  auto toFloat = [&](Value x) -> Value {
    return isUnsigned ? arith::UIToFPOp::create(builder, builder.getF64Type(), x).getResult()
                      : arith::SIToFPOp::create(builder, builder.getF64Type(), x).getResult();
  };
  auto number = [&](int64_t x) { return kernel::constant(builder, value.getType(), static_cast<double>(x)); };
  Value top = shiftRight(value, kHeld);
  Value isHeld = compare(builder, Predicate::eq, top, number(0));
  // Negative numbers have all higher bits set.
  if (!isUnsigned)
    isHeld = arith::OrIOp::create(builder, isHeld, compare(builder, Predicate::eq, top, number(-1)));
  Value cut = arith::AndIOp::create(builder, value, number((1 << kCut) - 1));
  Value isInexact = compare(builder, Predicate::ne, cut, number(0));
  Value sticky = arith::ExtUIOp::create(builder, value.getType(), isInexact);
  Value shortened = arith::OrIOp::create(builder, shiftRight(value, kCut), sticky);
  Value scale = select(builder, isHeld, kernel::constant(builder, builder.getF64Type(), 1),
                       kernel::constant(builder, builder.getF64Type(), 1 << kCut));
  return arith::MulFOp::create(builder, toFloat(select(builder, isHeld, value, shortened)), scale);
}

/// The float of type `target` nearest to an integer, rounded once.
static Value convertToFloat(kernel::Builder &builder, FloatType target, Value value, bool isUnsigned) {
  unsigned width = value.getType().getIntOrFloatBitWidth();
  bool isNarrow = target.getWidth() < 32;
  if (isNarrow && width == 64)
    return kernel::convertFloat(builder, toShortNumber(builder, value, isUnsigned), target);
  // f32 holds all integers of 16 bits, f64 all of 32.
  Type wide = !isNarrow ? Type(target) : width <= 16 ? builder.getF32Type() : builder.getF64Type();
  Value number = isUnsigned ? arith::UIToFPOp::create(builder, wide, value).getResult()
                            : arith::SIToFPOp::create(builder, wide, value).getResult();
  return kernel::convertFloat(builder, number, target);
}

Value kernel::convert(Builder &builder, Type from, Type to, Value value) {
  Type source = getSignless(from), target = getSignless(to);
  if (to.isInteger(1) && !from.isInteger(1)) {
    if (!isa<FloatType>(source))
      return compare(builder, Predicate::ne, value, constant(builder, source, 0));
    Type wide = getAccumulator(source);
    return arith::CmpFOp::create(builder, arith::CmpFPredicate::UNE, convertFloat(builder, value, wide),
                                 constant(builder, wide, 0));
  }
  if (isa<FloatType>(source) && isa<FloatType>(target))
    return convertFloat(builder, value, target);
  if (isa<FloatType>(source))
    return convertToInteger(builder, to, convertFloat(builder, value, getAccumulator(source)));
  if (auto real = dyn_cast<FloatType>(target))
    return convertToFloat(builder, real, value, isUnsigned(from));
  unsigned width = source.getIntOrFloatBitWidth(), wanted = target.getIntOrFloatBitWidth();
  if (width == wanted)
    return value;
  if (width > wanted)
    return arith::TruncIOp::create(builder, target, value);
  return isUnsigned(from) ? arith::ExtUIOp::create(builder, target, value).getResult()
                          : arith::ExtSIOp::create(builder, target, value).getResult();
}
