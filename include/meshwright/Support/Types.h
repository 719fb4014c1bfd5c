//===- Types.h - bounds and names of types ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SUPPORT_TYPES_H
#define MESHWRIGHT_SUPPORT_TYPES_H

#include "mlir/IR/Types.h"
#include <cstdint>
#include <string>

namespace meshwright {

/// The most dimensions of a tensor, as in NumPy.
inline constexpr int64_t kMaxRank = 64;

/// The type for messages: as it is written, or only its rank if that exceeds `kMaxRank`.
std::string describeType(mlir::Type type);

} // namespace meshwright

#endif
