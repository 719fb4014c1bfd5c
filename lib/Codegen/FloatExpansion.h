//===- FloatExpansion.h - conversions of floats by their bits ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_CODEGEN_FLOATEXPANSION_H
#define MESHWRIGHT_LIB_CODEGEN_FLOATEXPANSION_H

#include "mlir/IR/PatternMatch.h"

namespace meshwright::emit {

/// Patterns that convert scalars and vectors between 8-bit floats, which LLVM has no types for, and f32 or f64 by
/// operations on their bits. A number becomes the nearest, ties to even; a number that is too large becomes infinite,
/// or NaN if the type has no infinity. f64 is rounded once to floats of 16 bits.
void populateFloatExpansionPatterns(mlir::RewritePatternSet &patterns);

} // namespace meshwright::emit

#endif
