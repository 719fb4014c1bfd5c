//===- CollectiveOrder.h - checks that ranks agree on collectives -*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_SCHEDULE_COLLECTIVEORDER_H
#define MESHWRIGHT_LIB_SCHEDULE_COLLECTIVEORDER_H

#include "mlir/IR/BuiltinOps.h"

namespace meshwright::schedule {

/// Checks for the programs of different ranks that all members of a group issue the same collectives, and that no
/// members wait for each other: there is one order in which all collectives of all groups can take place. Takes time
/// that is linear in the size of the programs.
mlir::LogicalResult checkOrder(mlir::ModuleOp module);

} // namespace meshwright::schedule

#endif
