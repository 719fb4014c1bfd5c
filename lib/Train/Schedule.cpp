//===- Schedule.cpp - warm-up and cosine learning rates -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With the formulas of optax, in its order of operations:
//
//   warm-up   (start − peak)(1 − min(count, warmup)/warmup) + peak
//   cosine    peak ((1 − end/peak) (1 + cos(π min(count − warmup, length)/length))/2 + end/peak), length = total −
//   warmup
//
//===----------------------------------------------------------------------===//

#include "Schedule.h"
#include <numbers>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

LogicalResult train::verifySchedule(Operation *op, const OptimizerPassOptions &options) {
  if (options.schedule != ScheduleKind::Constant && options.warmup < 0)
    return op->emitError() << "a warm-up of " << options.warmup << " updates; it has at least 0";
  if (options.schedule == ScheduleKind::WarmupCosine && options.total <= options.warmup)
    return op->emitError() << "a schedule of " << options.total << " updates with a warm-up of " << options.warmup
                           << "; the warm-up is part of it and is shorter";
  return success();
}

/// Linear from `start` at count 0 to `peak` at count `warmup`, then constant.
static Value buildWarmup(net::NetBuilder &build, const OptimizerPassOptions &options, Value count) {
  if (options.warmup == 0)
    return build.splatLike(count, options.lr);
  auto updates = static_cast<double>(options.warmup);
  Value done = build.binary<net::MinimumOp>(count, build.splatLike(count, updates));
  Value left = build.subtractFrom(1, build.divide(done, build.splatLike(count, updates)));
  return build.add(build.scale(left, options.lrStart - options.lr), build.splatLike(count, options.lr));
}

static Value buildCosine(net::NetBuilder &build, const OptimizerPassOptions &options, Value count) {
  auto length = static_cast<double>(options.total - options.warmup);
  double floor = options.lr == 0 ? 0 : options.lrEnd / options.lr;
  Value since = build.subtract(count, build.splatLike(count, static_cast<double>(options.warmup)));
  Value done = build.binary<net::MinimumOp>(since, build.splatLike(count, length));
  Value angle = build.divide(build.scale(done, std::numbers::pi), build.splatLike(count, length));
  Value half = build.scale(build.add(build.splatLike(count, 1), build.unary<net::CosineOp>(angle)), 0.5);
  Value decayed = build.add(build.scale(half, 1 - floor), build.splatLike(count, floor));
  return build.scale(decayed, options.lr);
}

Value train::buildLearningRate(net::NetBuilder &build, const OptimizerPassOptions &options, Type elementType,
                               Value count) {
  if (options.schedule == ScheduleKind::Constant)
    return build.splat(RankedTensorType::get({}, elementType), options.lr);
  Value rate = buildWarmup(build, options, count);
  if (options.schedule == ScheduleKind::Warmup)
    return rate;
  Value warms =
      build.compare(net::CompareDirection::Lt, count, build.splatLike(count, static_cast<double>(options.warmup)));
  return build.select(warms, rate, buildCosine(build, options, count));
}
