//===- GpuTiles.h - attention by tiles on a GPU -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_GPU_GPUTILES_H
#define MESHWRIGHT_LIB_GPU_GPUTILES_H

#include "meshwright/Gpu/GpuMachine.h"
#include "meshwright/Gpu/GpuPlan.h"
#include "meshwright/Kernels/ScorePlan.h"

namespace meshwright::emit {

/// A kernel of scores: a launch for every pass of its plan, with a block for every tile of the outer axis.
///
/// A block has 64 indices of the outer axis, 16 for each of its warps, and goes along the inner axis in steps of 32 or
/// 64. The operands of both axes come through shared memory; scores are computed by tensor cores, stay in registers
/// until they have become less, and are operands of the next product as they lie there.
class GpuTiles {
public:
  /// Null where `kernel` has no scores.
  static std::optional<GpuTiles> match(dist::KernelOp kernel, int64_t alignment);

  std::vector<GpuLaunchPlan> planLaunches();
  /// Writes the function of one of them; `pointers` are the addresses of inputs, outputs and scratch memory.
  void emit(GpuLaunchPlan &launch, const GpuMachine &machine, LoopBuilder &builder, mlir::ValueRange pointers);

private:
  friend class TileWriter;
  /// The memory of a target: an output of the kernel, by number, or scratch memory from a byte on.
  struct Place {
    std::optional<unsigned> output;
    int64_t scratch = 0;
  };

  dist::KernelOp kernel;
  int64_t alignment = 1;
  std::unique_ptr<schedule::ScorePlan> plan;
  llvm::DenseMap<mlir::Value, Place> places;
  int64_t scratchBytes = 0;
};

} // namespace meshwright::emit

#endif
