//===- BodyBuilder.h - writes the body of a kernel ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_KERNELS_BODYBUILDER_H
#define MESHWRIGHT_LIB_KERNELS_BODYBUILDER_H

#include "dialects/Dist/Dist.h"
#include "mlir/IR/IRMapping.h"

namespace meshwright::schedule {

/// Copies operations into the body of a new kernel, with those that they read as far as these are to be inside; other
/// operands become inputs.
class BodyBuilder {
public:
  /// `isInside` has to outlive the builder.
  BodyBuilder(dist::KernelOp kernel, llvm::function_ref<bool(mlir::Operation *)> isInside)
      : kernel(kernel), body(kernel.getBody().emplaceBlock()), isInside(isInside) {}

  /// `value` in the body.
  mlir::Value get(mlir::Value value);
  void clone(mlir::Operation *op);
  /// Ends the body, which yields `outputs`; the values that its arguments stand for, in their order.
  llvm::SmallVector<mlir::Value> finish(mlir::ValueRange outputs);

private:
  dist::KernelOp kernel;
  mlir::Block &body;
  llvm::function_ref<bool(mlir::Operation *)> isInside;
  mlir::IRMapping mapping;
  llvm::SmallVector<mlir::Value> inputs;
};

} // namespace meshwright::schedule

#endif
