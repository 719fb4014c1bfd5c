//===- Float8.h - floats of 8 bits ------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_FLOAT8_H
#define MESHWRIGHT_RUNTIME_FLOAT8_H

#include <cstdint>

namespace meshwright::runtime {

/// The format of a float of 8 bits: a sign, an exponent, and so many bits of mantissa.
struct Float8Format {
  /// The values that are no finite numbers.
  enum class End {
    /// Two infinities and NaNs, as in IEEE 754's types.
    Infinite,
    /// One NaN of either sign, all bits of exponent and mantissa set.
    Finite,
    /// One NaN, the bits of a zero with a sign, which does not exist.
    OneZero
  };
  unsigned mantissaBits;
  int bias;
  End end;

  float decode(uint8_t bits) const;
  /// The nearest number, of two the even one; what is too large becomes infinite, or NaN where nothing is.
  uint8_t encode(float value) const;
};

/// A float of 8 bits; converts to and from f32.
template <Float8Format format> struct Float8 {
  uint8_t bits = 0;
  Float8() = default;
  explicit Float8(float value) : bits(format.encode(value)) {}
  explicit operator float() const { return format.decode(bits); }
};

using Float8E4M3FN = Float8<Float8Format{3, 7, Float8Format::End::Finite}>;
using Float8E5M2 = Float8<Float8Format{2, 15, Float8Format::End::Infinite}>;
using Float8E4M3B11FNUZ = Float8<Float8Format{3, 11, Float8Format::End::OneZero}>;
using Float8E4M3FNUZ = Float8<Float8Format{3, 8, Float8Format::End::OneZero}>;
using Float8E5M2FNUZ = Float8<Float8Format{2, 16, Float8Format::End::OneZero}>;
using Float8E4M3 = Float8<Float8Format{3, 7, Float8Format::End::Infinite}>;
using Float8E3M4 = Float8<Float8Format{4, 3, Float8Format::End::Infinite}>;

} // namespace meshwright::runtime

#endif
