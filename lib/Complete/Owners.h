//===- Owners.h - which ranks compute what has a holder ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_COMPLETE_OWNERS_H
#define MESHWRIGHT_LIB_COMPLETE_OWNERS_H

#include "Graph.h"

namespace meshwright::complete {

/// Who computes which operations of a pipeline: for every operation the coordinate of its stage, nothing where it has
/// none. Empty on an axis that is no pipeline.
using StageCoordinates = llvm::SmallVector<std::optional<int64_t>, 0>;

/// Gives operations that work on values which one coordinate of `axis` holds to that coordinate, and the operations of
/// stages to theirs, in the attributes that completion has written: there the axis is replicated, or partial where a
/// value is about to be reduced. Linear in the number of operations; does nothing where nothing has a holder.
void spreadOwners(const Graph &graph, const dist::Mesh &mesh, dist::Axis axis, const StageCoordinates &stages);

} // namespace meshwright::complete

#endif
