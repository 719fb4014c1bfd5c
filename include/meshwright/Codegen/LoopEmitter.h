//===- LoopEmitter.h - loops of a kernel on a CPU ----------------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_CODEGEN_LOOPEMITTER_H
#define MESHWRIGHT_CODEGEN_LOOPEMITTER_H

#include "meshwright/Codegen/Division.h"
#include "meshwright/Codegen/ElementEmitter.h"

namespace meshwright::emit {

/// The number of elements per vector for an innermost loop of `extent` iterations: 16, or less for shorter loops.
unsigned getNumLanes(int64_t extent);

/// Writes the loops of a plan with scf, arith, math, vector and llvm operations.
///
/// The innermost loop over columns runs in explicit vectors of a fixed number of lanes, and its rest in scalars. A sum
/// along it has one accumulator per lane, which are added as a tree at the end: the order of additions depends on the
/// operation's shape alone, never on its neighbours in the kernel or on the machine, and no fast-math flag is needed.
/// A maximum or minimum of f32, which has no order, is taken of integers with the order of the floats: each waits for
/// its predecessor for one cycle, where one that propagates NaN and tells zeros apart takes a dozen.
class LoopEmitter : ElementEmitter {
public:
  /// `pointers` are the addresses of inputs, then outputs; `types` their tensor types.
  LoopEmitter(const schedule::KernelPlan &plan, LoopBuilder &builder, mlir::ValueRange pointers,
              llvm::ArrayRef<mlir::RankedTensorType> types, unsigned numInputs)
      : ElementEmitter(plan, builder, pointers, types, numInputs) {}

  void emit();
  /// The same for some iterations of the loop that threads divide, from `first` to before `end`.
  void emitPart(const Division &division, mlir::Value first, mlir::Value end);
  /// The same without vectors and buffers, for a single thread of a GPU.
  void emitOneByOne();
  /// The same with words for floats, and `scale` bytes of memory for each byte of an element (WordExpansion.h).
  void emitWords(int64_t scale);

private:
  unsigned getStep(int64_t extent) const { return vectors ? getNumLanes(extent) : 1; }
  mlir::scf::ForOp buildLoopOf(unsigned variable, int64_t from, int64_t to, int64_t step, mlir::ValueRange carried,
                               LoopBody body);
  void forEachPiece(unsigned variable, int64_t grain, llvm::function_ref<void(int64_t from, int64_t to)> emit);
  llvm::SmallVector<mlir::Value> buildLoopInPieces(unsigned variable, llvm::ArrayRef<mlir::Value> carried,
                                                   LoopBody body);
  void initializeAccumulations();
  void initializePart(const schedule::Reduction &reduction, llvm::ArrayRef<unsigned> loops);
  void emitRows(unsigned loop);
  void emitStages();
  void emitRowStores();
  void chooseKept();
  llvm::SmallVector<mlir::Value> emitColumns(const Stage &stage, unsigned loop, llvm::ArrayRef<mlir::Value> carried);
  llvm::SmallVector<mlir::Value> emitInnermost(const Stage &stage, llvm::ArrayRef<mlir::Value> carried);
  llvm::SmallVector<mlir::Value> emitElements(const Stage &stage, llvm::ArrayRef<mlir::Value> carried);
  bool isCarried(const schedule::Reduction &reduction) const;
  bool isOfIntegers(const schedule::Reduction &reduction) const;
  void addAccumulators(const schedule::Reduction &reduction, llvm::SmallVectorImpl<mlir::Value> &carried);
  mlir::Value accumulate(const schedule::Reduction &reduction, mlir::Value sum, mlir::Value elements);
  mlir::Value finish(const schedule::Reduction &reduction, mlir::Value sum, mlir::Value rest);
  unsigned chooseWidth() const;

  /// The number of elements of the innermost loop that are computed at a time, except in its rest.
  unsigned width = 1;
  bool vectors = true;
  /// The loop of which some iterations are run, the first of them and their end; nullopt where all are run.
  std::optional<unsigned> divided;
  mlir::Value first, end;
};

} // namespace meshwright::emit

#endif
