//===- Storage.h - sharded storage (ZeRO) -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_ANNOTATE_STORAGE_H
#define MESHWRIGHT_LIB_ANNOTATE_STORAGE_H

#include "dialects/Dist/Placement.h"
#include "meshwright/Strategy/Strategy.h"

namespace meshwright::annotate {

/// Splits the part that a rank holds of a value with this `placement` and `shape` among the ranks of `axes`: along the
/// outermost dimension that divides evenly, otherwise along the one that leaves a rank the fewest elements. A dimension
/// with parts of unequal size is not split further, because no operation supports that: the remaining axes split
/// another dimension or none. Returns false if no dimension leaves a rank fewer elements than before.
bool addSlices(dist::Placement &placement, llvm::ArrayRef<int64_t> shape, const dist::Mesh &mesh,
               llvm::ArrayRef<dist::Axis> axes);

/// The placement of a variable of `shape` that is like one of `likeShape` in `placement`: dimensions of size 1 in place
/// of a larger size are not split.
dist::Placement placeLike(dist::Placement placement, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> likeShape);

/// Owners of `loads` (bytes) such that the largest sum is small: assigns the largest load first, each to the owner with
/// the smallest sum, then improves by moves and exchanges with the largest sum.
llvm::SmallVector<int64_t> balanceOwners(llvm::ArrayRef<int64_t> loads, int64_t owners);

/// Owners in the order of `loads`: the next owner takes over once the loads so far exceed the share of the owners so
/// far.
llvm::SmallVector<int64_t> orderOwners(llvm::ArrayRef<int64_t> loads, int64_t owners);

/// Gives the variables, gradients and reads of `module`, which have compute placements, their storage placements, as
/// `zero` of the strategy asks.
mlir::LogicalResult annotateStorage(mlir::ModuleOp module, const strategy::StrategyFile &file);

} // namespace meshwright::annotate

#endif
