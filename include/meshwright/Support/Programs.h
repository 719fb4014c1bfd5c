//===- Programs.h - what passes may take for granted ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SUPPORT_PROGRAMS_H
#define MESHWRIGHT_SUPPORT_PROGRAMS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <cstdint>
#include <optional>
#include <string>

namespace meshwright {

/// The most bytes that the operations of a step may read and write: passes and plans may count them several times over
/// in 63 bits. No machine gets near it.
inline constexpr int64_t kMaxStepBytes = int64_t(1) << 58;

/// Checks that a function has a body of one block that ends with its return. Operations of dialects that are not linked
/// pass for ends of a block otherwise.
llvm::LogicalResult verifyBody(mlir::func::FuncOp func);

/// Why a value cannot be of that type in a program, as a clause: "whose dimension 0 has no size". Nothing if it can:
/// values are tensors of static shape and known elements.
std::optional<std::string> getTypeProblem(mlir::Type type);

/// Checks that the functions of `module` that have a body are programs, as passes take them for granted:
/// - `verifyBody` accepts them, and `net::LoopNest` the loops in them.
/// - No value and no variable is of a type that has a problem, but for values in flight.
/// - Bytes can be added up: all variables, each as often as it has slots, and what operations read and write, as often
///   as loops run them, have at most `kMaxStepBytes`.
/// The error is at the first operation, argument or variable that is otherwise.
llvm::LogicalResult verifyPrograms(mlir::ModuleOp module);

} // namespace meshwright

#endif
