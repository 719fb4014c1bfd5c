//===- GpuEmitter.h - code for one launch of a kernel on a GPU ---*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_GPU_GPUEMITTER_H
#define MESHWRIGHT_LIB_GPU_GPUEMITTER_H

#include "meshwright/Codegen/ElementEmitter.h"
#include "meshwright/Gpu/GpuMachine.h"
#include "meshwright/Gpu/GpuPlan.h"

namespace meshwright::emit {

/// Writes what one thread of a launch does, element by element.
///
/// A row or a sum is reduced by `depth` threads: group i of `lanes` elements goes to thread i mod depth, which adds its
/// elements in order, those of each lane apart, and then the lanes. The elements after the last group are dealt out in
/// the same way, one by one. Then the upper half of the threads is added onto the lower, in shared memory, until one is
/// left.
class GpuEmitter : ElementEmitter {
public:
  /// Sets the bytes of shared and scratch memory that the code needs in `launch`. If it uses scratch memory, the
  /// address of that comes last in `pointers`.
  GpuEmitter(const schedule::KernelPlan &plan, GpuLaunchPlan &launch, const GpuMachine &machine, LoopBuilder &builder,
             mlir::ValueRange pointers, llvm::ArrayRef<mlir::RankedTensorType> types, unsigned numInputs,
             int64_t alignment);

  void emit();

private:
  void emitElements();
  void emitRows();
  void emitSums();
  void emitParts();
  void emitStage(const Stage &stage);
  llvm::SmallVector<mlir::Value> reduceColumns(const Stage &stage);
  llvm::SmallVector<mlir::Value> emitColumn(const Stage &stage, mlir::ValueRange carried);
  void emitRowStores();
  void storeSums(mlir::ValueRange sums);
  void chooseKept();
  void placeThread();
  mlir::Value getLimit(int64_t end);
  llvm::SmallVector<mlir::Value> combineThreads(llvm::ArrayRef<unsigned> reductions,
                                                llvm::ArrayRef<mlir::Value> partial);
  llvm::SmallVector<mlir::Value> getNeutrals(llvm::ArrayRef<unsigned> reductions);
  llvm::SmallVector<mlir::Value> reduceSteps(const Stage &stage, int64_t from, int64_t to,
                                             llvm::ArrayRef<mlir::Value> carried);
  void emitBarrierOfRow();
  void emitStores(llvm::ArrayRef<unsigned> stores);
  void emitIf(mlir::Value condition, llvm::function_ref<void()> body);
  mlir::Value getSharedAt(int64_t bytes);
  void forFirstThread(llvm::function_ref<void()> body);
  llvm::SmallVector<mlir::Value> getScratchPlaces(int64_t parts);
  LaneIndex getScratchIndex(mlir::Value part, int64_t parts);
  void leaveParts(mlir::ValueRange sums);

  GpuLaunchPlan &launch;
  const GpuMachine &machine;
  /// The number of the thread in its block, and among those of its element there; which part the block has.
  mlir::Value thread, lane, part;
  /// The first element of the thread.
  mlir::Value first;
  /// The number of the element, row or sum; whether there is one, null where there always is.
  mlir::Value outer, valid;
  /// The position of an element's first slot of kept elements, in rows of the block.
  mlir::Value slot;
  mlir::Value shared;
};

} // namespace meshwright::emit

#endif
