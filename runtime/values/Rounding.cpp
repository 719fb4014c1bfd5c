//===- Rounding.cpp - how the twin rounds ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums, products and quotients of f64 are rounded where they are not exact: the error of a sum is that of D. Knuth's
// two-sum, those of the others come from a fused multiplication and addition.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Rounding.h"
#include "meshwright/runtime/TwinFunctions.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

using namespace meshwright;
using namespace meshwright::runtime;

static std::optional<RandomRounding> chosen;

void meshwright::runtime::chooseRounding(std::optional<RandomRounding> rounding) { chosen = rounding; }

const std::optional<RandomRounding> &meshwright::runtime::getRounding() { return chosen; }

namespace {

/// The numbers of a float type: bits of mantissa, the exponent of the smallest normal number, the largest number.
struct Format {
  int mantissa, minExponent;
  double largest;
  bool hasInfinity = true;
};

constexpr Format getFormat(DType type) {
  switch (type) {
  case F32:
    return {23, -126, 0x1.fffffep127};
  case BF16:
    return {7, -126, 0x1.fep127};
  case F16:
    return {10, -14, 65504};
  case F8E4M3FN:
    return {3, -6, 448, false};
  case F8E5M2:
    return {2, -14, 57344};
  case F8E4M3B11FNUZ:
    return {3, -10, 30, false};
  case F8E4M3FNUZ:
    return {3, -7, 240, false};
  case F8E5M2FNUZ:
    return {2, -15, 57344, false};
  case F8E4M3:
    return {3, -6, 240};
  case F8E3M4:
    return {4, -2, 15.5};
  default:
    return {52, -1022, std::numeric_limits<double>::max()};
  }
}

double getSpacing(const Format &format, double value) {
  int exponent = static_cast<int>(std::bit_cast<uint64_t>(value) >> 52 & 0x7ff) - 1023;
  int power = std::max(exponent, format.minExponent) - format.mantissa;
  return power < -1022 ? std::ldexp(1.0, power) : std::bit_cast<double>(static_cast<uint64_t>(power + 1023) << 52);
}

/// A random number for a value.
uint64_t draw(double value) { return mixBits(std::bit_cast<uint64_t>(value) ^ mixBits(chosen->seed)); }

/// How many places the result is from the next lower number: 0 or 1, or from below that to above it.
int64_t drawPlaces(double value) {
  int64_t places = chosen->places;
  return static_cast<int64_t>(draw(value) % static_cast<uint64_t>(2 * places)) - places + 1;
}

/// One of the numbers of the format around `value`, by chance; of a value within 2^-20 of their distance from one of
/// them this one, since f64 rounds itself.
double roundToFormat(const Format &format, double value) {
  double spacing = getSpacing(format, value), places = value / spacing, below = std::floor(places);
  double rest = places - below;
  if (rest <= 0x1p-20 || rest >= 1 - 0x1p-20)
    return std::nearbyint(places) * spacing;
  return std::clamp((below + static_cast<double>(drawPlaces(value))) * spacing, -format.largest, format.largest);
}

/// `value`, an f64 whose exact result is beside it on one side, as a random rounding has it.
double roundDouble(double value, bool isAbove) {
  int64_t places = drawPlaces(value) - (isAbove ? 0 : 1);
  return value + static_cast<double>(places) * getSpacing(getFormat(F64), value);
}

/// The exact difference of x = a + b and the sum.
double getSumError(double a, double b, double x) {
  double bPart = x - a, aPart = x - bPart;
  return (a - aPart) + (b - bPart);
}

} // namespace

double meshwright::runtime::getSpacing(DType type, double value) { return ::getSpacing(getFormat(type), value); }

double meshwright::runtime::roundForTwin(DType type, double value) {
  Format format = getFormat(type);
  if (!std::isfinite(value) || std::fabs(value) > format.largest) {
    // Numbers that are nearer to the largest than to the next one are rounded to it.
    double limit = format.largest + ::getSpacing(format, format.largest) / 2;
    if (std::isfinite(value) && std::fabs(value) < limit)
      return std::copysign(format.largest, value);
    if (std::isnan(value) || !format.hasInfinity)
      return std::numeric_limits<double>::quiet_NaN();
    return std::copysign(std::numeric_limits<double>::infinity(), value);
  }
  if (!chosen || value == 0)
    return value;
  if (format.mantissa != 52)
    return roundToFormat(format, value);
  return value == std::nearbyint(value) ? value : roundDouble(value, (draw(-value) & 1) != 0);
}

/// The same for a sum, product or quotient, of which the error in f64 is known but for its size.
static double roundKnown(DType type, double value, double error) {
  if (type != F64 || !chosen || !std::isfinite(value))
    return roundForTwin(type, value);
  return error == 0 || std::isnan(error) ? value : roundDouble(value, error > 0);
}

//===----------------------------------------------------------------------===//
// The table for kernels
//===----------------------------------------------------------------------===//

static double add(uint64_t type, double a, double b) {
  double x = a + b;
  return roundKnown(static_cast<DType>(type), x, getSumError(a, b, x));
}

static double multiply(uint64_t type, double a, double b) {
  double x = a * b;
  return roundKnown(static_cast<DType>(type), x, type == F64 ? std::fma(a, b, -x) : 0);
}

static double divide(uint64_t type, double a, double b) {
  double x = a / b;
  return roundKnown(static_cast<DType>(type), x, type == F64 ? std::fma(-x, b, a) * (b < 0 ? -1 : 1) : 0);
}

static double fromPattern(uint64_t type, uint64_t pattern) {
  // Little-endian: the lower bytes are the element's.
  return loadAsDouble(static_cast<DType>(type), &pattern);
}

static uint64_t toPattern(uint64_t type, double value) {
  return dispatch(static_cast<DType>(type), [&](auto zero) -> uint64_t {
    using T = decltype(zero);
    uint64_t pattern = 0;
    if constexpr (std::is_same_v<T, double>)
      zero = value;
    else if constexpr (!std::is_integral_v<T>)
      zero = T(static_cast<float>(value));
    std::memcpy(&pattern, &zero, sizeof(zero));
    return pattern;
  });
}

const TwinFunctions &meshwright::runtime::getTwinFunctions() {
  static_assert(sizeof(TwinFunctions) == std::size(twinFunctionNames) * sizeof(void *));
  static const TwinFunctions functions = {
      .add = add,
      .subtract = [](uint64_t type, double a, double b) { return add(type, a, -b); },
      .multiply = multiply,
      .divide = divide,
      .round = [](uint64_t type, double value) { return roundForTwin(static_cast<DType>(type), value); },
      .fromPattern = fromPattern,
      .toPattern = toPattern,
  };
  return functions;
}
