//===- Residue.cpp - numbers of the exact check ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Residue.h"
#include <atomic>
#include <cmath>
#include <iterator>
#include <limits>

using namespace meshwright;
using namespace meshwright::runtime;

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// `value` · 2^exponent: 2^61 is 1.
static uint64_t scale(uint64_t value, int exponent) {
  int places = ((exponent % 61) + 61) % 61;
  return Residue::reduce(static_cast<unsigned __int128>(value) << places);
}

Residue::Residue(double value) {
  if (std::isnan(value)) {
    *this = nan();
  } else if (std::isinf(value)) {
    *this = infinity(value < 0);
  } else {
    int exponent = 0;
    auto mantissa = static_cast<uint64_t>(std::ldexp(std::frexp(std::fabs(value), &exponent), 53));
    *this = fromBits(scale(mantissa, exponent - 53));
    if (value < 0)
      *this = -*this;
  }
}

Residue Residue::fromUnsigned(uint64_t value) { return fromBits(reduce(value)); }

Residue Residue::fromSigned(int64_t value) {
  Residue magnitude = fromUnsigned(value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value));
  return value < 0 ? -magnitude : magnitude;
}

int64_t Residue::toSmallest() const {
  return bits <= prime / 2 ? static_cast<int64_t>(bits) : -static_cast<int64_t>(prime - bits);
}

/// base^exponent modulo p.
static uint64_t power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1, base = Residue::multiply(base, base))
    if (exponent & 1)
      result = Residue::multiply(result, base);
  return result;
}

int Residue::getSign() const {
  if (!isFinite())
    return bits == plusInfinity ? 1 : bits == minusInfinity ? -1 : 0;
  // Euler's criterion.
  return bits == 0 ? 0 : power(bits, (prime - 1) / 2) == 1 ? 1 : -1;
}

Residue::operator double() const {
  if (isNaN())
    return std::numeric_limits<double>::quiet_NaN();
  if (isInfinite())
    return getSign() * std::numeric_limits<double>::infinity();
  constexpr int64_t kLargest = int64_t(1) << 53;
  int64_t value = toSmallest();
  return value > -kLargest && value < kLargest ? static_cast<double>(value) : getSign() * 1.5;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Residue Residue::multiplySymbols(Residue a, Residue b) {
  int sign = a.getSign() * b.getSign();
  return sign == 0 ? nan() : infinity(sign < 0);
}

/// The inverse of a number that is not zero: its power of p - 2 = 2^61 - 3, by powers of 2^n - 1.
static uint64_t invert(uint64_t value) {
  auto square = [](uint64_t base, int times) {
    while (times-- != 0)
      base = Residue::multiply(base, base);
    return base;
  };
  uint64_t x2 = Residue::multiply(square(value, 1), value); // 2^2 - 1
  uint64_t x3 = Residue::multiply(square(x2, 1), value);
  uint64_t x6 = Residue::multiply(square(x3, 3), x3);
  uint64_t x12 = Residue::multiply(square(x6, 6), x6);
  uint64_t x24 = Residue::multiply(square(x12, 12), x12);
  uint64_t x48 = Residue::multiply(square(x24, 24), x24);
  uint64_t x54 = Residue::multiply(square(x48, 6), x6);
  uint64_t x57 = Residue::multiply(square(x54, 3), x3);
  uint64_t x59 = Residue::multiply(square(x57, 2), x2);
  // 2^61 - 3 = (2^59 - 1) · 4 + 1
  return Residue::multiply(square(x59, 2), value);
}

/// The same, from the inverses that this thread has computed before: rows and whole arrays are divided by one number.
static uint64_t findInverse(uint64_t value) {
  struct Known {
    uint64_t value = 0, inverse = 0;
  };
  thread_local Known known[64];
  Known &place = known[value % std::size(known)];
  if (place.value != value)
    place = {value, invert(value)};
  return place.inverse;
}

Residue Residue::operator/(Residue other) const {
  if (isNaN() || other.isNaN())
    return nan();
  if (other.isInfinite())
    return isInfinite() ? nan() : Residue(0);
  if (other.bits == 0) {
    int sign = getSign();
    return sign == 0 ? nan() : infinity(sign < 0);
  }
  return *this * fromBits(findInverse(other.bits));
}

/// The key of the order of residues.
static std::atomic<uint64_t> orderKey = 0;

void Residue::chooseOrder(uint64_t seed) { orderKey.store(mixBits(seed), std::memory_order_relaxed); }

unsigned __int128 Residue::getRank() const {
  constexpr unsigned __int128 one = 1;
  if (isInfinite())
    return bits == minusInfinity ? 0 : one << 127;
  // Zero is in the middle.
  uint64_t key = orderKey.load(std::memory_order_relaxed), rank = mixBits(bits ^ key) ^ mixBits(key);
  return (one << 64) + (rank ^ (uint64_t(1) << 63));
}
