//===- TaskOrder.h - orders of the tasks of a pipeline -------------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pipeline has consecutive stages and sends every micro-batch through all of them, forward and back. A *task* is the
// work of one stage on one micro-batch; a *task order* lists the tasks of every rank. These are plain data: makers,
// checker and executor of an order are independent of each other.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_ORDERS_TASKORDER_H
#define MESHWRIGHT_ORDERS_TASKORDER_H

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

/// The part of a stage's work on a micro-batch that a task does.
enum class TaskKind : uint8_t {
  /// Makes the activations that the next stage waits for.
  Forward,
  /// Computes both of the following in one task.
  Backward,
  /// Makes the gradient of the stage's input, which the previous stage waits for.
  InputGradient,
  /// Makes the gradients of the stage's parameters, which only the optimizer waits for.
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
  /// The rank of every stage. The stages of one rank are its chunks, in this order.
  std::vector<int64_t> rankOfStage;
  /// The tasks of every rank, in order.
  std::vector<std::vector<Task>> ranks;

  int64_t getNumStages() const { return rankOfStage.size(); }
  int64_t getNumRanks() const { return ranks.size(); }
};

//===----------------------------------------------------------------------===//
// Published orders
//===----------------------------------------------------------------------===//

enum class OrderKind {
#define ORDER(KIND, NAME, ALIAS, CHUNKS, MICRO_BATCHES) KIND,
#include "meshwright/Orders/Orders.def"
};

/// The names, as the strategy has them in capitals: `one_f_one_b`.
llvm::StringRef getName(OrderKind kind);
/// The name in the literature if that is another one (`gpipe`, `1f1b`), else empty.
llvm::StringRef getAlias(OrderKind kind);
/// The kind with this name or alias, in capitals or not; none if there is no such kind.
std::optional<OrderKind> findOrderKind(llvm::StringRef name);
/// All kinds, in the order of Orders.def.
llvm::ArrayRef<OrderKind> getOrderKinds();

struct OrderShape {
  int64_t ranks = 1, microBatches = 1;
  /// Stages per rank.
  int64_t chunks = 1;
  /// Micro-batches that go through one chunk before the next one takes them (interleaved); 0: as many as ranks.
  int64_t group = 0;
};

/// Makes the order of that kind. If `kind` has no order for `shape`, the error names the nearest shape that has one.
llvm::Expected<TaskOrder> makeOrder(OrderKind kind, const OrderShape &shape);

//===----------------------------------------------------------------------===//
// Checks and simulation
//===----------------------------------------------------------------------===//

/// Checks an order: every task occurs once, on the rank of its stage, a stage has either whole or split backwards of a
/// micro-batch, and no task waits for itself. The error names the task at fault or prints the cycle. Takes time linear
/// in the tasks.
llvm::Error check(const TaskOrder &order);

/// Durations of tasks, in any unit.
struct TaskTimes {
  double forward = 1, inputGradient = 1, weightGradient = 1;
  /// The time from the end of a task until its result is on another rank.
  double send = 0;

  double get(TaskKind kind) const;
};

struct Execution {
  /// The start of every task, in the order of the ranks' lists.
  std::vector<std::vector<double>> starts;
  double makespan = 0;
  /// For every rank: the time that it computes, and the largest number of forwards whose micro-batch has not yet had
  /// its last task on that stage.
  std::vector<double> busy;
  std::vector<int64_t> inFlight;

  /// Waiting time of the ranks over their computing time: (ranks · makespan − Σ busy) / Σ busy.
  double getBubble() const;
};

/// Simulates a checked order on ranks that wait only for the inputs of their tasks.
Execution simulate(const TaskOrder &order, const TaskTimes &times);

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Writes one line per rank, its tasks separated by commas, in the format of PyTorch's pipelining.
void writeCsv(const TaskOrder &order, llvm::raw_ostream &out);
/// Reads that format and skips empty cells. It does not check the order, only that the numbers of stages and
/// micro-batches are small enough to count. Errors name line and cell.
llvm::Expected<TaskOrder> readCsv(llvm::StringRef text);

/// Draws an execution, a line per rank and a column per unit of time: digits are the last of a micro-batch's number;
/// later chunks have letters of their own.
void draw(const TaskOrder &order, const Execution &execution, const TaskTimes &times, llvm::raw_ostream &out);

} // namespace meshwright::schedule

#endif
