//===- Interleaved.cpp - several stages per rank, one after the other -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Narayanan et al., Megatron-LM (2021). With v chunks per rank the stages are v times shorter, and so is the time until
// the last rank begins. Micro-batches go through the chunks in groups: a group passes one chunk before it enters the
// next. Two ranks, two chunks, four micro-batches, groups of two (capitals: the first chunk; B takes two units):
//
//     F0F1f0f1F2b0b0F3b1b1f2B0B0f3B1B1. b2b2. b3b3B2B2B3B3
//     . F0F1f0b0b0f1b1b1F2B0B0F3B1B1f2b2b2f3b3b3B2B2B3B3
//
// Every task has a place in a time of equal units, and every rank takes its tasks in the order of these: the k-th
// micro-batch that enters a chunk of rank r does so r + k units after the chunk's turn, and backwards run the other way
// from when the last stage has its first forward. Turns follow each other after a group, but not before the last rank
// has passed on its first micro-batch. So every task comes after those that it waits for, whatever the size of the
// groups.
//
//===----------------------------------------------------------------------===//

#include "Orders.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace meshwright;
using namespace meshwright::schedule;

/// The tasks of one kind on `rank`, group by group, each with its place among those of its kind: that of its
/// micro-batch in its group, and `turn` for every chunk of every group before it.
static std::vector<std::pair<int64_t, Task>> listByGroups(const OrderShape &shape, int64_t rank, TaskKind kind,
                                                          int64_t group, int64_t turn) {
  std::vector<std::pair<int64_t, Task>> tasks;
  int64_t start = 0;
  for (int64_t begin = 0; begin < shape.microBatches; begin += group)
    for (int64_t index = 0; index < shape.chunks; ++index, start += turn) {
      int64_t chunk = kind == TaskKind::Forward ? index : shape.chunks - 1 - index;
      for (int64_t microBatch = begin; microBatch < std::min(begin + group, shape.microBatches); ++microBatch)
        tasks.push_back({start + microBatch - begin, {kind, chunk * shape.ranks + rank, microBatch}});
    }
  return tasks;
}

TaskOrder schedule::makeInterleaved(const OrderShape &shape) {
  if (shape.chunks == 1)
    return makeOneForwardOneBackward(shape);
  TaskOrder order = makeLoop(shape);
  int64_t group = std::min(shape.group > 0 ? shape.group : shape.ranks, shape.microBatches);
  int64_t turn = std::max(group, shape.ranks);
  int64_t firstBackward = (shape.ranks - 1) + (shape.chunks - 1) * turn;
  for (int64_t rank = 0; rank < shape.ranks; ++rank) {
    // Two places per unit: a forward, then a backward.
    std::vector<std::pair<int64_t, Task>> timed;
    for (auto [place, task] : listByGroups(shape, rank, TaskKind::Forward, group, turn))
      timed.push_back({2 * (rank + place), task});
    for (auto [place, task] : listByGroups(shape, rank, TaskKind::Backward, group, turn))
      timed.push_back({2 * (firstBackward + shape.ranks - 1 - rank + place) + 1, task});
    llvm::sort(timed, llvm::less_first());
    for (const auto &[time, task] : timed)
      order.ranks[rank].push_back(task);
  }
  return order;
}

//===----------------------------------------------------------------------===//
// Looped orders
//===----------------------------------------------------------------------===//

/// All forwards, then all backwards, in groups of `group` micro-batches.
static TaskOrder makeLooped(const OrderShape &shape, int64_t group) {
  TaskOrder order = makeLoop(shape);
  for (int64_t rank = 0; rank < shape.ranks; ++rank)
    for (TaskKind kind : {TaskKind::Forward, TaskKind::Backward})
      for (const auto &[place, task] : listByGroups(shape, rank, kind, group, /*turn=*/0))
        order.ranks[rank].push_back(task);
  return order;
}

// Lamy-Poirier, Breadth-First Pipeline Parallelism (2022). Depth first, as many micro-batches as there are ranks go
// through all chunks before the next ones start; breadth first, all micro-batches pass one chunk before they enter the
// next, so parameters that are fetched for a chunk are fetched once.
TaskOrder schedule::makeDepthFirst(const OrderShape &shape) { return makeLooped(shape, shape.ranks); }
TaskOrder schedule::makeBreadthFirst(const OrderShape &shape) { return makeLooped(shape, shape.microBatches); }
