//===- Steps.h - the actions of accumulation steps --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_EXPORT_STEPS_H
#define MESHWRIGHT_LIB_EXPORT_STEPS_H

#include "dialects/Dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshwright::exporter {

/// An action of a pipeline, and the steps at which it takes place, of those whose gradients become one update.
struct StepAction {
  mlir::func::FuncOp func;
  /// In ascending order; empty for all.
  llvm::SmallVector<int64_t> steps = {};
};

/// Divides an action into one for each set of steps that do the same, in the order of their first steps. That of the
/// last step keeps the name, the others have their first step in it: `update.step0`. A result that a step does not
/// return is zero there. Returns `func` itself if all steps do the same; else erases it. Fails after an error at times
/// that the mesh does not have.
mlir::FailureOr<llvm::SmallVector<StepAction>> divideBySteps(mlir::func::FuncOp func, const dist::Mesh &mesh);

} // namespace meshwright::exporter

#endif
