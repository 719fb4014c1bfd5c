//===- Rounding.h - how the twin rounds -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The twin of a program computes in f64 what the program computes in narrower types. It rounds nothing, so that its
// results stand for the exact ones; or it rounds every result that is not exact at random, to one or the other of its
// neighbours in the program's type, so that some runs show how far rounding moves each element. The idea is that of
// J. Vignes, A stochastic arithmetic for reliable scientific computation, 1993, and of D. S. Parker, Monte Carlo
// arithmetic, 1997.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_ROUNDING_H
#define MESHWRIGHT_RUNTIME_ROUNDING_H

#include "meshwright/runtime/DType.h"
#include <algorithm>
#include <bit>
#include <cmath>

namespace meshwright::runtime {

/// A random rounding: other choices for each seed, among the two neighbours of a result or, to see what larger errors
/// do, among so many places below and above it.
struct RandomRounding {
  uint64_t seed;
  unsigned places = 1;
};

/// Lets the twins of all threads round at random or, for nothing, not at all; none of them computes meanwhile.
void chooseRounding(std::optional<RandomRounding> rounding);
const std::optional<RandomRounding> &getRounding();

/// `value` as a result of type `type`: infinite, or NaN in a type without infinities, if it is beyond the range; where
/// the twin rounds, one of the numbers around it. What is exact in the type stays; so does what is so but for the
/// rounding of f64. Equal values are rounded alike. An f64 that is no integer moves by a few units in the last place.
double roundForTwin(DType type, double value);

/// The numbers of a float type: bits of mantissa, the exponent of the smallest normal number, the largest number.
struct FloatFormat {
  int mantissa, minExponent;
  double largest;
  bool hasInfinity = true;
};
const FloatFormat &getFloatFormat(DType type);

/// The distance of neighbouring numbers of a format at `value`.
inline double getSpacing(const FloatFormat &format, double value) {
  int exponent = static_cast<int>(std::bit_cast<uint64_t>(value) >> 52 & 0x7ff) - 1023;
  int power = std::max(exponent, format.minExponent) - format.mantissa;
  return power < -1022 ? std::ldexp(1.0, power) : std::bit_cast<double>(static_cast<uint64_t>(power + 1023) << 52);
}
inline double getSpacing(DType type, double value) { return getSpacing(getFloatFormat(type), value); }

} // namespace meshwright::runtime

#endif
