//===- Conditionals.h - what runs at the last of several steps --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Between stages a program has its counted conditionals as regions (`dist.when`), which is what people and other
// compilers read. Passes work on one straight line, with the times on assignments and results (`dist.during`), because
// any operation may come to be needed more often. The two forms are equivalent.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITION_CONDITIONALS_H
#define MESHWRIGHT_PARTITION_CONDITIONALS_H

#include "dialects/Dist/Dist.h"
#include "mlir/IR/OwningOpRef.h"

namespace meshwright::partition {

/// Moves the operations that only the last of several accumulation steps needs into one `dist.when` at the end of each
/// function of `module`. Fails, with an error, if `dist.during` names times that the mesh does not have.
mlir::LogicalResult formConditionals(mlir::ModuleOp module);

/// Puts the operations of every `dist.when` in its place. Fails, with an error at the operation, if one of them is
/// needed at times at which the conditional leaves it out.
mlir::LogicalResult inlineConditionals(mlir::ModuleOp module);

/// `module` if it has no conditionals, else a copy of it that has none, which `copy` owns. Fails, with an error, if
/// they cannot be inlined.
mlir::FailureOr<mlir::ModuleOp> getWithoutConditionals(mlir::ModuleOp module, mlir::OwningOpRef<mlir::ModuleOp> &copy);

} // namespace meshwright::partition

#endif
