//===- ElementwiseBits.cpp - operations on the bits of floats -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mantissa is rounded by adding half of what is cut, less one where the last bit that is kept is even; a carry moves
// into the exponent, as it should. Floats of one sign are in the order of their bits.
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"

using namespace mlir;
using namespace meshwright;
using Predicate = mlir::arith::CmpIPredicate;

namespace {

/// Arithmetic on the bits of a float.
class BitFormulas {
public:
  BitFormulas(kernel::Builder &builder, FloatType real)
      : builder(builder), width(real.getWidth()), type(builder.getIntegerType(real.getWidth())) {}

  Value number(const APInt &value) { return kernel::constantInt(builder, type, value); }
  Value number(uint64_t value) { return number(APInt(width, value)); }
  Value add(Value a, Value b) { return arith::AddIOp::create(builder, a, b); }
  Value both(Value a, Value b) { return arith::AndIOp::create(builder, a, b); }
  Value either(Value a, Value b) { return arith::OrIOp::create(builder, a, b); }
  Value shiftRight(Value a, unsigned by) { return arith::ShRUIOp::create(builder, a, number(by)); }
  Value compare(Predicate predicate, Value a, Value b) { return arith::CmpIOp::create(builder, predicate, a, b); }
  Value select(Value condition, Value a, Value b) { return arith::SelectOp::create(builder, condition, a, b); }

  kernel::Builder &builder;
  unsigned width;
  IntegerType type;
};

} // namespace

/// Rounds `bits`, without sign, so that the lowest `cut` are zero.
static Value roundMantissa(BitFormulas &f, Value bits, unsigned cut) {
  Value last = f.both(f.shiftRight(bits, cut), f.number(1));
  APInt half = APInt::getOneBitSet(f.width, cut - 1);
  Value rounded = f.add(f.add(bits, last), f.number(half - 1));
  return f.both(rounded, f.number(APInt::getBitsSetFrom(f.width, cut)));
}

Value kernel::reducePrecision(Builder &builder, Value x, unsigned exponent, unsigned mantissa) {
  // Those of 8 bits differ in what their largest exponent means.
  if (x.getType().getIntOrFloatBitWidth() == 8)
    x = convertFloat(builder, x, builder.getF32Type());
  auto real = cast<FloatType>(x.getType());
  unsigned ownMantissa = real.getFPMantissaWidth() - 1, width = real.getWidth(), ownExponent = width - 1 - ownMantissa;
  BitFormulas f(builder, real);
  Value bits = arith::BitcastOp::create(builder, f.type, x);
  Value sign = f.both(bits, f.number(APInt::getSignMask(width)));
  Value magnitude = f.both(bits, f.number(APInt::getSignedMaxValue(width)));
  Value infinity = f.number(APInt::getBitsSet(width, ownMantissa, width - 1)), rounded = magnitude;
  if (mantissa < ownMantissa)
    rounded = roundMantissa(f, rounded, ownMantissa - mantissa);
  if (exponent < ownExponent) {
    // The biased exponents that the narrower float has too, but for those of zero and infinity.
    uint64_t bias = (uint64_t(1) << (ownExponent - 1)) - 1, reach = (uint64_t(1) << (exponent - 1)) - 1;
    Value first = f.number(APInt(width, bias - reach + 1).shl(ownMantissa));
    Value beyond = f.number(APInt(width, bias + reach + 1).shl(ownMantissa));
    rounded = f.select(f.compare(Predicate::uge, rounded, beyond), infinity, rounded);
    rounded = f.select(f.compare(Predicate::ult, rounded, first), f.number(0), rounded);
  }
  // NaN stays as it is.
  Value isNaN = f.compare(Predicate::ugt, magnitude, infinity);
  Value result = f.select(isNaN, bits, f.either(sign, rounded));
  return arith::BitcastOp::create(builder, real, result);
}

Value kernel::getOrderKey(Builder &builder, Value value, bool total) {
  if (value.getType().getIntOrFloatBitWidth() == 8)
    value = convertFloat(builder, value, builder.getF32Type());
  auto real = cast<FloatType>(value.getType());
  BitFormulas f(builder, real);
  Value bits = arith::BitcastOp::create(builder, f.type, value);
  // Numbers below zero count down from the sign bit.
  Value sign = arith::ShRSIOp::create(builder, bits, f.number(f.width - 1));
  Value flip = f.both(sign, f.number(APInt::getSignedMaxValue(f.width)));
  Value key = arith::XOrIOp::create(builder, bits, flip);
  if (total)
    return key;
  Value magnitude = f.both(bits, f.number(APInt::getSignedMaxValue(f.width)));
  Value infinity = f.number(APFloat::getInf(real.getFloatSemantics()).bitcastToAPInt());
  Value isNaN = f.compare(Predicate::ugt, magnitude, infinity);
  Value isZero = f.compare(Predicate::eq, magnitude, f.number(0));
  key = f.select(isNaN, f.number(APInt::getSignedMaxValue(f.width)), key);
  return f.select(isZero, f.number(0), key);
}
