//===- TransferOrder.h - when the ranks of a pipeline send ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts what is sent between the stages of a pipeline among the tasks of a TaskOrder. A transfer takes place when its
// sender and its receiver have both started it, and a rank's transfers take place one after the other in the order in
// which it started them: nothing is ever buffered.
//
// All transfers have one order, that of the times at which what they send is made, and every rank starts its own in it.
//
//     rank 0   | F0      |>| F1      |>|  …          >  started: it is sent beside the next task
//     rank 1             <|w| F0      |<|w|  …       <  started to be received, w  waited for in front of the reader
//
// Whoever waits, waits for something made earlier than what he does next, by whoever did only earlier things himself:
// so there is no deadlock, whatever the tasks and the links take in truth.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_TRANSFERORDER_H
#define MESHWRIGHT_SCHEDULE_TRANSFERORDER_H

#include "meshwright/Schedule/TaskOrder.h"
#include <optional>

namespace meshwright::schedule {

/// What one stage does with every micro-batch.
struct StageTask {
  TaskKind kind;
  int64_t stage;

  bool operator==(const StageTask &) const = default;
};

/// A value that one rank has and others read.
struct Transfer {
  /// The task that makes it, for every micro-batch; none where it is there when the step begins, and is sent once.
  std::optional<StageTask> from;
  int64_t fromRank = 0, toRank = 0;
  /// The tasks of `toRank` that read it.
  std::vector<StageTask> readers;
};

/// One entry of what a rank does.
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

/// Where some backwards of a stage are whole and some in halves, all in halves: then what a stage does is the same for
/// every micro-batch.
TaskOrder splitBackwards(TaskOrder order);

/// What every rank does, in order: its tasks in the order that `order` gives them, which `execution` ran, and in
/// between its transfers. A sender waits for a transfer behind the next of its tasks, a receiver in front of the first
/// that reads it. Takes time linear in tasks and transfers, but for sorting them.
std::vector<std::vector<RankItem>> orderTransfers(const TaskOrder &order, const Execution &execution,
                                                  const TaskTimes &times, llvm::ArrayRef<Transfer> transfers);

} // namespace meshwright::schedule

#endif
