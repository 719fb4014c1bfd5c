//===- Stages.h - stages of a pipeline --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SUPPORT_STAGES_H
#define MESHWRIGHT_SUPPORT_STAGES_H

#include "dialects/Dist/Dist.h"
#include "meshwright/Orders/TaskOrder.h"

namespace meshwright {

/// The axis of a pipeline, and the coordinate on it of each stage.
class StageMap {
public:
  /// Reads `dist.stage_axis` and the stages in `dist.task_order` of `mesh`. Empty if there is no stage axis; an error
  /// at the operation if the two are inconsistent.
  static mlir::FailureOr<std::optional<StageMap>> read(dist::MeshOp mesh);

  dist::Axis getAxis() const { return axis; }
  /// The order of the tasks; it has been checked.
  const schedule::TaskOrder &getOrder() const { return order; }
  int64_t getNumStages() const { return order.getNumStages(); }
  int64_t getCoordinate(int64_t stage) const { return order.rankOfStage[stage]; }
  /// The coordinate that computes `op`; empty if the operation has no stage. A stage that the order does not have is an
  /// error at the operation.
  mlir::FailureOr<std::optional<int64_t>> getCoordinate(mlir::Operation *op) const;
  /// True if the stage of `op` is on `coordinate`.
  bool isOn(mlir::Operation *op, int64_t coordinate) const;
  /// True if the stages of both are on one coordinate.
  bool areTogether(mlir::Operation *op, mlir::Operation *other) const;

private:
  dist::Axis axis = 0;
  schedule::TaskOrder order;
};

/// The stage of `op`, if it has one.
std::optional<int64_t> getStage(mlir::Operation *op);

} // namespace meshwright

#endif
