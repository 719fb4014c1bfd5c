//===- Uses.h - the element type in which a value is used -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_USES_H
#define MESHWRIGHT_DIALECTS_NET_USES_H

#include "mlir/IR/Operation.h"

namespace meshwright::net {

/// The element type in which `value`, a tensor, is used: if all its uses convert it to the same narrower type, that
/// type; otherwise its own.
mlir::Type getUsedType(mlir::Value value);

/// Whether `op`, of the body of a function, is where values leave the step: it assigns a variable or returns results.
bool isOutput(mlir::Operation *op);

} // namespace meshwright::net

#endif
