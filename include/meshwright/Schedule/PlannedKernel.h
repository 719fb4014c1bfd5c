//===- PlannedKernel.h - a kernel and its plan ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_PLANNEDKERNEL_H
#define MESHWRIGHT_SCHEDULE_PLANNEDKERNEL_H

#include "dialects/Dist/Dist.h"
#include "meshwright/Schedule/KernelPlan.h"
#include "mlir/IR/OwningOpRef.h"

namespace meshwright::schedule {

/// The body of a kernel in linalg, in a function of a module of its own, and its plan, which points into it.
struct PlannedKernel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Null where there is no plan, and why.
  std::unique_ptr<KernelPlan> plan;
  std::string reason;
};

/// Whose loops are the outer ones of a reduction: as the operation has them, or those of what it keeps, so that every
/// sum is known when its row ends, however far apart what is summed lies.
enum class LoopOrder { Given, KeptFirst };

/// Lowers and plans `kernel`. Errors are emitted where an operation cannot be lowered at all.
PlannedKernel planKernel(dist::KernelOp kernel, LoopOrder order = LoopOrder::Given);

/// What a kernel computes, as text: equal for kernels that can share their code.
std::string getKernelText(dist::KernelOp kernel);

} // namespace meshwright::schedule

#endif
