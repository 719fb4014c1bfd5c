//===- ActionSchedule.h - orders the actions of a pipeline's ranks ----*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_PIPELINING_WORKSCHEDULE_H
#define MESHWRIGHT_LIB_PIPELINING_WORKSCHEDULE_H

#include "Actions.h"
#include "llvm/ADT/SetVector.h"

namespace meshwright::schedule {

/// A value that one action makes and others read, in the variable that holds it between them.
struct Crossing {
  net::VariableOp variable;
  ActionIndex maker;
  llvm::SmallSetVector<ActionIndex, 2> readers;
  /// The ranks that have it.
  mlir::DictionaryAttr on;
};

/// Adds a `dist.schedule` for every coordinate of the pipeline, and states for every crossing that is made for each
/// micro-batch how many of them are there at once.
void addSchedules(mlir::ModuleOp module, const PipelineAxis &pipeline, const Actions &actions,
                  llvm::ArrayRef<Crossing> crossings);

} // namespace meshwright::schedule

#endif
