//===- Float8.cpp - floats of 8 bits --------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Without its sign a float is a counter of the numbers from zero up. Those of one exponent e are the multiples of
// 2^(e - mantissa bits) from 2^e on, and below the least exponent the multiples go on down to zero.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Float8.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace meshwright::runtime;

/// The counter of the first that is no number.
static unsigned getEnd(const Float8Format &format) {
  switch (format.end) {
  case Float8Format::End::Infinite:
    return 0x7f >> format.mantissaBits << format.mantissaBits;
  case Float8Format::End::Finite:
    return 0x7f;
  default:
    return 0x80;
  }
}

float Float8Format::decode(uint8_t bits) const {
  unsigned counter = bits & 0x7f;
  float sign = bits & 0x80 ? -1.0f : 1.0f;
  if (end == End::OneZero ? bits == 0x80 : counter >= getEnd(*this))
    return end == End::Infinite && counter == getEnd(*this)
               ? sign * std::numeric_limits<float>::infinity()
               : std::copysign(std::numeric_limits<float>::quiet_NaN(), sign);
  unsigned full = 1u << mantissaBits, mantissa = counter % full;
  int exponent = static_cast<int>(counter >> mantissaBits);
  if (exponent != 0)
    mantissa += full;
  return sign * std::ldexp(static_cast<float>(mantissa), std::max(exponent, 1) - bias - static_cast<int>(mantissaBits));
}

uint8_t Float8Format::encode(float value) const {
  unsigned sign = std::signbit(value) ? 0x80 : 0, last = getEnd(*this) - 1;
  // The only NaN, the first NaN, or one that is quiet.
  unsigned nan = end == End::Infinite ? last + 1 + (1u << (mantissaBits - 1)) : last + 1;
  if (std::isnan(value))
    return static_cast<uint8_t>(sign | nan);
  float size = std::fabs(value);
  unsigned counter = last + 1;
  if (!std::isinf(size)) {
    int least = 1 - bias, exponent = size == 0 ? least : std::max(std::ilogb(size), least);
    float multiple = std::nearbyint(std::ldexp(size, static_cast<int>(mantissaBits) - exponent));
    counter =
        std::min(static_cast<unsigned>(multiple) + (static_cast<unsigned>(exponent - least) << mantissaBits), counter);
  }
  return static_cast<uint8_t>(end == End::OneZero && counter == 0 ? 0 : sign | counter);
}
