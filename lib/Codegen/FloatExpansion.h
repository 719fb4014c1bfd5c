//===- FloatExpansion.h - conversions of 8-bit floats by their bits -*- C++ -*===//
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
/// or NaN if the type has no infinity.
void populateFloat8ExpansionPatterns(mlir::RewritePatternSet &patterns);

} // namespace meshwright::emit

#endif
