//===- ElementEmitter.h - code for the elements of a kernel ------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_CODEGEN_ELEMENTEMITTER_H
#define MESHWRIGHT_CODEGEN_ELEMENTEMITTER_H

#include "meshwright/Kernels/KernelPlan.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace meshwright::emit {

using LoopBuilder = mlir::ImplicitLocOpBuilder;

/// Writes the elements of a plan's nodes, and loads and stores, with arith, math, vector and llvm operations. Derived
/// classes write the loops around them and enter the loop variables in `ivs`.
class ElementEmitter {
protected:
  using Node = schedule::Node;
  using LinearForm = schedule::LinearForm;

  /// `pointers` are the addresses of inputs, then outputs; `types` their tensor types.
  ElementEmitter(const schedule::KernelPlan &plan, LoopBuilder &builder, mlir::ValueRange pointers,
                 llvm::ArrayRef<mlir::RankedTensorType> types, unsigned numInputs);

  /// An index along the lanes: scalar + stride · lane + vector; `vector` is null if it is not needed.
  struct LaneIndex {
    mlir::Value scalar, vector;
    int64_t stride = 0;
    /// A number that `scalar` is known to be a multiple of.
    int64_t multiple = 1;
    bool isUniform() const { return stride == 0 && !vector; }
  };
  /// The reductions and stores of one stage.
  struct Stage {
    llvm::SmallVector<unsigned> reductions, stores;
    bool empty() const { return reductions.empty() && stores.empty(); }
  };

  /// Sets `loops` to iteration `number`, the last loop innermost and counted in groups of `lanes`. Uses 32-bit
  /// divisions if they suffice: they are much faster.
  void setLoops(llvm::ArrayRef<unsigned> loops, mlir::Value number);
  mlir::Value emitNode(Node *node);
  void prepareRowNodes(llvm::ArrayRef<Node *> roots);
  llvm::SmallVector<Node *> getRoots(const Stage &stage) const;
  llvm::MapVector<Node *, unsigned> findRepeated() const;
  mlir::Value combine(const schedule::Reduction &reduction, mlir::Value lhs, mlir::Value rhs);
  /// The lanes as a tree: the upper half onto the lower until one is left. A value without lanes stays.
  mlir::Value sumLanes(const schedule::Reduction &reduction, mlir::Value value);

  /// Where the iterations of `loop` are cut, from 0 to its extent, so that each piece reads one of the tensors that a
  /// node puts side by side; at multiples of `grain` alone.
  llvm::SmallVector<int64_t> findCuts(unsigned loop, int64_t grain) const;
  LaneIndex emitIndex(const LinearForm &form);
  mlir::Value toValue(const LaneIndex &index);
  /// `value`, which is the same in all lanes or a vector.
  static LaneIndex toLaneIndex(mlir::Value value);
  mlir::Value toVector(mlir::Value value);
  mlir::Value getIndex(int64_t value);
  mlir::Value load(mlir::Value base, mlir::Type element, const LaneIndex &index);
  void store(mlir::Value base, mlir::Value value, const LaneIndex &index);

  const schedule::KernelPlan &plan;
  LoopBuilder &builder;
  mlir::ValueRange pointers;
  llvm::ArrayRef<mlir::RankedTensorType> types;
  unsigned numInputs;

  llvm::SmallVector<Stage> stages;
  /// The loops' variables as values.
  llvm::DenseMap<unsigned, mlir::Value> ivs;
  /// The iterations, from the first to before the last, of loops that run in pieces now.
  schedule::Variables::Ranges ranges;
  /// The innermost loop, and the number of its elements that are computed at a time.
  std::optional<unsigned> laneLoop;
  unsigned lanes = 1;
  /// A number that the addresses of arguments and of kept elements are multiples of, where vectors are to be loaded and
  /// stored at multiples of their size; then the variable of `laneLoop` is a multiple of `lanes`.
  int64_t alignment = 1;
  /// True while code goes into the loops over columns; then the elements known in this row and in this iteration.
  bool inColumns = false;
  llvm::DenseMap<const Node *, mlir::Value> rowValues, columnValues;
  llvm::SmallVector<mlir::Value> rowResults;
  /// Elements kept for later stages: a buffer of one row each, and the stage that fills it.
  llvm::DenseMap<const Node *, std::pair<mlir::Value, unsigned>> kept;
  unsigned currentStage = 0;
  /// The bytes of memory for each byte of an element in a kernel for a check, where a float is a word; 0 for
  /// other kernels. Elements are computed one by one.
  int64_t wordScale = 0;
  /// Elements that have been stored as outputs and can be loaded from there.
  llvm::DenseMap<const Node *, const schedule::Store *> stored;

private:
  mlir::Value computeNode(Node *node);
  mlir::Value cloneBody(Node *node);
  std::optional<unsigned> findPiece(llvm::ArrayRef<int64_t> starts, const LinearForm &index) const;
  mlir::Value emitPiece(Node *node);
  mlir::Value cloneOperation(mlir::Operation &op, mlir::IRMapping &mapping);
  LinearForm getPositionInRow() const;
  mlir::Value emitDivision(const schedule::Variables::Variable &variable);
  mlir::Type toVectorType(mlir::Type type);
  mlir::Value getAddress(mlir::Value base, mlir::Type element, mlir::Value index);
  mlir::Value getPlace(mlir::Value base, mlir::Type element, mlir::Value index);
  mlir::Value loadWord(mlir::Value base, mlir::Type element, mlir::Value index);
  void storeWord(mlir::Value base, mlir::Value value, mlir::Value index);
  int64_t getAlignment(mlir::Type memory, const LaneIndex &index) const;
  mlir::Value loadOne(mlir::Value base, mlir::Type type, const LaneIndex &index);
  void storeOne(mlir::Value base, mlir::Value value, const LaneIndex &index);

  /// Values of bodies that indices are computed from.
  llvm::DenseMap<std::pair<const Node *, mlir::Value>, LaneIndex> bodyValues;
};

/// The type of an element in memory: Booleans and 8-bit floats are bytes.
mlir::Type getMemoryType(mlir::Type element);
/// `value`, an element or a vector of them as they lie in memory, as elements of type `element`; and the way back.
mlir::Value fromMemory(LoopBuilder &builder, mlir::Value value, mlir::Type element);
mlir::Value toMemory(LoopBuilder &builder, mlir::Value value);

/// Computes the next carried values of a loop from its induction variable and the last ones.
using LoopBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)>;

mlir::scf::ForOp buildLoop(LoopBuilder &builder, mlir::Value lower, mlir::Value upper, mlir::Value step,
                           mlir::ValueRange carried, LoopBody body);
mlir::scf::ForOp buildLoop(LoopBuilder &builder, int64_t from, int64_t to, int64_t step, mlir::ValueRange carried,
                           LoopBody body);
/// A loop that carries one value, as long as `isLeft` says so of it; returns the first for which it does not.
mlir::Value buildWhile(LoopBuilder &builder, mlir::Value value, llvm::function_ref<mlir::Value(mlir::Value)> isLeft,
                       llvm::function_ref<mlir::Value(mlir::Value)> getNext);

} // namespace meshwright::emit

#endif
