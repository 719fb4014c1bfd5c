//===- FillDrain.cpp - the GPipe order: all forwards, then all backwards --===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Huang et al., GPipe (2019). Every rank keeps what all micro-batches need for backward. Four ranks, four
// micro-batches; here and in the other files a letter is the kind of a task and a digit its micro-batch, a backward
// takes two units, and small letters are the second stage of a rank:
//
//     F0F1F2F3. . . . . . . . . B0B0B1B1B2B2B3B3
//     . F0F1F2F3. . . . . . B0B0B1B1B2B2B3B3
//     . . F0F1F2F3. . . B0B0B1B1B2B2B3B3
//     . . . F0F1F2F3B0B0B1B1B2B2B3B3
//
//===----------------------------------------------------------------------===//

#include "Orders.h"

using namespace meshwright;
using namespace meshwright::schedule;

TaskOrder schedule::makeFillDrain(const OrderShape &shape) {
  TaskOrder order = makeLoop(shape);
  for (int64_t rank = 0; rank < shape.ranks; ++rank)
    for (TaskKind kind : {TaskKind::Forward, TaskKind::Backward})
      for (int64_t microBatch = 0; microBatch < shape.microBatches; ++microBatch)
        order.ranks[rank].push_back({kind, rank, microBatch});
  return order;
}
