//===- Elementwise.cpp - evaluates elementwise operations -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reference semantics of elementwise operations, written from StableHLO's definitions and independent of the kernels:
// floats are computed in double and rounded once to their type, integers wrap in their width.
//
//===----------------------------------------------------------------------===//

#include "test/lib/Evaluate/Evaluate.h"
#include "llvm/ADT/APSInt.h"
#include "llvm/ADT/bit.h"
#include <cmath>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::evaluate;

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

static double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
static double logistic(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
static double rsqrt(double x) { return 1 / std::sqrt(x); }

double evaluate::maximum(double x, double y) {
  if (std::isnan(x) || std::isnan(y))
    return std::nan("");
  if (x == y)
    return std::signbit(x) ? y : x;
  return x > y ? x : y;
}
double evaluate::minimum(double x, double y) { return -maximum(-x, -y); }

/// By 40 steps up to where four terms of its asymptotic series are enough; no number at its poles.
static double digamma(double x) {
  if (x < 0.5) {
    double offset = x - std::nearbyint(x);
    return offset == 0 ? std::nan("") : digamma(1 - x) - M_PI / std::tan(M_PI * offset);
  }
  double sum = 0;
  for (; x < 40; ++x)
    sum += 1 / x;
  double square = 1 / (x * x);
  return std::log(x) - 0.5 / x - square * (1.0 / 12 - square * (1.0 / 120 - square * (1.0 / 252 - square / 240))) - sum;
}

using FloatUnary = double (*)(double);
using FloatBinary = double (*)(double, double);

static FloatUnary findFloatUnary(Operation *op) {
  return TypeSwitch<Operation *, FloatUnary>(op)
      .Case([](net::AbsOp) { return static_cast<FloatUnary>(std::fabs); })
      .Case([](net::AcosOp) { return static_cast<FloatUnary>(std::acos); })
      .Case([](net::AcoshOp) { return static_cast<FloatUnary>(std::acosh); })
      .Case([](net::AsinOp) { return static_cast<FloatUnary>(std::asin); })
      .Case([](net::AsinhOp) { return static_cast<FloatUnary>(std::asinh); })
      .Case([](net::AtanhOp) { return static_cast<FloatUnary>(std::atanh); })
      .Case([](net::CbrtOp) { return static_cast<FloatUnary>(std::cbrt); })
      .Case([](net::CeilOp) { return static_cast<FloatUnary>(std::ceil); })
      .Case([](net::CosineOp) { return static_cast<FloatUnary>(std::cos); })
      .Case([](net::CoshOp) { return static_cast<FloatUnary>(std::cosh); })
      .Case([](net::DigammaOp) { return digamma; })
      .Case([](net::ErfOp) { return static_cast<FloatUnary>(std::erf); })
      .Case([](net::ErfcOp) { return static_cast<FloatUnary>(std::erfc); })
      .Case([](net::ExpOp) { return static_cast<FloatUnary>(std::exp); })
      .Case([](net::Expm1Op) { return static_cast<FloatUnary>(std::expm1); })
      .Case([](net::FloorOp) { return static_cast<FloatUnary>(std::floor); })
      .Case([](net::LgammaOp) { return static_cast<FloatUnary>(std::lgamma); })
      .Case([](net::LogOp) { return static_cast<FloatUnary>(std::log); })
      .Case([](net::Log1pOp) { return static_cast<FloatUnary>(std::log1p); })
      .Case([](net::LogisticOp) { return logistic; })
      .Case([](net::NegateOp) -> FloatUnary { return [](double x) { return -x; }; })
      .Case([](net::RoundOp) { return static_cast<FloatUnary>(std::nearbyint); })
      .Case([](net::RsqrtOp) { return rsqrt; })
      .Case([](net::SignOp) { return sign; })
      .Case([](net::SineOp) { return static_cast<FloatUnary>(std::sin); })
      .Case([](net::SinhOp) { return static_cast<FloatUnary>(std::sinh); })
      .Case([](net::SqrtOp) { return static_cast<FloatUnary>(std::sqrt); })
      .Case([](net::TanOp) { return static_cast<FloatUnary>(std::tan); })
      .Case([](net::TanhOp) { return static_cast<FloatUnary>(std::tanh); })
      .Default(nullptr);
}

static FloatBinary findFloatBinary(Operation *op) {
  return TypeSwitch<Operation *, FloatBinary>(op)
      .Case([](net::AddOp) -> FloatBinary { return [](double x, double y) { return x + y; }; })
      .Case([](net::SubtractOp) -> FloatBinary { return [](double x, double y) { return x - y; }; })
      .Case([](net::MultiplyOp) -> FloatBinary { return [](double x, double y) { return x * y; }; })
      .Case([](net::DivideOp) -> FloatBinary { return [](double x, double y) { return x / y; }; })
      .Case([](net::MaximumOp) -> FloatBinary { return maximum; })
      .Case([](net::MinimumOp) -> FloatBinary { return minimum; })
      .Case([](net::PowerOp) { return static_cast<FloatBinary>(std::pow); })
      .Case([](net::RemainderOp) { return static_cast<FloatBinary>(std::fmod); })
      .Case([](net::Atan2Op) { return static_cast<FloatBinary>(std::atan2); })
      .Default(nullptr);
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// Integers of a width; as `Element` holds them.
struct IntegerMath {
  unsigned width;
  bool isUnsigned;

  bool less(int64_t x, int64_t y) const {
    return isUnsigned ? static_cast<uint64_t>(x) < static_cast<uint64_t>(y) : x < y;
  }
  /// Towards zero; by zero all bits are set.
  int64_t divide(int64_t x, int64_t y) const {
    if (y == 0)
      return -1;
    if (isUnsigned)
      return static_cast<int64_t>(static_cast<uint64_t>(x) / static_cast<uint64_t>(y));
    return y == -1 ? negate(x) : x / y;
  }
  /// The remainder of a division by zero is the dividend.
  int64_t remainder(int64_t x, int64_t y) const {
    if (y == 0)
      return x;
    if (isUnsigned)
      return static_cast<int64_t>(static_cast<uint64_t>(x) % static_cast<uint64_t>(y));
    return y == -1 ? 0 : x % y;
  }
  static int64_t negate(int64_t x) { return static_cast<int64_t>(-static_cast<uint64_t>(x)); }
  static int64_t add(int64_t x, int64_t y) {
    return static_cast<int64_t>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
  }
  static int64_t multiply(int64_t x, int64_t y) {
    return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
  }
  int64_t power(int64_t base, int64_t exponent) const {
    if (!isUnsigned && exponent < 0)
      return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
    int64_t result = 1;
    for (uint64_t left = static_cast<uint64_t>(exponent); left != 0; left >>= 1) {
      if (left & 1)
        result = multiply(result, base);
      base = multiply(base, base);
    }
    return result;
  }
  /// Shifts by the width or more leave nothing but the sign.
  int64_t shiftLeft(int64_t x, int64_t by) const {
    return static_cast<uint64_t>(by) >= width ? 0 : static_cast<int64_t>(static_cast<uint64_t>(x) << by);
  }
  int64_t shiftRightLogical(int64_t x, int64_t by) const {
    uint64_t bits = width == 64 ? static_cast<uint64_t>(x) : static_cast<uint64_t>(x) & ((uint64_t(1) << width) - 1);
    return static_cast<uint64_t>(by) >= width ? 0 : static_cast<int64_t>(bits >> by);
  }
  int64_t shiftRightArithmetic(int64_t x, int64_t by) const {
    int64_t extended = llvm::SignExtend64(static_cast<uint64_t>(x), width);
    return extended >> (static_cast<uint64_t>(by) >= width ? 63 : by);
  }
};

static std::optional<int64_t> integerUnary(Operation *op, const IntegerMath &math, int64_t x) {
  return TypeSwitch<Operation *, std::optional<int64_t>>(op)
      .Case([&](net::AbsOp) { return !math.isUnsigned && x < 0 ? math.negate(x) : x; })
      .Case([&](net::NegateOp) { return math.negate(x); })
      .Case([&](net::NotOp) { return ~x; })
      .Case([&](net::SignOp) { return x == 0            ? 0
                                      : math.less(x, 0) ? -1
                                                        : 1; })
      .Default(std::nullopt);
}

static std::optional<int64_t> integerBinary(Operation *op, const IntegerMath &math, int64_t x, int64_t y) {
  bool logical = math.width == 1;
  return TypeSwitch<Operation *, std::optional<int64_t>>(op)
      .Case([&](net::AddOp) { return logical ? x | y : math.add(x, y); })
      .Case([&](net::SubtractOp) { return math.add(x, math.negate(y)); })
      .Case([&](net::MultiplyOp) { return math.multiply(x, y); })
      .Case([&](net::DivideOp) { return math.divide(x, y); })
      .Case([&](net::RemainderOp) { return math.remainder(x, y); })
      .Case([&](net::PowerOp) { return math.power(x, y); })
      .Case([&](net::MaximumOp) { return math.less(x, y) ? y : x; })
      .Case([&](net::MinimumOp) { return math.less(y, x) ? y : x; })
      .Case([&](net::AndOp) { return x & y; })
      .Case([&](net::OrOp) { return x | y; })
      .Case([&](net::XorOp) { return x ^ y; })
      .Case([&](net::ShiftLeftOp) { return math.shiftLeft(x, y); })
      .Case([&](net::ShiftRightLogicalOp) { return math.shiftRightLogical(x, y); })
      .Case([&](net::ShiftRightArithmeticOp) { return math.shiftRightArithmetic(x, y); })
      .Default(std::nullopt);
}

//===----------------------------------------------------------------------===//
// Comparison and conversion
//===----------------------------------------------------------------------===//

/// A number that orders floats as IEEE 754's total order does.
static int64_t totalOrder(double x) {
  auto bits = llvm::bit_cast<int64_t>(x);
  return bits < 0 ? bits ^ INT64_MAX : bits;
}

template <typename T> static bool holds(net::CompareDirection direction, T x, T y) {
  switch (direction) {
  case net::CompareDirection::Eq:
    return x == y;
  case net::CompareDirection::Ne:
    return x != y;
  case net::CompareDirection::Lt:
    return x < y;
  case net::CompareDirection::Le:
    return x <= y;
  case net::CompareDirection::Gt:
    return x > y;
  case net::CompareDirection::Ge:
    return x >= y;
  }
  llvm_unreachable("a direction");
}

static bool compare(net::CompareOp op, const Tensor &operand, Element x, Element y) {
  net::CompareDirection direction = op.getDirection();
  if (operand.isFloat())
    return op.getTotalOrder() ? holds(direction, totalOrder(x.f), totalOrder(y.f)) : holds(direction, x.f, y.f);
  if (operand.isUnsigned())
    return holds(direction, static_cast<uint64_t>(x.i), static_cast<uint64_t>(y.i));
  return holds(direction, x.i, y.i);
}

static double integerToFloat(Type to, bool isUnsigned, int64_t value) {
  llvm::APFloat number(cast<FloatType>(to).getFloatSemantics());
  number.convertFromAPInt(llvm::APInt(64, static_cast<uint64_t>(value)), !isUnsigned,
                          llvm::APFloat::rmNearestTiesToEven);
  bool inexact;
  number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return number.convertToDouble();
}

/// Towards zero; what is too large becomes the largest value, NaN becomes 0.
static int64_t floatToInteger(IntegerType to, double value) {
  bool isUnsigned = to.isUnsigned();
  llvm::APSInt integer(to.getWidth(), isUnsigned);
  bool exact;
  llvm::APFloat(value).convertToInteger(integer, llvm::APFloat::rmTowardZero, &exact);
  return isUnsigned ? static_cast<int64_t>(integer.getZExtValue()) : integer.getSExtValue();
}

static Element convert(const Tensor &from, Type to, Element x) {
  if (to.isInteger(1))
    return {.i = from.isFloat() ? x.f != 0 : x.i != 0};
  if (isa<FloatType>(to))
    return {.f = from.isFloat() ? roundTo(to, x.f) : integerToFloat(to, from.isUnsigned(), x.i)};
  return {.i = from.isFloat() ? floatToInteger(cast<IntegerType>(to), x.f) : wrapTo(to, x.i)};
}

/// `x`, of `type`, in a float of other sizes: rounded to a multiple of what its last bit is worth.
static double reducePrecision(FloatType type, int64_t exponentBits, int64_t mantissaBits, double x) {
  if (!std::isfinite(x) || x == 0)
    return x;
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  int64_t ownMantissa = llvm::APFloat::semanticsPrecision(semantics) - 1;
  int64_t exponent = std::max(std::ilogb(x), llvm::APFloat::semanticsMinExponent(semantics));
  int64_t places = exponent - std::min(mantissaBits, ownMantissa);
  double rounded = std::ldexp(std::nearbyint(std::ldexp(x, -places)), places);
  int64_t largest = (int64_t(1) << (exponentBits - 1)) - 1;
  if (largest >= llvm::APFloat::semanticsMaxExponent(semantics))
    return roundTo(type, rounded);
  if (std::abs(rounded) >= std::ldexp(1, largest + 1))
    return std::copysign(INFINITY, x);
  return std::abs(rounded) < std::ldexp(1, 1 - largest) ? std::copysign(0.0, x) : rounded;
}

/// The bits of an element of type `from` in the lowest places.
static uint64_t getBits(Type from, Element x) {
  auto real = dyn_cast<FloatType>(from);
  if (!real)
    return static_cast<uint64_t>(x.i);
  llvm::APFloat number(x.f);
  bool inexact;
  number.convert(real.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return number.bitcastToAPInt().getZExtValue();
}

/// The element of type `to` with those bits.
static Element readBits(Type to, uint64_t bits) {
  auto real = dyn_cast<FloatType>(to);
  if (!real)
    return {.i = wrapTo(to, static_cast<int64_t>(bits))};
  llvm::APInt places(real.getWidth(), bits, /*isSigned=*/false, /*implicitTrunc=*/true);
  llvm::APFloat number(real.getFloatSemantics(), places);
  bool inexact;
  number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return {.f = number.convertToDouble()};
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// Applies `compute` to the elements at every position.
static Tensor map(Operation *op, llvm::function_ref<Element(int64_t)> compute) {
  Tensor result(cast<RankedTensorType>(op->getResult(0).getType()));
  for (int64_t at = 0; at < result.size(); ++at)
    result.data[at] = compute(at);
  return result;
}

static std::optional<Tensor> evaluateFloats(Operation *op, ArrayRef<const Tensor *> operands) {
  Type type = operands[0]->type.getElementType();
  FloatUnary unary = findFloatUnary(op);
  FloatBinary binary = findFloatBinary(op);
  if (!unary && !binary)
    return std::nullopt;
  return map(op, [&](int64_t at) {
    double x = operands[0]->data[at].f;
    return Element{.f = roundTo(type, unary ? unary(x) : binary(x, operands[1]->data[at].f))};
  });
}

static std::optional<Tensor> evaluateIntegers(Operation *op, ArrayRef<const Tensor *> operands) {
  Type type = operands[0]->type.getElementType();
  IntegerMath math{type.getIntOrFloatBitWidth(), operands[0]->isUnsigned()};
  auto compute = [&](int64_t x, int64_t y) {
    return operands.size() == 1 ? integerUnary(op, math, x) : integerBinary(op, math, x, y);
  };
  if (operands.size() > 2 || !compute(0, 1))
    return std::nullopt;
  return map(op, [&](int64_t at) {
    return Element{.i = wrapTo(type, *compute(operands[0]->data[at].i, operands.back()->data[at].i))};
  });
}

std::optional<Tensor> evaluate::evaluateElementwise(Operation *op, ArrayRef<const Tensor *> operands) {
  if (auto compareOp = dyn_cast<net::CompareOp>(op))
    return map(op, [&](int64_t at) {
      return Element{.i = compare(compareOp, *operands[0], operands[0]->data[at], operands[1]->data[at])};
    });
  if (isa<net::SelectOp>(op))
    return map(op, [&](int64_t at) { return operands[operands[0]->data[at].i ? 1 : 2]->data[at]; });
  if (auto convertOp = dyn_cast<net::ConvertOp>(op)) {
    Type to = convertOp.getResult().getType().getElementType();
    return map(op, [&](int64_t at) { return convert(*operands[0], to, operands[0]->data[at]); });
  }
  if (auto bitcastOp = dyn_cast<net::BitcastConvertOp>(op)) {
    Type from = operands[0]->type.getElementType(), to = bitcastOp.getResult().getType().getElementType();
    return map(op, [&](int64_t at) { return readBits(to, getBits(from, operands[0]->data[at])); });
  }
  if (auto reduce = dyn_cast<net::ReducePrecisionOp>(op))
    return map(op, [&](int64_t at) {
      auto type = cast<FloatType>(operands[0]->type.getElementType());
      return Element{.f = reducePrecision(type, reduce.getExponent(), reduce.getMantissa(), operands[0]->data[at].f)};
    });
  if (isa<net::IsFiniteOp>(op))
    return map(op, [&](int64_t at) { return Element{.i = std::isfinite(operands[0]->data[at].f)}; });
  if (!op->hasTrait<OpTrait::Elementwise>() || operands.empty())
    return std::nullopt;
  return operands[0]->isFloat() ? evaluateFloats(op, operands) : evaluateIntegers(op, operands);
}
