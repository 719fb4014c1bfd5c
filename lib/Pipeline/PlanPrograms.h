//===- PlanPrograms.h - reads a step's plan off its programs ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_PIPELINE_PLANPROGRAMS_H
#define MESHWRIGHT_LIB_PIPELINE_PLANPROGRAMS_H

#include "Plan.h"

namespace meshwright {

/// Notes the cost of the serial step; before Partition.
void addSerial(Plan &plan, mlir::ModuleOp module);
/// Notes the conversions, operations and variables of the rank program; after Optimize.
void addProgram(Plan &plan, mlir::ModuleOp module);
/// Notes the memory of the rank program; after Schedule.
void addMemory(Plan &plan, mlir::ModuleOp module);
/// Adds the arenas of the programs that evaluate, which run in those of the others: a rank has the larger of both.
void addEvaluation(Plan &plan, mlir::ModuleOp module);

} // namespace meshwright

#endif
