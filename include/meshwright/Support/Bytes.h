//===- Bytes.h - sizes in bytes ---------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SUPPORT_BYTES_H
#define MESHWRIGHT_SUPPORT_BYTES_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cstdint>
#include <limits>

namespace meshwright {

/// More bytes than any memory; a few such numbers can be added without overflow.
inline constexpr int64_t kUnboundedBytes = std::numeric_limits<int64_t>::max() / 4;

/// The bytes of an element in memory; booleans take one.
inline int64_t getElementBytes(mlir::Type element) { return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8); }

/// The bytes of a tensor in memory.
inline int64_t getBytes(mlir::RankedTensorType type) {
  return type.getNumElements() * getElementBytes(type.getElementType());
}

/// The distance in bytes between consecutive slots of a stack of values of `type`.
inline int64_t getSlotBytes(mlir::RankedTensorType type) { return llvm::alignTo(getBytes(type), 64); }

} // namespace meshwright

#endif
