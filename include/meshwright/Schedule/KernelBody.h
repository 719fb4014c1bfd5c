//===- KernelBody.h - operations of a kernel in linalg ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_KERNELBODY_H
#define MESHWRIGHT_SCHEDULE_KERNELBODY_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace meshwright::schedule {

/// A tensor type with integers of no sign.
mlir::RankedTensorType getSignless(mlir::Type type);

/// Lowers every operation of `body` but its terminator by its `KernelOpInterface`, with `arguments` in place of the
/// block's, and returns what the terminator's operands become. An operation without the interface is an error there.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> lowerBody(mlir::Block &body, mlir::OpBuilder &builder,
                                                          mlir::ValueRange arguments);

} // namespace meshwright::schedule

#endif
