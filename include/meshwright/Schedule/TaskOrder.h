//===- TaskOrder.h - in which order the stages of a pipeline work -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pipeline has stages, one behind the other, and sends every micro-batch through all of them, forward and back. A
// *task* is the work of one stage on one micro-batch; a *task order* is the list of tasks of every rank. Plain data:
// what makes one, what checks it and what runs it know nothing of each other.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_TASKORDER_H
#define MESHWRIGHT_SCHEDULE_TASKORDER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace meshwright::schedule {

/// What a stage does with a micro-batch.
enum class TaskKind : uint8_t {
  /// Makes what the next stage waits for.
  Forward,
  /// Both of the following at once.
  Backward,
  /// Makes what the previous stage waits for: the gradient of the stage's input.
  InputGradient,
  /// Makes what only the optimizer waits for: the gradients of the stage's parameters.
  WeightGradient,
};

struct Task {
  TaskKind kind;
  int64_t stage, microBatch;

  bool operator==(const Task &) const = default;
};

/// `0F3`: stage, kind (F, B, I, W), micro-batch.
std::string toString(Task task);

struct TaskOrder {
  int64_t numMicroBatches = 0;
  /// For every stage the rank that it is on. Those of one rank are its chunks, in this order.
  std::vector<int64_t> rankOfStage;
  /// For every rank its tasks, in order.
  std::vector<std::vector<Task>> ranks;

  int64_t getNumStages() const { return rankOfStage.size(); }
  int64_t getNumRanks() const { return ranks.size(); }
};

//===----------------------------------------------------------------------===//
// Published orders
//===----------------------------------------------------------------------===//

enum class OrderKind {
  FillDrain,
  OneForwardOneBackward,
  EagerOneForwardOneBackward,
  Interleaved,
  DepthFirst,
  BreadthFirst,
  ZeroBubbleH1,
  ZeroBubbleH2,
  ZeroBubbleV,
  ZeroBubbleVHalf,
  ZeroBubbleVMin,
  DualPipeV,
};

/// The names, as the strategy has them in capitals: `one_f_one_b`.
llvm::StringRef getName(OrderKind kind);
/// The name in the literature if that is another one (`gpipe`, `1f1b`), else empty.
llvm::StringRef getAlias(OrderKind kind);
/// The kind with this name or alias, in capitals or not; none if there is no such kind.
std::optional<OrderKind> findOrderKind(llvm::StringRef name);
/// All kinds, in the order above.
llvm::ArrayRef<OrderKind> getOrderKinds();

struct OrderShape {
  int64_t ranks = 1, microBatches = 1;
  /// Stages per rank.
  int64_t chunks = 1;
  /// Micro-batches that go through one chunk before the next one takes them (interleaved); 0: as many as ranks.
  int64_t group = 0;
};

/// The order of that kind. What a kind has no order for is an error that names the nearest shape that it has one for.
llvm::Expected<TaskOrder> makeOrder(OrderKind kind, const OrderShape &shape);

//===----------------------------------------------------------------------===//
// Judging
//===----------------------------------------------------------------------===//

/// Checks any order: every task is there once, on the rank of its stage, its kinds fit together, and no task waits for
/// itself. An error says which task is at fault, or prints the cycle. Takes time linear in the tasks.
llvm::Error check(const TaskOrder &order);

/// How long tasks take, in any unit.
struct TaskTimes {
  double forward = 1, inputGradient = 1, weightGradient = 1;
  /// From the end of a task to when another rank has what it made.
  double send = 0;

  double get(TaskKind kind) const;
};

struct Execution {
  /// When every task starts, in the order of the ranks' lists.
  std::vector<std::vector<double>> starts;
  double makespan = 0;
  /// For every rank: how long it computes, and how many forwards are, at most, not yet followed by the last task of
  /// their micro-batch on that stage.
  std::vector<double> busy;
  std::vector<int64_t> inFlight;

  /// What the ranks wait over what they compute: (ranks · makespan − Σ busy) / Σ busy.
  double getBubble() const;
};

/// Runs a checked order on ranks that do nothing but wait for what a task needs.
Execution simulate(const TaskOrder &order, const TaskTimes &times);

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// A line per rank, its tasks separated by commas, as PyTorch's pipelining writes and reads them.
void writeCsv(const TaskOrder &order, llvm::raw_ostream &out);
/// Reads that; empty cells are left out. The order is not checked, but for its stages and micro-batches being small
/// enough to count. Errors name line and cell.
llvm::Expected<TaskOrder> readCsv(llvm::StringRef text);

/// Draws an execution, a line per rank and a column per unit of time: digits are the last of a micro-batch's number;
/// later chunks have letters of their own.
void draw(const TaskOrder &order, const Execution &execution, const TaskTimes &times, llvm::raw_ostream &out);

} // namespace meshwright::schedule

#endif
