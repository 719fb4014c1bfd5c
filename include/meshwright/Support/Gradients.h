//===- Gradients.h - values on their way to a gradient ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SUPPORT_GRADIENTS_H
#define MESHWRIGHT_SUPPORT_GRADIENTS_H

#include "mlir/IR/Value.h"

namespace meshwright {

/// True if `value` becomes a gradient, or an accumulated one, by single-use operations. `dist.defer_reduction`, the mark
/// of operations that a gradient passes before its reduction, also ends the search.
bool becomesGradient(mlir::Value value);

} // namespace meshwright

#endif
