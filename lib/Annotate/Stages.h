//===- Stages.h - the stages of a pipeline ----------------------*- C++ -*-===//
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

/// Makes the ranks of a module that has its mesh a pipeline, as the strategy asks: which axis they are one along and in
/// which order they work goes to the mesh, their stages to the operations of forward and backward, and to the variables
/// the coordinate of the first stage that reads them. Stages keep within `bound`, unless it is
/// null. Errors are at the strategy's lines.
mlir::LogicalResult annotateStages(mlir::ModuleOp module, const strategy::StrategyFile &file, StageBound *bound);

} // namespace meshwright::annotate

#endif
