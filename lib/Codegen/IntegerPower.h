//===- IntegerPower.h - powers of integers as loops -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_CODEGEN_INTEGERPOWER_H
#define MESHWRIGHT_LIB_CODEGEN_INTEGERPOWER_H

#include "mlir/IR/PatternMatch.h"

namespace meshwright::emit {

/// A pattern that computes powers of scalars and vectors of integers by repeated squaring, one bit of the exponent in
/// each iteration of a loop. Unrolled, a few hundred powers are more code than LLVM compiles in a minute.
void populateIntegerPowerPatterns(mlir::RewritePatternSet &patterns);

} // namespace meshwright::emit

#endif
