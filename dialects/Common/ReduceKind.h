//===- ReduceKind.h - how several values become one -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_COMMON_REDUCEKIND_H
#define MESHWRIGHT_DIALECTS_COMMON_REDUCEKIND_H

#include "llvm/ADT/DenseMapInfo.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>

#include "dialects/Common/Enums.h.inc"

namespace meshwright {

/// True if `kind` adds, in whatever order.
inline bool isSum(ReduceKind kind) { return kind == ReduceKind::Sum || kind == ReduceKind::Tree; }

} // namespace meshwright

#endif
