//===- Evaluation.h - derives the evaluation program -------------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluation is a second program over the variables of training. It goes through the same stages except Train. The
// functions here tie both together: they share variables, keep them in the same placement and in the same memory.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_PIPELINE_EVALUATION_H
#define MESHWRIGHT_LIB_PIPELINE_EVALUATION_H

#include "meshwright/Strategy/Strategy.h"
#include "mlir/IR/BuiltinOps.h"

namespace meshwright {

/// Makes of a network, as Import leaves it, one that assigns nothing. It returns the results that `eval.outputs`
/// matches, by default those that neither backward nor an update makes, and holds what they depend on.
mlir::LogicalResult cutEvaluation(mlir::ModuleOp evaluation, const strategy::StrategyFile &file);

/// Puts variables of `training` in the place of those of `evaluation` that are read, which have the same names and
/// types, and marks them as shared on both sides.
mlir::LogicalResult shareVariables(mlir::ModuleOp evaluation, mlir::ModuleOp training);

/// Once both are annotated: lets shared variables be kept as training keeps them. What evaluation computes with stays.
mlir::LogicalResult keepAsTrained(mlir::ModuleOp evaluation, mlir::ModuleOp training,
                                  const strategy::StrategyFile &file);

/// Once training has been through Schedule: leaves the beginning of the arenas to what it keeps from step to step.
void reserveMemory(mlir::ModuleOp evaluation, mlir::ModuleOp training);

} // namespace meshwright

#endif
