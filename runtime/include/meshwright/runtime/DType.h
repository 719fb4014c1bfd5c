//===- DType.h - element types ----------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The element types of the package schema as C++ types, their names, and the conversions of the two 16-bit floats.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DTYPE_H
#define MESHWRIGHT_RUNTIME_DTYPE_H

#include "package.pb.h"
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace meshwright::runtime {

/// The 16 bits of a bfloat16; converts to and from f32, to nearest even.
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value) {
    uint32_t u = std::bit_cast<uint32_t>(value);
    if ((u & 0x7fffffff) > 0x7f800000)
      bits = static_cast<uint16_t>((u >> 16) | 0x40); // stays a NaN, quiet
    else
      bits = static_cast<uint16_t>((u + 0x7fff + ((u >> 16) & 1)) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

/// The 16 bits of an IEEE half; converts to and from f32, to nearest even.
struct Float16 {
  uint16_t bits = 0;
  Float16() = default;
  explicit Float16(float value) : bits(std::bit_cast<uint16_t>(static_cast<_Float16>(value))) {}
  explicit operator float() const { return static_cast<float>(std::bit_cast<_Float16>(bits)); }
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

/// Bytes of an element; 0 for what is no element type.
uint64_t getSize(DType type);
/// As in the package and in messages: `f32`, `i1`.
std::string_view getName(DType type);
/// The type of that name, in this spelling or in safetensors' (`F32`, `BOOL`); nothing if there is none.
std::optional<DType> parseDType(std::string_view name);
/// As safetensors spells it.
std::string_view getSafeTensorsName(DType type);
bool isFloat(DType type);
bool isInteger(DType type);

/// Calls `fn` with a value of the C++ type of `type` (I1 is uint8_t).
template <typename Fn> decltype(auto) dispatch(DType type, Fn &&fn) {
  switch (type) {
  case F64:
    return fn(double());
  case BF16:
    return fn(BFloat16());
  case F16:
    return fn(Float16());
  case I8:
    return fn(int8_t());
  case I16:
    return fn(int16_t());
  case I32:
    return fn(int32_t());
  case I64:
    return fn(int64_t());
  case I1:
  case U8:
    return fn(uint8_t());
  case U16:
    return fn(uint16_t());
  case U32:
    return fn(uint32_t());
  case U64:
    return fn(uint64_t());
  default:
    return fn(float());
  }
}

/// An element as a double (64-bit integers may be rounded).
double loadAsDouble(DType type, const void *element);

} // namespace meshwright::runtime

#endif
