//===- Uses.h - how values are used -----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_USES_H
#define MESHWRIGHT_DIALECTS_NET_USES_H

#include "mlir/IR/Value.h"

namespace meshwright::net {

/// The element type that `value`, a tensor, is used in: the smaller one that all its uses convert it to, otherwise its
/// own.
mlir::Type getUsedType(mlir::Value value);

} // namespace meshwright::net

#endif
