//===- Owners.h - values and operations of owners and stages ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_COMPLETE_OWNERS_H
#define MESHWRIGHT_LIB_COMPLETE_OWNERS_H

#include "Graph.h"

namespace meshwright::complete {

/// For every operation of a pipeline the coordinate of its stage, empty for operations without one. The list is empty
/// on an axis that is not the pipeline's.
using StageCoordinates = llvm::SmallVector<std::optional<int64_t>, 0>;

/// Restricts operations on values with an owner on `axis` to the owner, and operations of stages to the stage's
/// coordinate, in the attributes that completion has written. The axis is replicated there, or partial where a value is
/// about to be reduced. Linear in the number of operations; does nothing if no value has an owner.
void spreadOwners(const Graph &graph, const dist::Mesh &mesh, dist::Axis axis, const StageCoordinates &stages);

} // namespace meshwright::complete

#endif
