//===- PlanBlocks.h - the part of a plan about repeated blocks ---*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_PIPELINE_PLANBLOCKS_H
#define MESHWRIGHT_LIB_PIPELINE_PLANBLOCKS_H

#include "Plan.h"

namespace meshwright {

/// Adds the floating-point operations of `op` to its block.
void addFlops(PlannedBlocks &blocks, mlir::Operation *op, double flops);
/// Notes what is kept for backward at the blocks that made it, beside what is known: the actions of a pipeline have
/// reports of their own.
void addKept(PlannedBlocks &blocks, const schedule::Report &report);
/// The same, where it is more than what is known: the steps of an accumulation have reports of their own.
void setKept(PlannedBlocks &blocks, const schedule::Report &report);
/// All blocks together.
PlannedBlock sumBlocks(const PlannedBlocks &blocks);

/// Every block that computes or keeps something.
void printBlocks(llvm::json::OStream &json, const PlannedBlocks &blocks);
/// The same in a line.
void printBlocks(llvm::raw_ostream &out, const PlannedBlocks &blocks);

} // namespace meshwright

#endif
