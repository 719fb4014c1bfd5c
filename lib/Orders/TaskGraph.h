//===- TaskGraph.h - dependencies between the tasks of an order --*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_ORDERS_TASKGRAPH_H
#define MESHWRIGHT_LIB_ORDERS_TASKGRAPH_H

#include "meshwright/Orders/TaskOrder.h"
#include "llvm/ADT/SmallVector.h"

namespace meshwright::schedule {

/// The tasks of all ranks in one list, rank by rank, and what each of them waits for.
class TaskGraph {
public:
  struct Node {
    Task task;
    int64_t rank;
    /// The tasks that come first: the one before it on its rank, and those that make what it works on.
    llvm::SmallVector<unsigned, 3> waitsFor;
  };

  /// Fails where a task is missing, there twice, on another rank than its stage, or of a kind that does not fit.
  static llvm::Expected<TaskGraph> create(const TaskOrder &order);

  llvm::ArrayRef<Node> getNodes() const { return nodes; }
  /// All tasks such that none comes before what it waits for; shorter where there is a cycle.
  std::vector<unsigned> sort() const;

private:
  /// The places of the tasks of one stage and micro-batch; −1 where there is none.
  struct Work {
    int64_t forward = -1, backward = -1, weightGradient = -1;
  };

  explicit TaskGraph(const TaskOrder &order) : order(&order) {}
  llvm::Error collect();
  llvm::Error checkComplete() const;
  void connect();
  const Work &at(int64_t stage, int64_t microBatch) const { return works[stage * order->numMicroBatches + microBatch]; }

  const TaskOrder *order;
  std::vector<Node> nodes;
  std::vector<Work> works;
};

} // namespace meshwright::schedule

#endif
