//===- Reduction.h - helpers for reductions and windows ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_STABLEHLO_REDUCTION_H
#define MESHWRIGHT_LIB_STABLEHLO_REDUCTION_H

#include "Conversion.h"

namespace meshwright::importer {

/// The reduction of every operand, if `body` combines each operand only with itself. Otherwise emits an error, which
/// lists `other` as further supported bodies.
mlir::FailureOr<llvm::SmallVector<ReduceKind>> getReduceKinds(Conversion &conversion, mlir::Block &body,
                                                              llvm::StringRef other);

/// The value of all elements if `value` is a splat constant; null otherwise.
mlir::Attribute getSplat(mlir::Value value);
/// True if combining with `element` changes nothing.
bool isNeutral(mlir::Attribute element, ReduceKind kind);

/// Combines two values element by element.
mlir::Value combine(Conversion &conversion, ReduceKind kind, mlir::Value lhs, mlir::Value rhs);
/// Combines `result`, a reduction from the neutral element, with the scalar `init` unless that is neutral.
mlir::Value combineInit(Conversion &conversion, ReduceKind kind, mlir::Value init, mlir::Value result);

/// True if `value` compares `lhs` with `rhs` in that direction, or `rhs` with `lhs` in the mirrored one.
bool isCompare(mlir::Value value, llvm::StringRef direction, mlir::Value lhs, mlir::Value rhs);
/// The operands of `value` if it is the result of the binary operation `name`.
std::optional<std::pair<mlir::Value, mlir::Value>> matchBinary(mlir::Value value, llvm::StringRef name);

} // namespace meshwright::importer

#endif
