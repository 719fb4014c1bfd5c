//===- DualPipeV.cpp - forwards of one half beside backwards of the other -===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DeepSeek-AI, DualPipe (2025), cut in half as Sea AI Lab proposed: every rank has two stages, down and up again. In
// the middle a forward of one stage stands next to a backward of the other, so that what one sends travels while the
// other computes. With p ranks and m micro-batches rank r goes through eight phases, counted in the table below; 0 and
// 1 are its stages, B is a whole backward, I and W are its halves:
//
//     times            2(p-1-r)  r+1   p-1-r     m-2p+r+1     p-1-r     r+1    p-1-r  r+1
//     tasks of a round F0        F0 F1 I1 W1 F1  F0 B1 F1 B0  B1 F1 B0  B1 B0  W  I0  W
//
// In the sixth phase the backwards of the second half are input gradients alone.
//
//===----------------------------------------------------------------------===//

#include "Orders.h"
#include <array>
#include <deque>

using namespace meshwright;
using namespace meshwright::schedule;

namespace {

/// The tasks of one rank while they are listed.
class RankList {
public:
  RankList(std::vector<Task> &tasks, std::array<int64_t, 2> stages) : tasks(tasks), stages(stages) {}

  void forward(unsigned half) { tasks.push_back({TaskKind::Forward, stages[half], forwards[half]++}); }
  void backward(unsigned half) { tasks.push_back({TaskKind::Backward, stages[half], backwards[half]++}); }
  void inputGradient(unsigned half) {
    Task task{TaskKind::InputGradient, stages[half], backwards[half]++};
    tasks.push_back(task);
    task.kind = TaskKind::WeightGradient;
    waiting.push_back(task);
  }
  void weightGradient() {
    tasks.push_back(waiting.front());
    waiting.pop_front();
  }

private:
  std::vector<Task> &tasks;
  std::array<int64_t, 2> stages, forwards{}, backwards{};
  std::deque<Task> waiting;
};

} // namespace

/// The backwards that end the order, at first whole.
static void endBackwards(RankList &list, int64_t rank) {
  int64_t rounds = rank + 1, half = rounds / 2;
  for (int64_t round = 0; round < rounds; ++round)
    for (unsigned stage : {1, 0}) {
      bool splits = round > half || (round == half && (rank % 2 == 1 || stage == 0));
      if (splits)
        list.inputGradient(stage);
      else
        list.backward(stage);
    }
}

TaskOrder schedule::makeDualPipeV(const OrderShape &shape) {
  TaskOrder order = makeV(shape);
  for (int64_t rank = 0; rank < shape.ranks; ++rank) {
    RankList list(order.ranks[rank], {rank, 2 * shape.ranks - 1 - rank});
    int64_t below = shape.ranks - 1 - rank;
    for (int64_t round = 0; round < 2 * below; ++round)
      list.forward(0);
    for (int64_t round = 0; round <= rank; ++round) {
      list.forward(0);
      list.forward(1);
    }
    for (int64_t round = 0; round < below; ++round) {
      list.inputGradient(1);
      list.weightGradient();
      list.forward(1);
    }
    for (int64_t round = 0; round < shape.microBatches - 2 * shape.ranks + rank + 1; ++round) {
      list.forward(0);
      list.backward(1);
      list.forward(1);
      list.backward(0);
    }
    for (int64_t round = 0; round < below; ++round) {
      list.backward(1);
      list.forward(1);
      list.backward(0);
    }
    endBackwards(list, rank);
    for (int64_t round = 0; round < below; ++round) {
      list.weightGradient();
      list.inputGradient(0);
    }
    for (int64_t round = 0; round <= rank; ++round)
      list.weightGradient();
  }
  return order;
}
