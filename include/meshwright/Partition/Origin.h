//===- Origin.h - what operations are made for ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITION_ORIGIN_H
#define MESHWRIGHT_PARTITION_ORIGIN_H

#include "meshwright/Partition/ReshardPlanner.h"
#include "meshwright/Support/Stages.h"

namespace meshwright::partition {

/// Gives `made`, which was made for `origin`, its place in the step: role, scope, stage, segment, reason, where it does
/// not say itself.
void inheritOrigin(mlir::Operation *made, mlir::Operation *origin);

/// The same for one step of `reshard`. A conversion from stage to stage is the work of both: what comes before the
/// send, and the send, is of the stage that makes the value, and what comes behind it is of the one that reads it.
void inheritOrigin(mlir::Operation *made, const ReshardStep &step, dist::ReshardOp reshard,
                   const std::optional<StageMap> &stages);

} // namespace meshwright::partition

#endif
