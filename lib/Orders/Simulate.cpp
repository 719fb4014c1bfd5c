//===- Simulate.cpp - start times of an order's tasks ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TaskGraph.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>
#include <numeric>

using namespace meshwright;
using namespace meshwright::schedule;

double TaskTimes::get(TaskKind kind) const {
  switch (kind) {
  case TaskKind::Forward:
    return forward;
  case TaskKind::Backward:
    return inputGradient + weightGradient;
  case TaskKind::InputGradient:
    return inputGradient;
  case TaskKind::WeightGradient:
    return weightGradient;
  }
  return 0;
}

double Execution::getBubble() const {
  double computed = std::accumulate(busy.begin(), busy.end(), 0.0);
  return computed > 0 ? (static_cast<double>(busy.size()) * makespan - computed) / computed : 0;
}

/// The most micro-batches of which a rank has done a forward and not yet what needs it last.
static int64_t countInFlight(llvm::ArrayRef<Task> tasks) {
  int64_t now = 0, most = 0;
  for (Task task : tasks) {
    now += task.kind == TaskKind::Forward;
    most = std::max(most, now);
    now -= task.kind == TaskKind::Backward || task.kind == TaskKind::WeightGradient;
  }
  return most;
}

Execution schedule::simulate(const TaskOrder &order, const TaskTimes &times) {
  Execution execution;
  for (const std::vector<Task> &tasks : order.ranks) {
    execution.inFlight.push_back(countInFlight(tasks));
    execution.starts.emplace_back();
    double busy = 0;
    for (Task task : tasks)
      busy += times.get(task.kind);
    execution.busy.push_back(busy);
  }
  TaskGraph graph = llvm::cantFail(TaskGraph::create(order));
  std::vector<double> starts(graph.getNodes().size(), 0);
  for (unsigned place : graph.sort()) {
    const TaskGraph::Node &node = graph.getNodes()[place];
    for (unsigned first : node.waitsFor) {
      const TaskGraph::Node &before = graph.getNodes()[first];
      double sending = before.rank == node.rank ? 0 : times.send;
      starts[place] = std::max(starts[place], starts[first] + times.get(before.task.kind) + sending);
    }
    execution.makespan = std::max(execution.makespan, starts[place] + times.get(node.task.kind));
  }
  for (auto [place, node] : llvm::enumerate(graph.getNodes()))
    execution.starts[node.rank].push_back(starts[place]);
  return execution;
}

//===----------------------------------------------------------------------===//
// Drawing
//===----------------------------------------------------------------------===//

void schedule::draw(const TaskOrder &order, const Execution &execution, const TaskTimes &times,
                    llvm::raw_ostream &out) {
  double unit = std::min({times.forward, times.inputGradient, times.weightGradient});
  for (auto [tasks, starts] : llvm::zip(order.ranks, execution.starts)) {
    std::string line;
    for (auto [task, start] : llvm::zip(tasks, starts)) {
      // The first chunk of a rank has capitals.
      auto first = llvm::find(order.rankOfStage, order.rankOfStage[task.stage]);
      bool isFirst = first - order.rankOfStage.begin() == task.stage;
      std::string cell(1, toString({task.kind, 0, 0})[1]);
      cell[0] = isFirst ? cell[0] : llvm::toLower(cell[0]);
      cell += static_cast<char>('0' + task.microBatch % 10);
      size_t column = 2 * std::llround(start / unit);
      while (line.size() < column)
        line += line.size() % 2 == 0 ? '.' : ' ';
      for (int64_t units = std::max<int64_t>(std::llround(times.get(task.kind) / unit), 1); units > 0; --units)
        line += cell;
    }
    out << line << "\n";
  }
}
