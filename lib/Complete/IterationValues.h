//===- IterationValues.h - forward values of loops for backward ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop of forward has a twin in backward, whose iterations take from stacks the values of the forward iteration with
// the same number. A value of the first loop is read in the second as an element of a stack, which is created on
// demand.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_COMPLETE_TRIPVALUES_H
#define MESHWRIGHT_LIB_COMPLETE_TRIPVALUES_H

#include "dialects/Net/Loops.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace meshwright::complete {

/// Covers the outermost loops of a block. The nest must outlive this object.
class IterationValues {
public:
  IterationValues(mlir::Block &block, const net::LoopNest &loops);

  /// The backward loop of `forward`; null if there is none or more than one.
  net::LoopOp getTwin(net::LoopOp forward) const { return twins.lookup(forward); }
  /// True if only the twin of its loop reads `stack`.
  bool isForBackward(net::StackOp stack) const;
  /// The reads, in the twin, of `value` as an element of its stack.
  llvm::SmallVector<mlir::OpOperand *> getReads(mlir::Value value) const;

  /// The forward loop with a twin whose iterations compute `value`; null if there is none.
  net::LoopOp getForward(mlir::Value value) const;
  /// The place before `reader`, in the twin, where its operands are built: directly in the loop's body.
  mlir::Operation *getPlace(mlir::Operation *reader) const;
  /// The replacement in the twin of `value` from an iteration of forward: an element of its stack, which is created if
  /// necessary. New operations have the roles and placements of their origins.
  mlir::Value bring(mlir::Value value);
  /// Erases takes and stacks without uses.
  void eraseUnread();

private:
  mlir::Value getStack(mlir::OpResult value, net::LoopOp forward);

  const net::LoopNest &loops;
  /// By forward loop.
  llvm::DenseMap<mlir::Operation *, net::LoopOp> twins;
  /// The stacks for backward by stacked value, in program order.
  llvm::MapVector<mlir::Value, net::StackOp> stacks;
  /// Replacements of values in the twins.
  llvm::DenseMap<mlir::Value, mlir::Value> brought;
};

} // namespace meshwright::complete

#endif
