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
/// The key of the random numbers, from its seed.
static uint64_t chosenKey = 0;

void meshwright::runtime::chooseRounding(std::optional<RandomRounding> rounding) {
  chosen = rounding;
  chosenKey = rounding ? mixBits(rounding->seed) : 0;
}

const std::optional<RandomRounding> &meshwright::runtime::getRounding() { return chosen; }

const FloatFormat &meshwright::runtime::getFloatFormat(DType type) {
  static constexpr FloatFormat f32 = {23, -126, 0x1.fffffep127}, bf16 = {7, -126, 0x1.fep127}, f16 = {10, -14, 65504},
                               f64 = {52, -1022, std::numeric_limits<double>::max()}, e4m3fn = {3, -6, 448, false},
                               e5m2 = {2, -14, 57344}, e4m3b11fnuz = {3, -10, 30, false},
                               e4m3fnuz = {3, -7, 240, false}, e5m2fnuz = {2, -15, 57344, false}, e4m3 = {3, -6, 240},
                               e3m4 = {4, -2, 15.5};
  switch (type) {
  case F32:
    return f32;
  case BF16:
    return bf16;
  case F16:
    return f16;
  case F8E4M3FN:
    return e4m3fn;
  case F8E5M2:
    return e5m2;
  case F8E4M3B11FNUZ:
    return e4m3b11fnuz;
  case F8E4M3FNUZ:
    return e4m3fnuz;
  case F8E5M2FNUZ:
    return e5m2fnuz;
  case F8E4M3:
    return e4m3;
  case F8E3M4:
    return e3m4;
  default:
    return f64;
  }
}

/// A random number for a value.
static uint64_t draw(double value) { return mixBits(std::bit_cast<uint64_t>(value) ^ chosenKey); }

/// How many places the result is from the next lower number: 0 or 1, or from below that to above it.
static int64_t drawPlaces(double value) {
  int64_t places = chosen->places;
  auto drawn = static_cast<unsigned __int128>(draw(value)) * static_cast<uint64_t>(2 * places);
  return static_cast<int64_t>(drawn >> 64) - places + 1;
}

/// One of the numbers of the format around `value`, by chance; of a value within 2^-20 of their distance from one of
/// them this one, since f64 rounds itself. Both are found by the bits of the mantissa that the format lacks, for normal
/// numbers of both formats, and by division for others.
static double roundToFormat(const FloatFormat &format, double value) {
  uint64_t bits = std::bit_cast<uint64_t>(value);
  int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023, missing = 52 - format.mantissa;
  double spacing = getSpacing(format, value), lower, offset;
  if (exponent >= format.minExponent) {
    uint64_t unit = uint64_t(1) << missing, rest = bits & (unit - 1), near = unit >> 20;
    lower = std::bit_cast<double>(bits - rest);
    if (rest <= near)
      return lower;
    if (rest >= unit - near)
      return std::bit_cast<double>(bits - rest + unit);
    offset = static_cast<double>(drawPlaces(value));
    // Numbers are truncated towards zero, and of negative ones that is the upper neighbour.
    return std::clamp(lower + std::copysign(spacing, value) * offset, -format.largest, format.largest);
  }
  double places = value / spacing, below = std::floor(places), rest = places - below;
  if (rest <= 0x1p-20 || rest >= 1 - 0x1p-20)
    return std::nearbyint(places) * spacing;
  return std::clamp((below + static_cast<double>(drawPlaces(value))) * spacing, -format.largest, format.largest);
}

/// `value`, an f64 whose exact result is beside it on one side, as a random rounding has it.
static double roundDouble(double value, bool isAbove) {
  int64_t places = drawPlaces(value) - (isAbove ? 0 : 1);
  return value + static_cast<double>(places) * getSpacing(F64, value);
}

/// The exact difference of x = a + b and the sum.
static double getSumError(double a, double b, double x) {
  double bPart = x - a, aPart = x - bPart;
  return (a - aPart) + (b - bPart);
}

/// A value that is NaN, infinite or beyond the largest number of the format. Numbers that are nearer to the largest
/// than to the next one are rounded to it.
static double roundBeyond(const FloatFormat &format, double value) {
  double limit = format.largest + getSpacing(format, format.largest) / 2;
  if (std::isfinite(value) && std::fabs(value) < limit)
    return std::copysign(format.largest, value);
  if (std::isnan(value) || !format.hasInfinity)
    return std::numeric_limits<double>::quiet_NaN();
  return std::copysign(std::numeric_limits<double>::infinity(), value);
}

static double roundInFormat(const FloatFormat &format, double value) {
  if (!(std::fabs(value) <= format.largest))
    return roundBeyond(format, value);
  if (!chosen || value == 0)
    return value;
  if (format.mantissa != 52)
    return roundToFormat(format, value);
  return value == std::nearbyint(value) ? value : roundDouble(value, (draw(-value) & 1) != 0);
}

double meshwright::runtime::roundForTwin(DType type, double value) {
  return roundInFormat(getFloatFormat(type), value);
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
