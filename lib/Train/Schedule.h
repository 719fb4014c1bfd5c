//===- Schedule.h - the learning rate of a step -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_TRAIN_SCHEDULE_H
#define MESHWRIGHT_LIB_TRAIN_SCHEDULE_H

#include "dialects/Net/NetBuilder.h"
#include "lib/Strategy/strategy.pb.h"

namespace meshwright::train {

/// Whether the rate is the same in all updates.
bool isConstant(const strategy::LearningRate &rate);

/// Checks the numbers of the schedule; errors are emitted on `op`.
mlir::LogicalResult verifySchedule(mlir::Operation *op, const strategy::LearningRate &rate);

/// The learning rate of an update, a scalar of floats. `count`, a scalar of the same type, is the number of updates
/// done before; a constant rate does not need it.
mlir::Value buildLearningRate(net::NetBuilder &build, const strategy::LearningRate &rate, mlir::Type elementType,
                              mlir::Value count);

} // namespace meshwright::train

#endif
