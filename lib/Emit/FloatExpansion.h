//===- FloatExpansion.h - floats of 8 bits --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_EMIT_FLOATEXPANSION_H
#define MESHWRIGHT_LIB_EMIT_FLOATEXPANSION_H

#include "mlir/IR/PatternMatch.h"

namespace meshwright::emit {

/// Patterns that convert scalars and vectors between floats of 8 bits and f32 or f64 by operations on their bits, which
/// LLVM has no types for. A number becomes the nearest, of two the even one; what is too large for the type becomes
/// infinite, or no number where the type has no infinity.
void populateFloat8ExpansionPatterns(mlir::RewritePatternSet &patterns);

} // namespace meshwright::emit

#endif
