//===- Elementwise.h - private to the elementwise kernels -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer operations whose result StableHLO defines where the machine's is not: division by zero, shifts by the width
// or more, conversions out of range.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_RULES_KERNEL_ELEMENTWISE_H
#define MESHWRIGHT_LIB_RULES_KERNEL_ELEMENTWISE_H

#include "Kernel.h"

namespace meshwright::kernel {

/// The quotient towards zero; by zero all bits set; of the smallest by -1 the smallest.
mlir::Value divideIntegers(Builder &builder, bool isUnsigned, mlir::Value lhs, mlir::Value rhs);
/// The remainder with the sign of the dividend; by zero the dividend; of the smallest by -1 zero.
mlir::Value remainderOfIntegers(Builder &builder, bool isUnsigned, mlir::Value lhs, mlir::Value rhs);
/// The power by repeated squaring; to a negative exponent 1, ±1 or 0.
mlir::Value powerOfIntegers(Builder &builder, bool isUnsigned, mlir::Value base, mlir::Value exponent);

enum class Shift { Left, RightArithmetic, RightLogical };
/// A shift by the width or more leaves nothing but, to the right with sign, the sign.
mlir::Value shift(Builder &builder, Shift kind, mlir::Value lhs, mlir::Value rhs);

/// Converts between the types that operations have, signs included.
mlir::Value convert(Builder &builder, mlir::Type from, mlir::Type to, mlir::Value value);

} // namespace meshwright::kernel

#endif
