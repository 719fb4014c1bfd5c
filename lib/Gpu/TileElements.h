//===- TileElements.h - elements of planned values ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_GPU_TILEELEMENTS_H
#define MESHWRIGHT_LIB_GPU_TILEELEMENTS_H

#include "meshwright/Codegen/ElementEmitter.h"
#include "meshwright/Kernels/PlannedKernel.h"

namespace meshwright::emit {

/// Writes elements of planned values wherever its loops are set.
class TileElements : ElementEmitter {
public:
  TileElements(const schedule::PlannedValues &values, LoopBuilder &builder, mlir::ValueRange pointers,
               int64_t alignment)
      : ElementEmitter(*values.plan, builder, pointers, values.types, values.inputs.size()) {
    this->alignment = alignment;
    inColumns = true;
  }

  using ElementEmitter::combine;
  using ElementEmitter::setLoops;
  void setLoop(std::optional<unsigned> loop, mlir::Value value) {
    if (loop)
      ivs[*loop] = value;
  }
  /// Computes so many elements along `loop` at a time.
  void setLanes(unsigned loop, unsigned number) {
    laneLoop = loop;
    lanes = number;
  }
  mlir::Value evaluate(const LinearForm &form) { return toValue(emitIndex(form)); }

  /// Computes all that `roots` read which no loop of `changing` changes, nor the nodes in `given`.
  void prepare(llvm::ArrayRef<Node *> roots, llvm::ArrayRef<unsigned> changing, llvm::ArrayRef<const Node *> given);
  /// The prepared elements, for later ones of the same outer index.
  llvm::DenseMap<const Node *, mlir::Value> takePrepared() { return std::move(rowValues); }
  void usePrepared(llvm::DenseMap<const Node *, mlir::Value> values) { rowValues = std::move(values); }
  void forgetPrepared() { rowValues.clear(); }

  /// The next element is another one.
  void beginElement() { columnValues.clear(); }
  void give(const Node *node, mlir::Value value) { columnValues[node] = value; }
  void giveResult(unsigned reduction, mlir::Value value) { rowResults[reduction] = value; }
  mlir::Value emit(Node *node) { return emitNode(node); }
  /// The same in all lanes.
  mlir::Value emitVector(Node *node) { return toVector(emitNode(node)); }
  void storeAt(mlir::Value base, mlir::Value value, const LinearForm &position) {
    store(base, value, emitIndex(position));
  }

private:
  bool changes(const Node *node, llvm::ArrayRef<unsigned> loops, llvm::ArrayRef<const Node *> given,
               llvm::DenseMap<const Node *, bool> &known) const;
};

} // namespace meshwright::emit

#endif
