//===- Origin.h - lets created operations inherit stage, role, reason -*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITION_ORIGIN_H
#define MESHWRIGHT_PARTITION_ORIGIN_H

#include "meshwright/Partition/ReshardPlanner.h"
#include "meshwright/Support/Stages.h"

namespace meshwright::partition {

/// Gives `made`, one step of `reshard`, the attributes that a step inherits. A conversion between two stages belongs to
/// both: the steps up to and including the send belong to the producing stage, the steps after it to the reading stage.
void inheritOrigin(mlir::Operation *made, const ReshardStep &step, dist::ReshardOp reshard,
                   const std::optional<StageMap> &stages);

} // namespace meshwright::partition

#endif
