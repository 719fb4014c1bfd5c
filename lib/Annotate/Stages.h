//===- Stages.h - pipeline stages of operations, variables ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_ANNOTATE_STAGES_H
#define MESHWRIGHT_LIB_ANNOTATE_STAGES_H

#include "meshwright/Annotate/Passes.h"
#include "meshwright/Strategy/Strategy.h"
#include "mlir/IR/BuiltinOps.h"

namespace meshwright::annotate {

/// Turns the ranks of a module with a mesh into a pipeline, as the strategy asks: writes the pipeline's axis and order
/// to the mesh, stages to the operations of forward and backward, and to variables the coordinate of the first stage
/// that reads them. Stages stay within `bound`, unless it is null. Errors are located at the strategy's lines.
mlir::LogicalResult annotateStages(mlir::ModuleOp module, const strategy::StrategyFile &file, StageBound *bound);

} // namespace meshwright::annotate

#endif
