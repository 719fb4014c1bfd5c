//===- GpuScatter.h - scatters on a GPU, ordered and without atomics -*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_GPU_GPUSCATTER_H
#define MESHWRIGHT_LIB_GPU_GPUSCATTER_H

#include "dialects/Dist/Dist.h"
#include "dialects/Net/Net.h"
#include "meshwright/Gpu/GpuMachine.h"
#include "meshwright/Gpu/GpuPlan.h"

namespace meshwright::emit {

/// A scatter in parallel, without atomic operations and in the order of the updates.
///
/// The updates of one index vector are a *window*; windows either meet in all their elements or in none. Every window
/// has a block. The block of the first among those that meet adds all of them, in order, to what is there, each thread
/// the elements that are its own; the other blocks find that there is an earlier window, and end.
class GpuScatter {
public:
  /// Null where `kernel` is not a single scatter, or windows may overlap in part.
  static std::optional<GpuScatter> match(dist::KernelOp kernel);

  /// A copy of the operand, where the result is not in its place, and the scatter.
  std::vector<GpuLaunchPlan> planLaunches();
  /// Writes the function of one of them; `pointers` are the addresses of inputs, then outputs.
  void emit(GpuLaunchPlan &launch, const GpuMachine &machine, LoopBuilder &builder, mlir::ValueRange pointers);

private:
  GpuScatter(dist::KernelOp kernel, net::ScatterOp scatter);

  bool windowsMeetWhole();

  friend class ScatterWriter;
  dist::KernelOp kernel;
  net::ScatterOp scatter;
  /// The sizes of the updates along the windows' numbers and inside them, with how far neighbours lie apart there and
  /// in the operand (0 along the windows' numbers, where no batch runs).
  struct Dim {
    int64_t size, inUpdates, inOperand;
  };
  llvm::SmallVector<Dim> batch, window;
  int64_t numWindows = 1, windowSize = 1;
};

} // namespace meshwright::emit

#endif
