//===- OneForwardOneBackward.cpp - the 1F1B order -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Narayanan et al., PipeDream-Flush (2021): rank r of p begins with p − 1 − r forwards, then does a forward and a
// backward in turns, so it keeps what p − r micro-batches need. Four ranks, four micro-batches:
//
//     F0F1F2F3. . . . . . B0B0. B1B1. B2B2. B3B3
//     . F0F1F2. . . . B0B0F3B1B1. B2B2. B3B3
//     . . F0F1. . B0B0F2B1B1F3B2B2. B3B3
//     . . . F0B0B0F1B1B1F2B2B2F3B3B3
//
// The eager one (Zhuang et al., 2023) begins with 2 (p − 1 − r) forwards, so that what is sent has a task's time to
// arrive; it keeps what 2 (p − r) − 1 micro-batches need.
//
//===----------------------------------------------------------------------===//

#include "Orders.h"
#include <algorithm>

using namespace meshwright;
using namespace meshwright::schedule;

static TaskOrder make(const OrderShape &shape, bool eager) {
  TaskOrder order = makeLoop(shape);
  for (int64_t rank = 0; rank < shape.ranks; ++rank) {
    int64_t first = std::min((eager ? 2 : 1) * (shape.ranks - 1 - rank), shape.microBatches);
    int64_t forward = 0;
    while (forward < first)
      order.ranks[rank].push_back({TaskKind::Forward, rank, forward++});
    for (int64_t microBatch = 0; microBatch < shape.microBatches; ++microBatch) {
      if (forward < shape.microBatches)
        order.ranks[rank].push_back({TaskKind::Forward, rank, forward++});
      order.ranks[rank].push_back({TaskKind::Backward, rank, microBatch});
    }
  }
  return order;
}

TaskOrder schedule::makeOneForwardOneBackward(const OrderShape &shape) { return make(shape, /*eager=*/false); }
TaskOrder schedule::makeEagerOneForwardOneBackward(const OrderShape &shape) { return make(shape, /*eager=*/true); }
