//===- GpuPlan.h - divides a kernel's plan into launches ---------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel becomes one or more launches, one after the other. In all of them the order in which numbers are added
// depends on the operation's shape alone, and no memory is read in a launch that another thread of it writes:
//
//     Sums      an accumulation: `width` elements of the output per block, `depth` threads for each
//     Rows      row reductions and what is stored in their stages: `width` rows per block, `depth` threads for each
//     Parts     what blocks have left in scratch memory that share such sums: each is added up, and stored
//     Elements  what is stored without any reduction: a thread for each element
//     Serial    anything else: the loops of a CPU in one thread
//
// (and Copy, Scatter, Search and Tiles, which `GpuScatter`, `GpuSearch` and `GpuTiles` make).
//
// Few and long sums, a norm of all gradients above all, are divided: `parts` blocks have `depth` threads each for one
// sum, and element i goes to thread i mod (parts · depth). Every block leaves what its threads have added up in scratch
// memory, which the kernel is given, and a launch of its own adds the parts.
//
// Threads of Elements and Rows take up to eight elements side by side, where all that these read and write lies side by
// side too. A thread of a row has a sum for each of these lanes, and adds them as a tree before the threads add theirs.
//
// Accumulations come first: they read inputs that later launches may write over. Those of what is known only when a row
// has been reduced come last, and read what the rows have stored; then nothing is written over. Outputs of one launch
// that are where inputs were are written by the threads that have read them, or after a barrier
// (`AssignBuffers` lets no others share memory).
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_GPU_GPUPLAN_H
#define MESHWRIGHT_GPU_GPUPLAN_H

#include "meshwright/Kernels/KernelPlan.h"

namespace meshwright::emit {

/// Bytes that a thread loads and stores at a time, at most.
constexpr int64_t kVectorBytes = 16;
/// Threads that run together, on all of NVIDIA's GPUs.
constexpr unsigned kWarp = 32;

struct GpuLaunchPlan {
  enum Mapping { Elements, Rows, Sums, Parts, Serial, Copy, Scatter, Search, Tiles };
  Mapping mapping = Serial;
  /// The loops that tell elements, rows or sums apart, and those that the threads of one go along. In a launch of Parts
  /// these have no loop: they are numbered.
  llvm::SmallVector<unsigned> outer, inner;
  int64_t numOuter = 1, numInner = 1;
  /// The reductions and stores of the launch, by index in the plan, and the earlier stores that it may read.
  llvm::SmallVector<unsigned> reductions, stores, stored;
  /// The number of elements, rows or sums per block, and the number of threads for each.
  unsigned width = 1, depth = 1;
  /// The number of blocks that share a row or sum. If it is more than one, the next launch adds their Parts.
  int64_t parts = 1;
  /// True if neighbouring threads work on neighbouring elements, false if on the same one.
  bool outerFirst = false;
  /// The number of elements of the last loop that a thread computes side by side, so that it loads and stores up to 16
  /// bytes at a time. In a launch of Elements `numOuter` counts such groups.
  unsigned lanes = 1;
  /// Bytes of shared memory: for what the threads have of each reduction of a stage, and for elements that are kept
  /// from stage to stage.
  int64_t sharedBytes = 0;
  /// Tiles: the number of the pass.
  unsigned pass = 0;
  /// Bytes of scratch memory, where parts of sums are left and found, and what one pass of tiles leaves for another.
  int64_t scratchBytes = 0;

  /// The number of blocks if none shared a row or sum.
  int64_t getNumGroups() const { return (numOuter + width - 1) / width; }
  int64_t getNumBlocks() const { return getNumGroups() * parts; }
  bool usesScratch() const { return parts > 1 || mapping == Parts || scratchBytes != 0; }
  unsigned getNumThreads() const { return width * depth; }
  /// The number of groups of `lanes` elements of a row; the elements after the last group are computed one by one.
  int64_t getNumSteps() const { return numInner / lanes; }
};

/// `sums`, `rows` and so on.
llvm::StringRef stringifyMapping(GpuLaunchPlan::Mapping mapping);

/// The launches of `plan`, whose inputs and outputs have these types and lie at multiples of `alignment` bytes;
/// `keptFirst` says that what a row sums lies apart, and side by side what neighbouring rows do. How much shared and
/// scratch memory is needed is left to the emitter.
std::vector<GpuLaunchPlan> planLaunches(const schedule::KernelPlan &plan, llvm::ArrayRef<mlir::RankedTensorType> types,
                                        unsigned numInputs, bool keptFirst, int64_t alignment);

} // namespace meshwright::emit

#endif
