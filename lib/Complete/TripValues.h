//===- TripValues.h - what trips leave for backward -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop of forward has a twin in backward, which takes from stacks what the trip with the same number has left there.
// So a value of the one loop is read in the other as a part of a stack, which may be there or has to be made.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_COMPLETE_TRIPVALUES_H
#define MESHWRIGHT_LIB_COMPLETE_TRIPVALUES_H

#include "dialects/Net/Loops.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace meshwright::complete {

/// Of the loops of a block that are in no other loop. The nest outlives it.
class TripValues {
public:
  TripValues(mlir::Block &block, const net::LoopNest &loops);

  /// The loop of backward for `forward`; null where there is none, or several.
  net::LoopOp getTwin(net::LoopOp forward) const { return twins.lookup(forward); }
  /// Whether `stack` is there for the twin of its loop alone.
  bool isForBackward(net::StackOp stack) const;
  /// The reads, in the twin, of what trips have left of `value`.
  llvm::SmallVector<mlir::OpOperand *> getReads(mlir::Value value) const;

  /// The loop of forward that has a twin and makes `value` in every trip; null where none does.
  net::LoopOp getForward(mlir::Value value) const;
  /// The place for what `reader`, in the twin, is to read: an operation of the body itself.
  mlir::Operation *getPlace(mlir::Operation *reader) const;
  /// `value`, of a trip of forward, in the twin: a part of its stack, which is made where there is none. What is made
  /// has the roles and the placements of what it is made of.
  mlir::Value bring(mlir::Value value);
  /// Erases what was taken and is read no more, and the stacks that it was taken from.
  void eraseUnread();

private:
  mlir::Value getStack(mlir::OpResult value, net::LoopOp forward);

  const net::LoopNest &loops;
  /// By loops of forward.
  llvm::DenseMap<mlir::Operation *, net::LoopOp> twins;
  /// The stacks that are there for backward, by what is stacked, in the order of the program.
  llvm::MapVector<mlir::Value, net::StackOp> stacks;
  /// What stands for values in the twins.
  llvm::DenseMap<mlir::Value, mlir::Value> brought;
};

} // namespace meshwright::complete

#endif
