//===- ScoreKernel.h - a region as one kernel ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_TILING_SCOREKERNEL_H
#define MESHWRIGHT_LIB_TILING_SCOREKERNEL_H

#include "meshwright/Tiling/VisibleColumns.h"

namespace meshwright::tiling {

/// The columns that each 64 neighbouring rows of `region` read, as `scores` of a kernel has them.
llvm::SmallVector<int64_t> listVisible(const ScoreRegion &region, const VisibleColumns &visible);

/// Replaces the members of `region` by a kernel that a GPU computes by tiles (ScorePlan.h). False, and nothing is
/// changed, if its operations are not of the planned forms, as with floats of 32 bits.
bool formKernel(const ScoreRegion &region, llvm::ArrayRef<int64_t> visible);

} // namespace meshwright::tiling

#endif
