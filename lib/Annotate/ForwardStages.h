//===- ForwardStages.h - stages of forward operations -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_ANNOTATE_FORWARDSTAGES_H
#define MESHWRIGHT_LIB_ANNOTATE_FORWARDSTAGES_H

#include "StageCut.h"
#include "llvm/ADT/MapVector.h"

namespace meshwright::annotate {

/// Assigns stages to the operations of forward. Heavy operations and operations on variables belong to the stage that
/// the cut gives; all others go where the least is sent.
class ForwardStages {
public:
  ForwardStages(const StageProgram &program, const StageCut &cut, int64_t numStages)
      : program(program), cut(cut), numStages(numStages) {
    flow.numStages = numStages;
  }

  /// Emits an error at `loc` if a value would flow to an earlier stage, or if a stage has nothing to compute.
  mlir::LogicalResult place(mlir::Location loc);

  bool contains(mlir::Operation *op) const { return numberOf.contains(op); }
  /// The first stage that reads each variable.
  const llvm::MapVector<mlir::StringAttr, int64_t> &getStagesOfVariables() const { return stagesOfVariables; }

private:
  void build();
  unsigned add(mlir::Operation *op);
  StageRange getRange(mlir::Operation *op) const;
  mlir::LogicalResult reportConflict(mlir::Location loc, const StageConflict &conflict) const;
  mlir::LogicalResult checkStages(mlir::Location loc) const;

  const StageProgram &program;
  const StageCut &cut;
  int64_t numStages;
  StageFlow flow;
  /// Numbers of operations and values in the flow. All reads of a variable share one.
  llvm::DenseMap<mlir::Operation *, unsigned> numberOf;
  llvm::DenseMap<mlir::Value, unsigned> valueOf;
  llvm::MapVector<mlir::StringAttr, unsigned> variables;
  llvm::MapVector<mlir::StringAttr, int64_t> stagesOfVariables;
};

} // namespace meshwright::annotate

#endif
