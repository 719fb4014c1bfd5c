//===- Programs.h - invariants of programs ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SUPPORT_PROGRAMS_H
#define MESHWRIGHT_SUPPORT_PROGRAMS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include <cstdint>
#include <optional>
#include <string>

namespace meshwright {

/// The most bytes that the operations of a step may read and write. Passes and plans may multiply them several times in
/// 63 bits, and no machine comes near.
inline constexpr int64_t kMaxStepBytes = int64_t(1) << 58;

/// Checks that a function has a body of one block that ends with its return. Operations of dialects that are not linked
/// would otherwise pass as terminators.
llvm::LogicalResult verifyBody(mlir::func::FuncOp func);

/// The reason why a program cannot have a value of that type, as a clause: "whose dimension 0 has no size". Empty if it
/// can: values are tensors of static shape and known element types.
std::optional<std::string> getTypeProblem(mlir::Type type);

/// A function with the name, the attributes, the arguments and the results of `source`, and an empty block; it is in no
/// module. `mapping` gets its arguments for those of the source.
mlir::func::FuncOp cloneSignature(mlir::func::FuncOp source, mlir::IRMapping &mapping);

/// Checks the invariants that passes rely on, for all functions of `module` with a body:
/// - `verifyBody` accepts them, and `net::LoopNest` accepts their loops.
/// - The types of all values and variables are supported, except types of async handles.
/// - Bytes can be added without overflow: all variables times their slots, plus the operands and results of operations
///   times their iterations, have at most `kMaxStepBytes`.
/// The error is located at the first operation, argument or variable that violates one.
llvm::LogicalResult verifyPrograms(mlir::ModuleOp module);

} // namespace meshwright

#endif
