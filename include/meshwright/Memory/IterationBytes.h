//===- IterationBytes.h - places of values that move with loop iterations -*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_MEMORY_TRIPBYTES_H
#define MESHWRIGHT_MEMORY_TRIPBYTES_H

#include "dialects/Net/Loops.h"

namespace meshwright::schedule {

/// True if the parts of a stack lie at multiples of 64 bytes, as values do: a part is then written in place instead of by
/// a copy.
bool hasAlignedParts(mlir::Value part);
/// True if a part is read where it lies in the stack: if it is aligned, or so small that a copy costs more than what is
/// read of it, as the number of an iteration.
bool isReadInPlace(net::TakeOp take);

/// The number of bytes by which the place of `value` moves from one iteration to the next, for each loop around its
/// maker, outermost first; trailing zeros are left out. Places are stated for iteration 0.
llvm::SmallVector<int64_t> getIterationBytes(mlir::Value value, const net::LoopNest &nest);
/// The same for the part of `stack`, of the type of `part`, that belongs to the iteration of `op`.
llvm::SmallVector<int64_t> getPartIterationBytes(mlir::Operation *op, mlir::Value stack, mlir::Value part,
                                                 const net::LoopNest &nest);

} // namespace meshwright::schedule

#endif
