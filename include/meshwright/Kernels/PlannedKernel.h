//===- PlannedKernel.h - a kernel and its plan ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_KERNELS_PLANNEDKERNEL_H
#define MESHWRIGHT_KERNELS_PLANNEDKERNEL_H

#include "dialects/Dist/Dist.h"
#include "meshwright/Kernels/KernelPlan.h"
#include "mlir/IR/OwningOpRef.h"

namespace meshwright::schedule {

/// The body of a kernel in linalg, in a function of a module of its own, and its plan, which points into it.
struct PlannedKernel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Null if the kernel has no plan; `reason` then says why.
  std::unique_ptr<KernelPlan> plan;
  std::string reason;
};

/// The order of a reduction's loops: as the operation states them, or with the loops over kept dimensions outermost.
/// The latter completes every sum at the end of its row, even if the summands lie far apart in memory.
enum class LoopOrder { Given, KeptFirst };

/// Lowers and plans `kernel`, with a `domain` as for KernelPlan. Emits an error at an operation that cannot be lowered.
PlannedKernel planKernel(dist::KernelOp kernel, LoopOrder order = LoopOrder::Given,
                         llvm::ArrayRef<int64_t> domain = {});

/// Some values of a kernel's body as a kernel of their own.
struct PlannedValues : PlannedKernel {
  /// The values that they are computed from, in the order of the plan's arguments, and their types, followed by those
  /// of the planned values.
  llvm::SmallVector<mlir::Value> inputs;
  llvm::SmallVector<mlir::RankedTensorType> types;
};

/// Plans `outputs`, with a loop for every dimension of `domain`. They are computed from the arguments of the body and
/// from the results of operations that `isInput` names.
PlannedValues planValues(mlir::ValueRange outputs, llvm::function_ref<bool(mlir::Operation *)> isInput,
                         llvm::ArrayRef<int64_t> domain);

/// A text of the computation of `kernel`, equal for kernels that can share their code.
std::string getKernelText(dist::KernelOp kernel);

} // namespace meshwright::schedule

#endif
