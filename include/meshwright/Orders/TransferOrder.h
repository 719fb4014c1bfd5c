//===- TransferOrder.h - orders the transfers of a pipeline ------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Places the transfers between pipeline stages among the tasks of a TaskOrder. A transfer takes place once sender and
// receiver have both started it, and a rank's transfers take place one after the other in the order of their starts:
// there are no buffers in between.
//
// All transfers have one global order, by the times at which their values are made, and every rank starts its own in
// that order.
//
//     rank 0   | F0      |>| F1      |>|  …          >  started: it is sent beside the next task
//     rank 1             <|w| F0      |<|w|  …       <  started to be received, w  waited for before the reader
//
// Every wait targets a transfer that is earlier in the global order, and its sender depends only on earlier transfers:
// so there is no deadlock, whatever durations tasks and links really have.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_ORDERS_TRANSFERORDER_H
#define MESHWRIGHT_ORDERS_TRANSFERORDER_H

#include "meshwright/Orders/TaskOrder.h"
#include <optional>

namespace meshwright::schedule {

/// A task of one stage, repeated for every micro-batch.
struct StageTask {
  TaskKind kind;
  int64_t stage;

  bool operator==(const StageTask &) const = default;
};

/// A value that one rank has and another one reads.
struct Transfer {
  /// The task that makes the value, for every micro-batch; nullopt if it exists before the step and is sent once.
  std::optional<StageTask> from;
  int64_t fromRank = 0, toRank = 0;
  /// The tasks of `toRank` that read it.
  std::vector<StageTask> readers;
};

/// One entry of a rank's list of tasks and transfers.
struct RankItem {
  enum class Kind : uint8_t {
    /// A task of the order, by its number in the rank's list.
    Task,
    /// A transfer is started, or waited for, on either of its sides.
    Start,
    Wait,
  } kind;
  int64_t index, microBatch;

  bool operator==(const RankItem &) const = default;
};

/// If a stage has both whole and split backwards, splits all of them, so that its tasks are the same for every
/// micro-batch.
TaskOrder splitBackwards(TaskOrder order);

/// The list of every rank: its tasks as in `order`, of which `execution` is a simulation, and its transfers between
/// them. A sender waits for a transfer after its next task, a receiver before the first task that reads it. Takes time
/// linear in tasks and transfers, plus sorting.
std::vector<std::vector<RankItem>> orderTransfers(const TaskOrder &order, const Execution &execution,
                                                  const TaskTimes &times, llvm::ArrayRef<Transfer> transfers);

} // namespace meshwright::schedule

#endif
