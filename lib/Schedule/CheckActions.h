//===- CheckActions.h - checks that a pipeline's schedule is complete -*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_SCHEDULE_CHECKWORKS_H
#define MESHWRIGHT_LIB_SCHEDULE_CHECKWORKS_H

#include "mlir/IR/BuiltinOps.h"

namespace meshwright::schedule {

/// Checks the actions of a pipeline in the order of their schedules, micro-batch by micro-batch: every rank finds in
/// the variables between actions what it reads there, nothing is overwritten that is still read or sent, and all ranks
/// come to their end although nothing that is sent is buffered. Relies on nothing but the functions and the items;
/// takes time linear in the items and in what their functions read and assign.
mlir::LogicalResult checkActions(mlir::ModuleOp module);

} // namespace meshwright::schedule

#endif
