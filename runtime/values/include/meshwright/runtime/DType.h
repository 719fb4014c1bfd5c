//===- DType.h - element types ----------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The element types of the package schema as C++ types, and their names.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DTYPE_H
#define MESHWRIGHT_RUNTIME_DTYPE_H

#include "meshwright/runtime/Float8.h"
#include "meshwright/runtime/HalfFloats.h"
#include "meshwright/runtime/Residue.h"
#include "package.pb.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace meshwright::runtime {

/// True if T is a float that converts to and from f32 alone.
template <typename T> inline constexpr bool isNarrowFloat = false;
template <> inline constexpr bool isNarrowFloat<BFloat16> = true;
template <> inline constexpr bool isNarrowFloat<Float16> = true;
template <Float8Format format> inline constexpr bool isNarrowFloat<Float8<format>> = true;
template <> inline constexpr bool isNarrowFloat<Residue> = true;

template <Float8Format format> struct AccumulatorOf<Float8<format>> {
  using Type = float;
};

/// Bytes of an element; 0 for what is no element type.
uint64_t getSize(DType type);
/// As in the package and in messages: `f32`, `i1`.
std::string_view getName(DType type);
/// The type of that name, in this spelling or in safetensors' (`F32`, `BOOL`); nothing if there is none.
std::optional<DType> parseDType(std::string_view name);
/// As safetensors spells it. Of the floats of 8 bits it has F8_E4M3, which is f8E4M3FN, F8_E5M2, F8_E4M3FNUZ and
/// F8_E5M2FNUZ; the names of the others are made after them, and only read here.
std::string_view getSafeTensorsName(DType type);
bool isFloat(DType type);
/// True if the type is a float of 8 bits.
bool isFloat8(DType type);
/// Bits of mantissa that a float writes down.
unsigned getMantissaBits(DType type);
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
  case F8E4M3FN:
    return fn(Float8E4M3FN());
  case F8E5M2:
    return fn(Float8E5M2());
  case F8E4M3B11FNUZ:
    return fn(Float8E4M3B11FNUZ());
  case F8E4M3FNUZ:
    return fn(Float8E4M3FNUZ());
  case F8E5M2FNUZ:
    return fn(Float8E5M2FNUZ());
  case F8E4M3:
    return fn(Float8E4M3());
  case F8E3M4:
    return fn(Float8E3M4());
  case RESIDUE:
    return fn(Residue());
  default:
    return fn(float());
  }
}

/// An element as a double (64-bit integers may be rounded).
double loadAsDouble(DType type, const void *element);

} // namespace meshwright::runtime

#endif
