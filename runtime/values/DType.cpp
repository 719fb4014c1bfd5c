//===- DType.cpp - element types ------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/DType.h"
#include <array>
#include <cstring>

using namespace meshwright;
using namespace meshwright::runtime;

namespace {

struct TypeInfo {
  DType type;
  uint64_t size;
  std::string_view name;
  std::string_view safeTensorsName;
};

constexpr std::array<TypeInfo, 21> types = {{{F32, 4, "f32", "F32"},
                                             {F64, 8, "f64", "F64"},
                                             {BF16, 2, "bf16", "BF16"},
                                             {F16, 2, "f16", "F16"},
                                             {I1, 1, "i1", "BOOL"},
                                             {I8, 1, "i8", "I8"},
                                             {I16, 2, "i16", "I16"},
                                             {I32, 4, "i32", "I32"},
                                             {I64, 8, "i64", "I64"},
                                             {U8, 1, "u8", "U8"},
                                             {U16, 2, "u16", "U16"},
                                             {U32, 4, "u32", "U32"},
                                             {U64, 8, "u64", "U64"},
                                             {F8E4M3FN, 1, "f8E4M3FN", "F8_E4M3"},
                                             {F8E5M2, 1, "f8E5M2", "F8_E5M2"},
                                             {F8E4M3B11FNUZ, 1, "f8E4M3B11FNUZ", "F8_E4M3B11FNUZ"},
                                             {F8E4M3FNUZ, 1, "f8E4M3FNUZ", "F8_E4M3FNUZ"},
                                             {F8E5M2FNUZ, 1, "f8E5M2FNUZ", "F8_E5M2FNUZ"},
                                             {F8E4M3, 1, "f8E4M3", "F8_E4M3_IEEE"},
                                             {F8E3M4, 1, "f8E3M4", "F8_E3M4"},
                                             {RESIDUE, 8, "residue", "RESIDUE"}}};

const TypeInfo *find(DType type) {
  for (const TypeInfo &info : types)
    if (info.type == type)
      return &info;
  return nullptr;
}

} // namespace

uint64_t meshwright::runtime::getSize(DType type) {
  const TypeInfo *info = find(type);
  return info ? info->size : 0;
}

std::string_view meshwright::runtime::getName(DType type) {
  const TypeInfo *info = find(type);
  return info ? info->name : "unknown";
}

std::string_view meshwright::runtime::getSafeTensorsName(DType type) {
  const TypeInfo *info = find(type);
  return info ? info->safeTensorsName : "unknown";
}

std::optional<DType> meshwright::runtime::parseDType(std::string_view name) {
  for (const TypeInfo &info : types)
    if (info.name == name || info.safeTensorsName == name)
      return info.type;
  return std::nullopt;
}

bool meshwright::runtime::isFloat(DType type) {
  return type == F32 || type == F64 || type == BF16 || type == F16 || type == RESIDUE || isFloat8(type);
}

bool meshwright::runtime::isFloat8(DType type) { return type >= F8E4M3FN && type <= F8E3M4; }

unsigned meshwright::runtime::getMantissaBits(DType type) {
  switch (type) {
  case RESIDUE:
    return 61;
  case F64:
    return 52;
  case F32:
    return 23;
  case F16:
    return 10;
  case BF16:
    return 7;
  case F8E3M4:
    return 4;
  case F8E5M2:
  case F8E5M2FNUZ:
    return 2;
  default:
    return isFloat8(type) ? 3 : 0;
  }
}

bool meshwright::runtime::isInteger(DType type) { return getSize(type) != 0 && !isFloat(type) && type != I1; }

double meshwright::runtime::loadAsDouble(DType type, const void *element) {
  return dispatch(type, [&](auto value) -> double {
    using T = decltype(value);
    std::memcpy(&value, element, sizeof(T));
    if constexpr (isNarrowFloat<T>)
      return static_cast<float>(value);
    else
      return static_cast<double>(value);
  });
}
