//===- Schedule.cpp - the learning rate of a step -------------------------===//
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

namespace {

/// The numbers of a warm-up, and of half a cosine that may follow it.
struct Numbers {
  double start = 0, peak = 0, end = 0;
  int64_t warmup = 0, total = 0;
};

} // namespace

static Numbers getNumbers(const strategy::LearningRate &rate) {
  if (rate.has_warmup())
    return {.start = rate.warmup().start(), .peak = rate.warmup().peak(), .warmup = rate.warmup().steps()};
  const strategy::WarmupCosine &cosine = rate.warmup_cosine();
  return {.start = cosine.start(),
          .peak = cosine.peak(),
          .end = cosine.end(),
          .warmup = cosine.warmup(),
          .total = cosine.total()};
}

bool train::isConstant(const strategy::LearningRate &rate) { return !rate.has_warmup() && !rate.has_warmup_cosine(); }

LogicalResult train::verifySchedule(Operation *op, const strategy::LearningRate &rate) {
  if (isConstant(rate))
    return success();
  Numbers numbers = getNumbers(rate);
  if (numbers.warmup < 0)
    return op->emitError() << "a warm-up of " << numbers.warmup << " updates; it has at least 0";
  if (rate.has_warmup_cosine() && numbers.total <= numbers.warmup)
    return op->emitError() << "a schedule of " << numbers.total << " updates with a warm-up of " << numbers.warmup
                           << "; the warm-up is part of it and is shorter";
  return success();
}

/// From `start` at count 0 to `peak` at count `warmup` and after.
static Value buildWarmup(net::NetBuilder &build, const Numbers &numbers, Value count) {
  if (numbers.warmup == 0)
    return build.splatLike(count, numbers.peak);
  auto updates = static_cast<double>(numbers.warmup);
  Value done = build.binary<net::MinimumOp>(count, build.splatLike(count, updates));
  Value left = build.subtractFrom(1, build.divide(done, build.splatLike(count, updates)));
  return build.add(build.scale(left, numbers.start - numbers.peak), build.splatLike(count, numbers.peak));
}

static Value buildCosine(net::NetBuilder &build, const Numbers &numbers, Value count) {
  auto length = static_cast<double>(numbers.total - numbers.warmup);
  double floor = numbers.peak == 0 ? 0 : numbers.end / numbers.peak;
  Value since = build.subtract(count, build.splatLike(count, static_cast<double>(numbers.warmup)));
  Value done = build.binary<net::MinimumOp>(since, build.splatLike(count, length));
  Value angle = build.divide(build.scale(done, std::numbers::pi), build.splatLike(count, length));
  Value half = build.scale(build.add(build.splatLike(count, 1), build.unary<net::CosineOp>(angle)), 0.5);
  Value decayed = build.add(build.scale(half, 1 - floor), build.splatLike(count, floor));
  return build.scale(decayed, numbers.peak);
}

Value train::buildLearningRate(net::NetBuilder &build, const strategy::LearningRate &rate, Type elementType,
                               Value count) {
  if (isConstant(rate))
    return build.splat(RankedTensorType::get({}, elementType), rate.constant());
  Numbers numbers = getNumbers(rate);
  Value warming = buildWarmup(build, numbers, count);
  if (rate.has_warmup())
    return warming;
  Value warms =
      build.compare(net::CompareDirection::Lt, count, build.splatLike(count, static_cast<double>(numbers.warmup)));
  return build.select(warms, warming, buildCosine(build, numbers, count));
}
