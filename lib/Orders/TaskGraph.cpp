//===- TaskGraph.cpp - dependencies between the tasks of an order ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TaskGraph.h"
#include "llvm/ADT/STLExtras.h"

using namespace meshwright;
using namespace meshwright::schedule;

static llvm::Error fail(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

llvm::Error TaskGraph::collect() {
  int64_t numTasks = 0, stages = order->getNumStages(), microBatches = order->numMicroBatches;
  for (const std::vector<Task> &tasks : order->ranks)
    numTasks += tasks.size();
  // Bounds the numbers, so that the allocations below are no larger than the order itself.
  if (stages < 1 || microBatches < 1 || microBatches > numTasks / 2 / stages)
    return fail("an order of " + llvm::Twine(stages) + " stages and " + llvm::Twine(microBatches) +
                " micro-batches has " + llvm::Twine(numTasks) + " tasks, less than a forward and a backward of each");
  works.resize(stages * microBatches);
  nodes.reserve(numTasks);
  for (auto [rank, tasks] : llvm::enumerate(order->ranks))
    for (Task task : tasks) {
      if (task.stage < 0 || task.stage >= stages || task.microBatch < 0 || task.microBatch >= microBatches)
        return fail(toString(task) + " is none of " + llvm::Twine(stages) + " stages and " + llvm::Twine(microBatches) +
                    " micro-batches");
      if (order->rankOfStage[task.stage] != static_cast<int64_t>(rank))
        return fail(toString(task) + " is on rank " + llvm::Twine(rank) + ", but its stage is on rank " +
                    llvm::Twine(order->rankOfStage[task.stage]));
      Work &work = works[task.stage * microBatches + task.microBatch];
      int64_t &place = task.kind == TaskKind::Forward          ? work.forward
                       : task.kind == TaskKind::WeightGradient ? work.weightGradient
                                                               : work.backward;
      if (place != -1)
        return fail(toString(task) + " is there after " + toString(nodes[place].task));
      place = nodes.size();
      nodes.push_back({task, static_cast<int64_t>(rank), {}});
    }
  return llvm::Error::success();
}

llvm::Error TaskGraph::checkComplete() const {
  for (int64_t stage = 0; stage < order->getNumStages(); ++stage)
    for (int64_t microBatch = 0; microBatch < order->numMicroBatches; ++microBatch) {
      const Work &work = at(stage, microBatch);
      if (work.forward == -1)
        return fail(toString({TaskKind::Forward, stage, microBatch}) + " is missing");
      if (work.backward == -1)
        return fail(toString({TaskKind::Backward, stage, microBatch}) + " is missing");
      bool isWhole = nodes[work.backward].task.kind == TaskKind::Backward;
      Task weights{TaskKind::WeightGradient, stage, microBatch};
      if (isWhole && work.weightGradient != -1)
        return fail(toString(weights) + " is there, but " + toString(nodes[work.backward].task) + " contains it");
      if (!isWhole && work.weightGradient == -1)
        return fail(toString(weights) + " is missing");
    }
  return llvm::Error::success();
}

void TaskGraph::connect() {
  for (auto [place, node] : llvm::enumerate(nodes)) {
    if (place > 0 && nodes[place - 1].rank == node.rank)
      node.waitsFor.push_back(place - 1);
    auto [kind, stage, microBatch] = node.task;
    const Work &own = at(stage, microBatch);
    if (kind == TaskKind::WeightGradient) {
      node.waitsFor.push_back(own.backward);
    } else if (kind == TaskKind::Forward) {
      if (stage > 0)
        node.waitsFor.push_back(at(stage - 1, microBatch).forward);
    } else {
      node.waitsFor.push_back(own.forward);
      if (stage + 1 < order->getNumStages())
        node.waitsFor.push_back(at(stage + 1, microBatch).backward);
    }
  }
}

llvm::Expected<TaskGraph> TaskGraph::create(const TaskOrder &order) {
  TaskGraph graph(order);
  if (llvm::Error error = graph.collect())
    return std::move(error);
  if (llvm::Error error = graph.checkComplete())
    return std::move(error);
  graph.connect();
  return graph;
}

std::vector<unsigned> TaskGraph::sort() const {
  std::vector<unsigned> missing(nodes.size()), sorted;
  std::vector<llvm::SmallVector<unsigned, 3>> users(nodes.size());
  for (auto [place, node] : llvm::enumerate(nodes)) {
    missing[place] = node.waitsFor.size();
    for (unsigned first : node.waitsFor)
      users[first].push_back(place);
    if (missing[place] == 0)
      sorted.push_back(place);
  }
  for (size_t next = 0; next < sorted.size(); ++next)
    for (unsigned user : users[sorted[next]])
      if (--missing[user] == 0)
        sorted.push_back(user);
  return sorted;
}

//===----------------------------------------------------------------------===//
// Checking
//===----------------------------------------------------------------------===//

/// Finds a cycle of tasks that wait for each other, among the tasks that never run.
static std::vector<unsigned> findCycle(const TaskGraph &graph, llvm::ArrayRef<unsigned> sorted) {
  std::vector<bool> runs(graph.getNodes().size(), false);
  for (unsigned place : sorted)
    runs[place] = true;
  std::vector<int64_t> step(runs.size(), -1);
  std::vector<unsigned> path;
  unsigned place = llvm::find(runs, false) - runs.begin();
  while (step[place] == -1) {
    step[place] = path.size();
    path.push_back(place);
    // A task that never runs waits for another one that never runs.
    place = *llvm::find_if_not(graph.getNodes()[place].waitsFor, [&](unsigned first) { return runs[first]; });
  }
  path.erase(path.begin(), path.begin() + step[place]);
  return path;
}

llvm::Error schedule::check(const TaskOrder &order) {
  llvm::Expected<TaskGraph> graph = TaskGraph::create(order);
  if (!graph)
    return graph.takeError();
  std::vector<unsigned> sorted = graph->sort();
  if (sorted.size() == graph->getNodes().size())
    return llvm::Error::success();
  std::string cycle;
  for (unsigned place : findCycle(*graph, sorted)) {
    const TaskGraph::Node &node = graph->getNodes()[place];
    cycle += toString(node.task) + " on rank " + std::to_string(node.rank) + " waits for ";
  }
  llvm::StringRef first = llvm::StringRef(cycle).split(' ').first;
  return fail("tasks wait for each other: " + cycle + first);
}
