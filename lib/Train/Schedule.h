//===- Schedule.h - learning-rate schedules ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_TRAIN_SCHEDULE_H
#define MESHWRIGHT_LIB_TRAIN_SCHEDULE_H

#include "dialects/Net/NetBuilder.h"
#include "meshwright/Train/Passes.h"

namespace meshwright::train {

/// Checks the options of the schedule; emits errors on `op`.
mlir::LogicalResult verifySchedule(mlir::Operation *op, const OptimizerPassOptions &options);

/// The learning rate of an update, a scalar float. `count`, a scalar of the same type, is the number of earlier
/// updates; it may be null for a constant rate.
mlir::Value buildLearningRate(net::NetBuilder &build, const OptimizerPassOptions &options, mlir::Type elementType,
                              mlir::Value count);

} // namespace meshwright::train

#endif
