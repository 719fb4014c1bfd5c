//===- KernelBody.h - lowers a kernel's body to linalg -----------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_KERNELS_KERNELBODY_H
#define MESHWRIGHT_KERNELS_KERNELBODY_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace meshwright::schedule {

/// `type` as a tensor type whose integers are signless.
mlir::RankedTensorType getSignless(mlir::Type type);

/// Lowers every operation of `body` except its terminator by its `KernelOpInterface`, with `arguments` in place of the
/// block's, and returns the lowered operands of the terminator. Emits an error at an operation without the interface.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> lowerBody(mlir::Block &body, mlir::OpBuilder &builder,
                                                          mlir::ValueRange arguments);

} // namespace meshwright::schedule

#endif
