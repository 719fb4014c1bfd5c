//===- GpuMachine.h - the primitives that GPU code needs ---------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_GPU_GPUMACHINE_H
#define MESHWRIGHT_GPU_GPUMACHINE_H

#include "meshwright/Codegen/KernelLowering.h"

namespace meshwright::emit {

/// The things that the functions of a GPU ask for, and how they are entered. Everything else is the same for a GPU
/// and for one that is emulated.
class GpuMachine {
public:
  virtual ~GpuMachine() = default;

  /// Whether LLVM rounds f32 to bf16 by instructions of the machine, where it has any.
  virtual bool roundsToBf16() const = 0;
  /// The functions of kernels of scores, whose results have 16 bits.
  virtual MathFunctions getFunctionsOfScores() const = 0;
  /// The number of the thread in its block, and that of the block, as indices.
  virtual mlir::Value getThread(LoopBuilder &builder) const = 0;
  virtual mlir::Value getBlock(LoopBuilder &builder) const = 0;
  /// A barrier for all threads of the block, after which they see each other's writes.
  virtual void emitBarrier(LoopBuilder &builder) const = 0;
  /// The same for the threads of a warp: 32 neighbours of the block, from a multiple of 32 on.
  virtual void emitWarpBarrier(LoopBuilder &builder) const = 0;
  /// `sums` + `a` · `b` by a tensor core, for all threads of a warp together: matrices of 16 × 16 and 16 × 8 floats of
  /// type `element`, two in each word, and of 16 × 8 sums in f32. A thread has of them four words, two words and four
  /// sums, as `mma.sync.m16n8k16` of the PTX ISA says.
  virtual llvm::SmallVector<mlir::Value> multiply(LoopBuilder &builder, mlir::Type element, mlir::ValueRange a,
                                                  mlir::ValueRange b, mlir::ValueRange sums) const = 0;
  /// The address of the block's shared memory.
  virtual mlir::Value getShared(LoopBuilder &builder) const = 0;
  /// Adds the function that is launched, with blocks of so many threads, and calls `callee`.
  virtual void addEntry(KernelLowering &lowering, llvm::StringRef name, llvm::StringRef callee,
                        unsigned threads) const = 0;

  /// NVIDIA's GPUs, by intrinsics of LLVM.
  static const GpuMachine &getNvidia();
  /// An emulated GPU: functions `void name(ptr)` of the host's processor, which call the emulator for these primitives.
  static const GpuMachine &getEmulated();
};

} // namespace meshwright::emit

#endif
