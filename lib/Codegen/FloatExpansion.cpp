//===- FloatExpansion.cpp - conversions of floats by their bits -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bits of a float without its sign are ordered like the numbers, also after the last bits are cut off: a carry from
// the mantissa correctly moves into the exponent. Two types differ in the number of mantissa bits, in the bias of the
// exponent, which is added, and at both ends of the range, which are selected.
//===----------------------------------------------------------------------===//

#include "FloatExpansion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <cmath>

using namespace mlir;
using namespace meshwright;
using Predicate = mlir::arith::CmpIPredicate;

static bool isFloat8(Type type) {
  auto real = dyn_cast<FloatType>(getElementTypeOrSelf(type));
  return real && real.getWidth() == 8;
}

/// `type`, a float or a vector of floats, with elements of f32.
static Type asF32(Type type) {
  auto f32 = Float32Type::get(type.getContext());
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(vector.clone(f32)) : f32;
}

namespace {

/// The numbers of a float type.
struct Format {
  explicit Format(Type type) : semantics(cast<FloatType>(getElementTypeOrSelf(type)).getFloatSemantics()) {}

  unsigned getMantissaBits() const { return APFloat::semanticsPrecision(semantics) - 1; }
  /// The exponent of the least normal number.
  int getMinExponent() const { return APFloat::semanticsMinExponent(semantics); }
  int getBias() const { return 1 - getMinExponent(); }
  bool hasInfinity() const { return APFloat::semanticsHasInf(semantics); }
  /// True if the type has no negative zero: its bits are those of the only NaN.
  bool hasOneZero() const { return getBits(APFloat::getNaN(semantics)) == 0x80; }

  uint64_t getBits(const APFloat &value) const { return value.bitcastToAPInt().getZExtValue(); }
  uint64_t getLargest() const { return getBits(APFloat::getLargest(semantics)); }
  uint64_t getInfinity() const { return getBits(APFloat::getInf(semantics)); }
  uint64_t getNaN() const { return getBits(APFloat::getNaN(semantics)); }
  /// The bits of 2^`exponent`.
  uint64_t getPower(int exponent) const {
    return getBits(scalbn(APFloat::getOne(semantics), exponent, APFloat::rmNearestTiesToEven));
  }

  const llvm::fltSemantics &semantics;
};

/// Arithmetic on the bits of scalars, or of vectors of one length.
class BitFormulas {
public:
  /// Works on integers of `width` bits in the shape of `shape`.
  BitFormulas(ImplicitLocOpBuilder &builder, Type shape, unsigned width)
      : builder(builder), shape(shape), type(like(builder.getIntegerType(width))) {}

  Type like(Type element) const {
    auto vector = dyn_cast<VectorType>(shape);
    return vector ? vector.clone(element) : element;
  }
  Value constant(TypedAttr value, Type ofType) {
    if (auto vector = dyn_cast<VectorType>(ofType))
      return arith::ConstantOp::create(builder, DenseElementsAttr::get(vector, value));
    return arith::ConstantOp::create(builder, value);
  }
  Value number(uint64_t value) {
    auto integer = cast<IntegerType>(getElementTypeOrSelf(type));
    return constant(builder.getIntegerAttr(integer, APInt(integer.getWidth(), value)), type);
  }
  Value add(Value a, Value b) { return arith::AddIOp::create(builder, a, b); }
  Value subtract(Value a, Value b) { return arith::SubIOp::create(builder, a, b); }
  Value both(Value a, Value b) { return arith::AndIOp::create(builder, a, b); }
  Value either(Value a, Value b) { return arith::OrIOp::create(builder, a, b); }
  Value shiftLeft(Value a, unsigned by) { return arith::ShLIOp::create(builder, a, number(by)); }
  Value shiftRight(Value a, unsigned by) { return arith::ShRUIOp::create(builder, a, number(by)); }
  Value compare(Predicate predicate, Value a, uint64_t b) {
    return arith::CmpIOp::create(builder, predicate, a, number(b));
  }
  Value select(Value condition, Value a, Value b) { return arith::SelectOp::create(builder, condition, a, b); }
  Value bitcast(Type to, Value value) { return arith::BitcastOp::create(builder, to, value); }

  ImplicitLocOpBuilder &builder;
  Type shape, type;
};

} // namespace

/// The bits in `to` of `magnitude`, a float of `from` below the least normal number of `to`: adding a number whose last
/// bit is worth as much as that of `to` there makes the processor round it.
static Value roundTiny(BitFormulas &f, const Format &from, const Format &to, Value magnitude, Type real) {
  int exponent =
      to.getMinExponent() - static_cast<int>(to.getMantissaBits()) + static_cast<int>(from.getMantissaBits());
  APFloat large = scalbn(APFloat::getOne(from.semantics), exponent, APFloat::rmNearestTiesToEven);
  auto element = cast<FloatType>(getElementTypeOrSelf(real));
  Value sum = arith::AddFOp::create(f.builder, f.bitcast(real, magnitude),
                                    f.constant(f.builder.getFloatAttr(element, large), real));
  return f.subtract(f.bitcast(f.type, sum), f.number(from.getBits(large)));
}

/// `value`, of f32 or f64, as a float of 8 bits.
static Value truncate(ImplicitLocOpBuilder &builder, Value value, Type result) {
  Type real = value.getType();
  Format from(real), to(result);
  unsigned width = getElementTypeOrSelf(real).getIntOrFloatBitWidth();
  BitFormulas f(builder, real, width);
  Value bits = f.bitcast(f.type, value);
  Value magnitude = f.both(bits, f.number(APInt::getSignedMaxValue(width).getZExtValue()));
  Value sign = f.both(f.shiftRight(bits, width - 8), f.number(0x80));
  // Adds half of the part that is cut off, less one if the last kept bit is even: round to nearest, ties to even.
  unsigned cut = from.getMantissaBits() - to.getMantissaBits();
  Value last = f.both(f.shiftRight(magnitude, cut), f.number(1));
  Value rounded = f.add(f.add(magnitude, last), f.number((uint64_t(1) << (cut - 1)) - 1));
  uint64_t distance = static_cast<uint64_t>(from.getBias() - to.getBias()) << to.getMantissaBits();
  Value code = f.subtract(f.shiftRight(rounded, cut), f.number(distance));
  Value isTiny = f.compare(Predicate::ult, magnitude, from.getPower(to.getMinExponent()));
  code = f.select(isTiny, roundTiny(f, from, to, magnitude, real), code);
  uint64_t beyond = to.hasInfinity() ? to.getInfinity() : to.getNaN();
  code = f.select(f.compare(Predicate::ugt, code, to.getLargest()), f.number(beyond), code);
  code = f.select(f.compare(Predicate::ugt, magnitude, from.getInfinity()), f.number(to.getNaN()), code);
  if (to.hasOneZero())
    sign = f.select(f.compare(Predicate::eq, code, 0), f.number(0), sign);
  Value byte = arith::TruncIOp::create(builder, f.like(builder.getI8Type()), f.either(code, sign));
  return f.bitcast(result, byte);
}

/// `value`, a float of 8 bits, as f32.
static Value extend(ImplicitLocOpBuilder &builder, Value value) {
  BitFormulas f(builder, value.getType(), 32);
  Type real = f.like(builder.getF32Type());
  Format from(value.getType()), to(real);
  Value byte = arith::ExtUIOp::create(builder, f.type, f.bitcast(f.like(builder.getI8Type()), value));
  Value magnitude = f.both(byte, f.number(0x7f)), sign = f.shiftLeft(f.both(byte, f.number(0x80)), 24);
  Value moved = f.shiftLeft(magnitude, to.getMantissaBits() - from.getMantissaBits());
  uint64_t distance = static_cast<uint64_t>(to.getBias() - from.getBias()) << to.getMantissaBits();
  Value bits = f.add(moved, f.number(distance));
  // Subnormal numbers are multiples of the least one.
  int least = from.getMinExponent() - static_cast<int>(from.getMantissaBits());
  Value unit = f.constant(builder.getF32FloatAttr(std::ldexp(1.0f, least)), real);
  Value tiny = arith::MulFOp::create(builder, arith::UIToFPOp::create(builder, real, magnitude), unit);
  Value isTiny = f.compare(Predicate::ult, magnitude, uint64_t(1) << from.getMantissaBits());
  bits = f.select(isTiny, f.bitcast(f.type, tiny), bits);
  if (from.hasInfinity())
    bits = f.select(f.compare(Predicate::uge, magnitude, from.getInfinity()),
                    f.either(moved, f.number(to.getInfinity())), bits);
  else
    bits = f.select(f.compare(Predicate::eq, from.hasOneZero() ? byte : magnitude, from.getNaN()),
                    f.number(to.getNaN()), bits);
  return f.bitcast(real, f.either(bits, sign));
}

/// `value`, of f64, as f32, rounded to odd: where f32 does not hold it, the one of its two neighbors whose last bit is
/// set. A number that has two bits more than a narrower type and is rounded to odd rounds as the number itself does,
/// because it is a tie only where the number is one (Boldo and Melquiond, "When double rounding is odd").
static Value roundToOdd(ImplicitLocOpBuilder &builder, Value value) {
  BitFormulas f(builder, value.getType(), 32);
  Type f32 = f.like(builder.getF32Type());
  Value nearest = arith::TruncFOp::create(builder, f32, value);
  Value exact = arith::ExtFOp::create(builder, value.getType(), nearest);
  Value bits = f.bitcast(f.type, nearest);
  // NaN stays as it is.
  Value isHeld = arith::CmpFOp::create(builder, arith::CmpFPredicate::UEQ, exact, value);
  Value isOdd = arith::TruncIOp::create(builder, f.like(builder.getI1Type()), bits);
  // Bits count up with the magnitude, from zero to infinity.
  Value isShort = arith::CmpFOp::create(builder, arith::CmpFPredicate::OLT, math::AbsFOp::create(builder, exact),
                                        math::AbsFOp::create(builder, value));
  Value other = f.add(bits, f.select(isShort, f.number(1), f.number(0xffffffff)));
  Value keeps = arith::OrIOp::create(builder, isHeld, isOdd);
  return f.bitcast(f32, f.select(keeps, bits, other));
}

namespace {

/// A processor rounds f64 to 16 bits by way of f32, which is twice.
struct ExpandTruncationOfF64 : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getIn().getType()).isF64() ||
        getElementTypeOrSelf(op.getType()).getIntOrFloatBitWidth() != 16)
      return failure();
    ImplicitLocOpBuilder builder(op.getLoc(), rewriter);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), roundToOdd(builder, op.getIn()));
    return success();
  }
};

struct ExpandTruncation : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &rewriter) const override {
    if (!isFloat8(op.getType()))
      return failure();
    ImplicitLocOpBuilder builder(op.getLoc(), rewriter);
    // MLIR folds a conversion from 16 bits through f32 into one step; f32 holds all 16-bit floats.
    Value value = op.getIn();
    if (getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth() < 32)
      value = arith::ExtFOp::create(builder, asF32(op.getType()), value);
    rewriter.replaceOp(op, truncate(builder, value, op.getType()));
    return success();
  }
};

struct ExpandExtension : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op, PatternRewriter &rewriter) const override {
    if (!isFloat8(op.getIn().getType()))
      return failure();
    ImplicitLocOpBuilder builder(op.getLoc(), rewriter);
    Value value = extend(builder, op.getIn());
    unsigned width = getElementTypeOrSelf(op.getType()).getIntOrFloatBitWidth();
    if (width > 32)
      value = arith::ExtFOp::create(builder, op.getType(), value);
    else if (width < 32)
      value = arith::TruncFOp::create(builder, op.getType(), value);
    rewriter.replaceOp(op, value);
    return success();
  }
};

} // namespace

void emit::populateFloatExpansionPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandExtension, ExpandTruncation>(patterns.getContext());
  // Before MLIR's own pattern for bf16.
  patterns.add<ExpandTruncationOfF64>(patterns.getContext(), /*benefit=*/2);
}
