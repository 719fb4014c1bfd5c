//===- MathExpansion.h - functions where there is no library ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_CODEGEN_MATHEXPANSION_H
#define MESHWRIGHT_LIB_CODEGEN_MATHEXPANSION_H

#include "mlir/IR/PatternMatch.h"

namespace meshwright::emit {

/// Patterns that compute functions of scalars by additions, products, quotients and bits, for processors without a
/// library of them: exponentials, logarithms, hyperbolic tangents and error functions of f64, and sines, cosines,
/// tangents, angles, cube roots, powers and remainders of any float type, by way of f64.
///
/// Remainders are exact. Most results are within a few units of the last place. Those of `erfc` and `pow` have a
/// relative error of up to 1e-12, and sines and cosines lose digits with the size of their argument, which is to be
/// less than 2^30.
void populateMathExpansionPatterns(mlir::RewritePatternSet &patterns);

/// A pattern that computes exponentials of f32 scalars by NVIDIA's `ex2.approx`, before any other would.
void populateApproximationPatterns(mlir::RewritePatternSet &patterns);

} // namespace meshwright::emit

#endif
