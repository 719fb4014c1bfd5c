//===- TripBytes.h - places that move with the trips of loops ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_TRIPBYTES_H
#define MESHWRIGHT_SCHEDULE_TRIPBYTES_H

#include "dialects/Net/Loops.h"

namespace meshwright::schedule {

/// Whether the parts of a stack lie as values do, at multiples of 64 bytes: then a part is taken and stacked where it
/// is, else by a copy.
bool hasAlignedParts(mlir::Value part);

/// By how many bytes the place of `value` moves from one number of a trip to the next, for the loops around what makes
/// it, the outermost first; the innermost that do not move it are left out. Places are stated for trips with number 0.
llvm::SmallVector<int64_t> getTripBytes(mlir::Value value, const net::LoopNest &nest);
/// The same of the part of `stack`, of the type of `part`, that belongs to the trip of `op`.
llvm::SmallVector<int64_t> getPartTripBytes(mlir::Operation *op, mlir::Value stack, mlir::Value part,
                                            const net::LoopNest &nest);

} // namespace meshwright::schedule

#endif
