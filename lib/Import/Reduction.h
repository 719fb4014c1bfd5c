//===- Reduction.h - what reductions of StableHLO have in common *- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_IMPORT_REDUCTION_H
#define MESHWRIGHT_LIB_IMPORT_REDUCTION_H

#include "Conversion.h"

namespace meshwright::importer {

/// What `body` makes of the elements of every operand, each combined with its own alone. Otherwise emits an error,
/// which says that `other` bodies are known besides.
mlir::FailureOr<llvm::SmallVector<dist::ReduceKind>> getReduceKinds(Conversion &conversion, mlir::Block &body,
                                                                    llvm::StringRef other);

/// The element that every element of `value` is, if it is a constant.
mlir::Attribute getSplat(mlir::Value value);
/// Whether combining with `element` changes nothing.
bool isNeutral(mlir::Attribute element, dist::ReduceKind kind);

/// The values combined element by element.
mlir::Value combine(Conversion &conversion, dist::ReduceKind kind, mlir::Value lhs, mlir::Value rhs);
/// `result`, a reduction from the neutral element, combined with the scalar `init` if that is another.
mlir::Value combineInit(Conversion &conversion, dist::ReduceKind kind, mlir::Value init, mlir::Value result);

/// Whether `value` compares `lhs` with `rhs` (or the other way round, mirrored) in that direction.
bool isCompare(mlir::Value value, llvm::StringRef direction, mlir::Value lhs, mlir::Value rhs);
/// The operands of `value` if the operation called `name` with two of them made it.
std::optional<std::pair<mlir::Value, mlir::Value>> matchBinary(mlir::Value value, llvm::StringRef name);

} // namespace meshwright::importer

#endif
