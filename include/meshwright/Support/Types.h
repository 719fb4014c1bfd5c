//===- Types.h - how large a type may be ------------------------*- C++ -*-===//
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

/// The most dimensions of a tensor: those of NumPy's arrays.
inline constexpr int64_t kMaxRank = 64;

/// The type as messages name it: as it is written, or by its rank alone where that is more than a tensor may have.
std::string describeType(mlir::Type type);

} // namespace meshwright

#endif
