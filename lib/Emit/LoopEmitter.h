//===- LoopEmitter.h - a kernel's plan as loops -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_EMIT_LOOPEMITTER_H
#define MESHWRIGHT_LIB_EMIT_LOOPEMITTER_H

#include "meshwright/Schedule/KernelPlan.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace meshwright::emit {

using LoopBuilder = mlir::ImplicitLocOpBuilder;

/// Writes the loops of a plan with scf, arith, math, vector and llvm operations.
///
/// The innermost loop over columns runs in explicit vectors of a fixed number of lanes, and its rest in scalars. A sum
/// along it has one accumulator per lane, which are added as a tree at the end: the order of additions depends on the
/// operation's shape alone, never on its neighbours in the kernel or on the machine, and no fast-math flag is needed.
class LoopEmitter {
public:
  /// `pointers` are the addresses of inputs, then outputs; `types` their tensor types.
  LoopEmitter(const schedule::KernelPlan &plan, LoopBuilder &builder, mlir::ValueRange pointers,
              llvm::ArrayRef<mlir::RankedTensorType> types, unsigned numInputs)
      : plan(plan), builder(builder), pointers(pointers), types(types), numInputs(numInputs) {}

  void emit();

private:
  using Node = schedule::Node;
  using LinearForm = schedule::LinearForm;

  /// An index along the lanes: scalar + stride · lane + vector, the last null where it is not needed.
  struct LaneIndex {
    mlir::Value scalar, vector;
    int64_t stride = 0;
    bool isUniform() const { return stride == 0 && !vector; }
  };
  /// What runs in one stage.
  struct Stage {
    llvm::SmallVector<unsigned> reductions, stores;
    bool empty() const { return reductions.empty() && stores.empty(); }
  };

  // LoopEmitter.cpp: the structure.
  void initializeAccumulations();
  void emitRows(unsigned loop);
  void emitStages();
  void emitRowStores();
  void chooseKept();
  void prepareRowNodes(llvm::ArrayRef<Node *> roots);
  llvm::SmallVector<mlir::Value> emitColumns(const Stage &stage, unsigned loop, llvm::ArrayRef<mlir::Value> carried);
  llvm::SmallVector<mlir::Value> emitInnermost(const Stage &stage, llvm::ArrayRef<mlir::Value> carried);
  llvm::SmallVector<mlir::Value> emitElements(const Stage &stage, llvm::ArrayRef<mlir::Value> carried);
  mlir::Value sumLanes(const schedule::Reduction &reduction, mlir::Value vector);
  mlir::Value combine(const schedule::Reduction &reduction, mlir::Value lhs, mlir::Value rhs);
  bool isCarried(const schedule::Reduction &reduction) const;
  unsigned chooseWidth() const;
  llvm::SmallVector<Node *> getRoots(const Stage &stage) const;

  // LoopValues.cpp: elements.
  mlir::Value emitNode(Node *node);
  mlir::Value computeNode(Node *node);
  mlir::Value cloneBody(Node *node);
  mlir::Value cloneOperation(mlir::Operation &op, mlir::IRMapping &mapping);
  LaneIndex emitIndex(const LinearForm &form);
  mlir::Value emitDivision(const schedule::Variables::Variable &variable);
  mlir::Value toValue(const LaneIndex &index);
  mlir::Value toVector(mlir::Value value);
  mlir::Type toVectorType(mlir::Type type);
  mlir::Value getIndex(int64_t value);
  mlir::Value getAddress(mlir::Value base, mlir::Type element, mlir::Value index);
  mlir::Value load(mlir::Value base, mlir::Type element, const LaneIndex &index);
  void store(mlir::Value base, mlir::Value value, const LaneIndex &index);
  mlir::Value loadOne(mlir::Value base, mlir::Type element, mlir::Value index, bool vector);
  void storeOne(mlir::Value base, mlir::Value value, mlir::Value index);

  const schedule::KernelPlan &plan;
  LoopBuilder &builder;
  mlir::ValueRange pointers;
  llvm::ArrayRef<mlir::RankedTensorType> types;
  unsigned numInputs;

  llvm::SmallVector<Stage> stages;
  /// The loops' variables as values.
  llvm::DenseMap<unsigned, mlir::Value> ivs;
  /// The innermost loop, and how many of its elements are computed at a time: 1 in its rest.
  std::optional<unsigned> laneLoop;
  unsigned lanes = 1, width = 1;
  /// Whether code goes into the loops over columns; and the elements known in this row, and in this iteration.
  bool inColumns = false;
  llvm::DenseMap<const Node *, mlir::Value> rowValues, columnValues;
  /// Values of bodies that indices are computed from.
  llvm::DenseMap<std::pair<const Node *, mlir::Value>, mlir::Value> bodyValues;
  llvm::SmallVector<mlir::Value> rowResults;
  /// Elements kept for later stages: a buffer of one row each, and the stage that fills it.
  llvm::DenseMap<const Node *, std::pair<mlir::Value, unsigned>> kept;
  unsigned currentStage = 0;
};

/// How many elements a vector holds for an innermost loop of `extent` iterations: 16, or less where there are not as
/// many.
unsigned getNumLanes(int64_t extent);

} // namespace meshwright::emit

#endif
