//===- BackwardStages.h - stages of backward operations ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_ANNOTATE_BACKWARDSTAGES_H
#define MESHWRIGHT_LIB_ANNOTATE_BACKWARDSTAGES_H

#include "ForwardStages.h"

namespace meshwright::annotate {

/// Assigns stages to the operations of backward, given those of forward. Products belong to the stage of their block or
/// of their forward operation; all others go where the least is sent. Values flow from later stages to earlier ones, so
/// stages are numbered in reverse (`turn`).
class BackwardStages {
public:
  BackwardStages(const StageProgram &program, const StageCut &cut, const ForwardStages &forward, int64_t numStages)
      : program(program), cut(cut), forward(forward), numStages(numStages),
        inBackward(program.backward.begin(), program.backward.end()) {
    flow.numStages = numStages;
  }

  void place();

private:
  int64_t turn(int64_t stage) const { return numStages - 1 - stage; }
  void findGradients();
  int64_t countBytes(mlir::Value value) const;
  bool makesGradient(mlir::Operation *op) const;
  void findUpdate(mlir::Operation *gradient, int64_t stage);
  void findUpdates();
  void addUpdates();
  StageFlow::Value &getForwardValue(mlir::Value value);
  unsigned add(mlir::Operation *op);

  const StageProgram &program;
  const StageCut &cut;
  const ForwardStages &forward;
  int64_t numStages;
  StageFlow flow;
  llvm::DenseSet<mlir::Operation *> inBackward;
  /// Numbers of operations and values in the flow.
  llvm::DenseMap<mlir::Operation *, unsigned> numberOf;
  llvm::DenseMap<mlir::Value, unsigned> valueOf;
  /// The last operations of backward before the update of a variable, with the variable's reversed stage.
  llvm::MapVector<mlir::Operation *, int64_t> updates;
  /// Values of backward on the way to the update, with the bytes to count for them.
  llvm::DenseMap<mlir::Value, int64_t> gradients;
};

} // namespace meshwright::annotate

#endif
