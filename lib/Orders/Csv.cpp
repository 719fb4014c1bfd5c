//===- Csv.cpp - orders as text -------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The format of torch.distributed.pipelining: a line per rank, a cell per task, `0F3` for stage 0, forward,
// micro-batch 3. A forward and a backward that overlap are one cell, `(0F3;7B0)OVERLAP_F_B`; they are read as two
// tasks, one after the other.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Orders/TaskOrder.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>

using namespace meshwright;
using namespace meshwright::schedule;
using llvm::StringRef;

/// Larger numbers are no stages or micro-batches of anything that could be run.
static constexpr int64_t kMaxNumber = int64_t(1) << 20;

static constexpr TaskKind kTaskKinds[] = {TaskKind::Forward, TaskKind::Backward, TaskKind::InputGradient,
                                          TaskKind::WeightGradient};

static char getLetter(TaskKind kind) {
  switch (kind) {
  case TaskKind::Forward:
    return 'F';
  case TaskKind::Backward:
    return 'B';
  case TaskKind::InputGradient:
    return 'I';
  case TaskKind::WeightGradient:
    return 'W';
  }
  llvm_unreachable("all kinds are covered");
}

std::string schedule::toString(Task task) {
  return std::to_string(task.stage) + getLetter(task.kind) + std::to_string(task.microBatch);
}

void schedule::writeCsv(const TaskOrder &order, llvm::raw_ostream &out) {
  for (const std::vector<Task> &tasks : order.ranks) {
    llvm::ListSeparator comma(",");
    for (Task task : tasks)
      out << comma << toString(task);
    out << "\n";
  }
}

static bool consumeNumber(StringRef &text, int64_t &number) {
  return !text.consumeInteger(10, number) && number >= 0 && number < kMaxNumber;
}

static std::optional<Task> parseTask(StringRef text) {
  Task task;
  if (!consumeNumber(text, task.stage) || text.empty())
    return std::nullopt;
  const TaskKind *kind = llvm::find_if(kTaskKinds, [&](TaskKind known) { return getLetter(known) == text.front(); });
  if (kind == std::end(kTaskKinds))
    return std::nullopt;
  task.kind = *kind;
  text = text.drop_front();
  if (!consumeNumber(text, task.microBatch) || !text.empty())
    return std::nullopt;
  return task;
}

/// The tasks of a cell; false if it is none.
static bool parseCell(StringRef cell, std::vector<Task> &tasks) {
  llvm::SmallVector<StringRef, 2> parts = {cell};
  if (cell.consume_front("(") && cell.consume_back(")OVERLAP_F_B")) {
    parts.clear();
    cell.split(parts, ';');
  }
  for (StringRef part : parts) {
    std::optional<Task> task = parseTask(part);
    if (!task)
      return false;
    tasks.push_back(*task);
  }
  return true;
}

llvm::Expected<TaskOrder> schedule::readCsv(StringRef text) {
  TaskOrder order;
  llvm::SmallVector<StringRef> lines, cells;
  text.rtrim().split(lines, '\n');
  for (auto [rank, line] : llvm::enumerate(lines)) {
    std::vector<Task> &tasks = order.ranks.emplace_back();
    cells.clear();
    line.split(cells, ',');
    for (auto [column, cell] : llvm::enumerate(cells))
      if (StringRef trimmed = cell.trim(); !trimmed.empty() && !parseCell(trimmed, tasks))
        return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                       "line " + llvm::Twine(rank + 1) + ", cell " + llvm::Twine(column + 1) + ": \"" +
                                           trimmed + "\" is no task: a stage, F, B, I or W, and a micro-batch");
    for (Task task : tasks) {
      if (task.stage >= order.getNumStages())
        order.rankOfStage.resize(task.stage + 1, -1);
      if (order.rankOfStage[task.stage] == -1)
        order.rankOfStage[task.stage] = rank;
      order.numMicroBatches = std::max(order.numMicroBatches, task.microBatch + 1);
    }
  }
  return order;
}
