//===- Stages.h - where the stages of a pipeline are ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SUPPORT_STAGES_H
#define MESHWRIGHT_SUPPORT_STAGES_H

#include "dialects/Dist/Dist.h"
#include "meshwright/Schedule/TaskOrder.h"

namespace meshwright {

/// The axis of ranks along which a program is a pipeline, and which of its coordinates works on which stage.
class StageMap {
public:
  /// What `mesh` says: its `dist.stage_axis` and the stages in its `dist.task_order`. Nothing where it names no such
  /// axis; an error at the operation where the two do not go together.
  static mlir::FailureOr<std::optional<StageMap>> read(dist::MeshOp mesh);

  dist::Axis getAxis() const { return axis; }
  /// In which order the stages work; it has been checked.
  const schedule::TaskOrder &getOrder() const { return order; }
  int64_t getNumStages() const { return order.getNumStages(); }
  int64_t getCoordinate(int64_t stage) const { return order.rankOfStage[stage]; }
  /// The coordinate on the axis that computes `op`; nothing where the operation has no stage. A stage that the order
  /// does not have is an error at the operation.
  mlir::FailureOr<std::optional<int64_t>> getCoordinate(mlir::Operation *op) const;
  /// Whether `op` is of a stage of `coordinate`.
  bool isOn(mlir::Operation *op, int64_t coordinate) const;
  /// Whether both are of stages of one coordinate.
  bool areTogether(mlir::Operation *op, mlir::Operation *other) const;

private:
  dist::Axis axis = 0;
  schedule::TaskOrder order;
};

/// The stage of `op`; nothing where it has none.
std::optional<int64_t> getStage(mlir::Operation *op);

} // namespace meshwright

#endif
