//===- Searches.h - choices that are compiled before they are made -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_PIPELINE_SEARCHES_H
#define MESHWRIGHT_LIB_PIPELINE_SEARCHES_H

#include "Compilation.h"

namespace meshwright {

/// Annotates the step. Where the arena of a rank is bounded, compiles the cut that is balanced best, and then, until
/// all arenas are small enough, the one that is balanced best of those whose largest stage holds less by the estimate.
mlir::LogicalResult annotateStep(Compilation &compilation);

/// Chooses the least recomputation with which the arena is as small as the strategy asks, if it asks for that.
mlir::LogicalResult fitMemory(Compilation &compilation);

} // namespace meshwright

#endif
