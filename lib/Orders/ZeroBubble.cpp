//===- ZeroBubble.cpp - fills bubbles with weight gradients ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Qi et al., Zero Bubble Pipeline Parallelism (2023). Only the gradient of a stage's input is waited for (I); that of
// its weights (W) comes later. H1 begins as 1F1B does, and rank r lets r weight gradients wait, so that every rank
// keeps what p micro-batches need. Four ranks, six micro-batches:
//
//     F0F1F2F3. . . I0W0F4I1W1F5I2W2I3W3I4W4I5W5
//     . F0F1F2. . I0F3I1W0F4I2W1F5I3W2I4W3I5W4W5
//     . . F0F1. I0F2I1F3I2W0F4I3W1F5I4W2I5W3W4W5
//     . . . F0I0F1I1F2I2F3I3W0F4I4W1F5I5W2W3W4W5
//
// H2 begins with so many forwards that no rank ever waits between its first task and its last, if there are 2 p − 1
// micro-batches; it keeps what as many need. Four ranks, eight micro-batches:
//
//     F0F1F2F3F4F5F6I0W0F7I1W1I2W2I3W3I4W4I5W5I6W6I7W7
//     . F0F1F2F3F4I0F5I1F6I2W0F7I3W1I4W2I5W3I6W4I7W5W6W7
//     . . F0F1F2I0F3I1F4I2F5I3F6I4W0F7I5W1I6W2I7W3W4W5W6W7
//     . . . F0I0F1I1F2I2F3I3F4I4F5I5F6I6W0F7I7W1W2W3W4W5W6W7
//
//===----------------------------------------------------------------------===//

#include "Orders.h"
#include <algorithm>

using namespace meshwright;
using namespace meshwright::schedule;

static TaskOrder makeZeroBubble(const OrderShape &shape, int64_t level) {
  TaskOrder order = makeLoop(shape);
  for (int64_t rank = 0; rank < shape.ranks; ++rank) {
    std::vector<Task> &tasks = order.ranks[rank];
    int64_t first = std::min(level * (shape.ranks - 1 - rank), shape.microBatches), forward = 0, weight = 0;
    while (forward < first)
      tasks.push_back({TaskKind::Forward, rank, forward++});
    for (int64_t microBatch = 0; microBatch < shape.microBatches; ++microBatch) {
      bool hasForward = forward < shape.microBatches;
      if (hasForward)
        tasks.push_back({TaskKind::Forward, rank, forward++});
      tasks.push_back({TaskKind::InputGradient, rank, microBatch});
      // Without a forward left, a rank would wait for the next input gradient, so it computes a weight gradient.
      if (microBatch - weight >= level * rank || !hasForward)
        tasks.push_back({TaskKind::WeightGradient, rank, weight++});
    }
    while (weight < shape.microBatches)
      tasks.push_back({TaskKind::WeightGradient, rank, weight++});
  }
  return order;
}

TaskOrder schedule::makeZeroBubbleH1(const OrderShape &shape) { return makeZeroBubble(shape, 1); }
TaskOrder schedule::makeZeroBubbleH2(const OrderShape &shape) { return makeZeroBubble(shape, 2); }
