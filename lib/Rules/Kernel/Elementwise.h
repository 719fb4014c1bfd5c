//===- Elementwise.h - private to the elementwise kernels -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer operations whose result StableHLO defines where the machine's is not: division by zero, shifts by the width
// or more, conversions out of range. Functions of floats that the machine does not have.
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

/// A signed integer whose order is IEEE 754's total order of floats. If not `total`, zeros of either sign have one, and
/// all NaNs the same, above all numbers.
mlir::Value getOrderKey(Builder &builder, mlir::Value value, bool total = true);

/// Functions of floats that are computed by others.
enum class Function { Acos, Acosh, Asin, Asinh, Atanh, Cosh, Digamma, Lgamma, Sinh };
/// The function at `x`, which is of f32 or f64.
mlir::Value computeFunction(Builder &builder, Function function, mlir::Value x);

/// `x` rounded to a float of so many bits of exponent and mantissa, in its own type, or in f32 if that has 8 bits.
mlir::Value reducePrecision(Builder &builder, mlir::Value x, unsigned exponent, unsigned mantissa);

/// Converts between the types that operations have, signs included.
mlir::Value convert(Builder &builder, mlir::Type from, mlir::Type to, mlir::Value value);

} // namespace meshwright::kernel

#endif
