//===- Storage.h - who keeps variables, gradients and state -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_ANNOTATE_STORAGE_H
#define MESHWRIGHT_LIB_ANNOTATE_STORAGE_H

#include "dialects/Dist/Placement.h"
#include "meshwright/Strategy/Strategy.h"

namespace meshwright::annotate {

/// Adds to `placement` of a value of `shape` the digits that divide what a rank holds among the ranks of `axes`: along
/// the outermost dimension that divides, else along the one that leaves a rank the fewest elements. A dimension whose
/// parts differ in size is not divided further, as no operation runs in such parts: axes that do not fit there divide
/// another one, or none. False where no dimension leaves a rank fewer elements than it has.
bool addSlices(dist::Placement &placement, llvm::ArrayRef<int64_t> shape, const dist::Mesh &mesh,
               llvm::ArrayRef<dist::Axis> axes);

/// The placement of a variable of `shape` that is like one of `likeShape` in `placement`: where its size is 1 and the
/// other's is not, it is not split.
dist::Placement placeLike(dist::Placement placement, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> likeShape);

/// The owner of every one of `loads` (bytes) among `owners` so that the largest sum is small: the largest load first,
/// to whoever has least, then moves and exchanges with the fullest until none makes it smaller.
llvm::SmallVector<int64_t> balanceOwners(llvm::ArrayRef<int64_t> loads, int64_t owners);

/// Owners in the order of `loads`: before one is placed the next owner takes over if what is placed so far, in all,
/// exceeds the part of the owners until now.
llvm::SmallVector<int64_t> orderOwners(llvm::ArrayRef<int64_t> loads, int64_t owners);

/// Gives the variables, gradients and reads of `module`, whose placements for computation are there, those in which
/// they are kept, as `zero` of the strategy asks.
mlir::LogicalResult annotateStorage(mlir::ModuleOp module, const strategy::StrategyFile &file);

} // namespace meshwright::annotate

#endif
