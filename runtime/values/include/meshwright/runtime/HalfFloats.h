//===- HalfFloats.h - the two floats of 16 bits -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Their conversions, and in what their sums are added up. Compiled for GPUs too, where there is no standard library: no
// header but this one of C.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_HALFFLOATS_H
#define MESHWRIGHT_RUNTIME_HALFFLOATS_H

#include <stdint.h>

namespace meshwright::runtime {

/// The 16 bits of a bfloat16; converts to and from f32, to nearest even.
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value) {
    uint32_t u = __builtin_bit_cast(uint32_t, value);
    if ((u & 0x7fffffff) > 0x7f800000)
      bits = static_cast<uint16_t>((u >> 16) | 0x40); // stays a NaN, quiet
    else
      bits = static_cast<uint16_t>((u + 0x7fff + ((u >> 16) & 1)) >> 16);
  }
  explicit operator float() const { return __builtin_bit_cast(float, static_cast<uint32_t>(bits) << 16); }
};

/// The 16 bits of an IEEE half; converts to and from f32, to nearest even.
struct Float16 {
  uint16_t bits = 0;
  Float16() = default;
  explicit Float16(float value) : bits(__builtin_bit_cast(uint16_t, static_cast<_Float16>(value))) {}
  explicit operator float() const { return static_cast<float>(__builtin_bit_cast(_Float16, bits)); }
};

/// The C++ type in which sums of T are accumulated: f32 for 16-bit floats, T otherwise.
template <typename T> struct AccumulatorOf {
  using Type = T;
};
template <> struct AccumulatorOf<BFloat16> {
  using Type = float;
};
template <> struct AccumulatorOf<Float16> {
  using Type = float;
};

} // namespace meshwright::runtime

#endif
