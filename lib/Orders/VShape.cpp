//===- VShape.cpp - two stages per rank, down and up again ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Qi et al., Pipeline Parallelism with Controllable Memory (2024). One micro-batch visits the ranks down and up,
// forward, and down and up again, backward, at times that are linear in the rank; the next one follows six units later,
// since a rank has six tasks for each. Distances a on the way down and b on the way up say how long a rank keeps what
// backward needs, so they are what memory costs: of what 1F1B keeps on its first rank, (1, 1) takes about a third, (2,
// 1) half, and (4, 2) all of it and has the smallest bubbles. Four ranks, (1, 1), one micro-batch:
//
//     F0. . . . . . f0i0w0. . . . . I0W0
//     . F0. . . . f0. . i0w0. . . I0W0
//     . . F0. . f0. . . . i0w0. I0W0
//     . . . F0f0. . . . . . i0I0w0W0
//
// The times of one micro-batch must fall on different units modulo six on every rank; where ranks turn, the next task
// waits until they do. Weight gradients take the units that are left.
//
//===----------------------------------------------------------------------===//

#include "Orders.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <array>

using namespace meshwright;
using namespace meshwright::schedule;

static constexpr int64_t kPeriod = 6;

namespace {

/// Distances, in tasks, between the forwards of neighbouring stages on the way down and on the way up.
struct VDistances {
  int64_t down, up;
};

/// When the four tasks that others wait for start on every rank, for micro-batch 0.
struct Pattern {
  int64_t ranks;
  VDistances distances;
  /// When rank `ranks − 1` does its second forward, rank 0 its first input gradient, and rank `ranks − 1` its second.
  std::array<int64_t, 3> turns;

  int64_t forwardDown(int64_t rank) const { return distances.down * rank; }
  int64_t forwardUp(int64_t rank) const { return turns[0] + distances.up * (ranks - 1 - rank); }
  int64_t inputDown(int64_t rank) const { return turns[1] + distances.down * rank; }
  int64_t inputUp(int64_t rank) const { return turns[2] + distances.up * (ranks - 1 - rank); }
  std::array<int64_t, 4> get(int64_t rank) const {
    return {forwardDown(rank), forwardUp(rank), inputDown(rank), inputUp(rank)};
  }
  /// True if on no rank two of the first `count` tasks fall on the same unit.
  bool fits(unsigned count) const;
};

} // namespace

bool Pattern::fits(unsigned count) const {
  for (int64_t rank = 0; rank < ranks; ++rank) {
    std::array<int64_t, 4> times = get(rank);
    for (unsigned later = 0; later < count; ++later)
      for (unsigned earlier = 0; earlier < later; ++earlier)
        if ((times[later] - times[earlier]) % kPeriod == 0)
          return false;
  }
  return true;
}

/// The earliest turns that fit. Waiting for five units reaches every remainder, so where none fits no pattern with
/// these distances does.
static bool findTurns(Pattern &pattern, unsigned turn) {
  if (turn == pattern.turns.size())
    return true;
  int64_t ready = turn == 0   ? pattern.forwardDown(pattern.ranks - 1)
                  : turn == 1 ? pattern.forwardUp(0)
                              : pattern.inputDown(pattern.ranks - 1);
  for (int64_t wait = 1; wait <= kPeriod; ++wait) {
    pattern.turns[turn] = ready + wait;
    if (pattern.fits(turn + 2) && findTurns(pattern, turn + 1))
      return true;
  }
  return false;
}

static TaskOrder makeVShape(const OrderShape &shape, VDistances distances) {
  TaskOrder order = makeV(shape);
  Pattern pattern{shape.ranks, distances, {}};
  findTurns(pattern, 0);
  for (int64_t rank = 0; rank < shape.ranks; ++rank) {
    int64_t stages[] = {rank, 2 * shape.ranks - 1 - rank};
    std::array<int64_t, 4> times = pattern.get(rank);
    // The first units that are left after the input gradient that a weight gradient belongs to.
    auto taken = llvm::to_vector(llvm::map_range(times, [](int64_t time) { return time % kPeriod; }));
    auto findFree = [&](int64_t after) {
      int64_t time = after + 1;
      while (llvm::is_contained(taken, time % kPeriod))
        ++time;
      taken.push_back(time % kPeriod);
      return time;
    };
    int64_t weightDown = findFree(times[2]), weightUp = findFree(times[3]);
    std::vector<std::pair<int64_t, Task>> timed;
    for (int64_t microBatch = 0; microBatch < shape.microBatches; ++microBatch) {
      int64_t start = kPeriod * microBatch;
      timed.push_back({start + times[0], {TaskKind::Forward, stages[0], microBatch}});
      timed.push_back({start + times[1], {TaskKind::Forward, stages[1], microBatch}});
      timed.push_back({start + times[2], {TaskKind::InputGradient, stages[1], microBatch}});
      timed.push_back({start + times[3], {TaskKind::InputGradient, stages[0], microBatch}});
      timed.push_back({start + weightDown, {TaskKind::WeightGradient, stages[1], microBatch}});
      timed.push_back({start + weightUp, {TaskKind::WeightGradient, stages[0], microBatch}});
    }
    llvm::sort(timed, llvm::less_first());
    for (const auto &[time, task] : timed)
      order.ranks[rank].push_back(task);
  }
  return order;
}

TaskOrder schedule::makeZeroBubbleV(const OrderShape &shape) { return makeVShape(shape, {4, 2}); }
TaskOrder schedule::makeZeroBubbleVHalf(const OrderShape &shape) { return makeVShape(shape, {2, 1}); }
TaskOrder schedule::makeZeroBubbleVMin(const OrderShape &shape) { return makeVShape(shape, {1, 1}); }
