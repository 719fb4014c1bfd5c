//===- TransferOrder.cpp - orders the transfers of a pipeline -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Orders/TransferOrder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace meshwright;
using namespace meshwright::schedule;

namespace {

/// A transfer for one micro-batch.
struct Sending {
  /// When what is sent has been made.
  double madeAt;
  int64_t transfer, microBatch;
};

class Placer {
public:
  Placer(const TaskOrder &order, const Execution &execution, const TaskTimes &times,
         llvm::ArrayRef<Transfer> transfers);

  std::vector<std::vector<RankItem>> run();

private:
  /// The starts and waits before a task of a rank, or after the last one.
  struct Gap {
    std::vector<RankItem> starts, waits;
  };

  int64_t find(StageTask task, int64_t microBatch) const {
    return places.lookup({{static_cast<int64_t>(task.kind), task.stage}, microBatch});
  }
  std::vector<Sending> sortSendings() const;
  void placeStart(int64_t rank, int64_t place, const Sending &sending);
  void placeWait(int64_t rank, int64_t place, const Sending &sending);
  void place(const Sending &sending);

  const TaskOrder &order;
  llvm::ArrayRef<Transfer> transfers;
  /// The position of every task in the list of its rank.
  llvm::DenseMap<std::pair<std::pair<int64_t, int64_t>, int64_t>, int64_t> places;
  /// When the tasks of every rank end.
  std::vector<std::vector<double>> ends;
  std::vector<std::vector<Gap>> gaps;
  /// Per rank the gap in which its latest transfer is started.
  std::vector<int64_t> latest;
};

} // namespace

Placer::Placer(const TaskOrder &order, const Execution &execution, const TaskTimes &times,
               llvm::ArrayRef<Transfer> transfers)
    : order(order), transfers(transfers), latest(order.getNumRanks(), 0) {
  for (auto [tasks, starts] : llvm::zip(order.ranks, execution.starts)) {
    std::vector<double> &ofRank = ends.emplace_back();
    for (auto [place, task] : llvm::enumerate(tasks)) {
      places[{{static_cast<int64_t>(task.kind), task.stage}, task.microBatch}] = static_cast<int64_t>(place);
      ofRank.push_back(starts[place] + times.get(task.kind));
    }
    gaps.emplace_back(tasks.size() + 1);
  }
}

/// All that is sent, in the order in which it is made.
std::vector<Sending> Placer::sortSendings() const {
  std::vector<Sending> sendings;
  for (auto [number, transfer] : llvm::enumerate(transfers)) {
    auto index = static_cast<int64_t>(number);
    if (!transfer.from) {
      sendings.push_back({0, index, 0});
      continue;
    }
    for (int64_t microBatch = 0; microBatch < order.numMicroBatches; ++microBatch)
      sendings.push_back({ends[transfer.fromRank][find(*transfer.from, microBatch)], index, microBatch});
  }
  llvm::stable_sort(sendings, [](const Sending &left, const Sending &right) { return left.madeAt < right.madeAt; });
  return sendings;
}

/// A rank starts its transfers in the order of all.
void Placer::placeStart(int64_t rank, int64_t place, const Sending &sending) {
  latest[rank] = std::max(latest[rank], place);
  gaps[rank][latest[rank]].starts.push_back({RankItem::Kind::Start, sending.transfer, sending.microBatch});
}

void Placer::placeWait(int64_t rank, int64_t place, const Sending &sending) {
  gaps[rank][place].waits.push_back({RankItem::Kind::Wait, sending.transfer, sending.microBatch});
}

void Placer::place(const Sending &sending) {
  const Transfer &transfer = transfers[sending.transfer];
  int64_t from = transfer.fromRank, to = transfer.toRank, last = static_cast<int64_t>(ends[from].size());
  int64_t made = transfer.from ? find(*transfer.from, sending.microBatch) + 1 : 0;
  placeStart(from, made, sending);
  placeWait(from, transfer.from ? std::min(made + 1, last) : last, sending);
  // The transfer may overlap the task that the receiver runs when the value is made.
  int64_t over = llvm::upper_bound(ends[to], sending.madeAt) - ends[to].begin();
  placeStart(to, over, sending);
  int64_t first = static_cast<int64_t>(ends[to].size());
  for (StageTask reader : transfer.readers)
    first = std::min(first, find(reader, sending.microBatch));
  placeWait(to, first, sending);
}

std::vector<std::vector<RankItem>> Placer::run() {
  for (const Sending &sending : sortSendings())
    place(sending);
  std::vector<std::vector<RankItem>> items(gaps.size());
  for (auto [ofRank, tasks, between] : llvm::zip(items, order.ranks, gaps))
    for (auto [place, gap] : llvm::enumerate(between)) {
      llvm::append_range(ofRank, gap.starts);
      llvm::append_range(ofRank, gap.waits);
      if (place < tasks.size())
        ofRank.push_back({RankItem::Kind::Task, static_cast<int64_t>(place), tasks[place].microBatch});
    }
  return items;
}

TaskOrder schedule::splitBackwards(TaskOrder order) {
  std::vector<bool> isSplit(order.getNumStages(), false);
  for (const std::vector<Task> &tasks : order.ranks)
    for (Task task : tasks)
      if (task.kind == TaskKind::InputGradient)
        isSplit[task.stage] = true;
  for (std::vector<Task> &tasks : order.ranks) {
    std::vector<Task> halves;
    for (Task task : tasks) {
      bool isWhole = task.kind == TaskKind::Backward && isSplit[task.stage];
      halves.push_back({isWhole ? TaskKind::InputGradient : task.kind, task.stage, task.microBatch});
      if (isWhole)
        halves.push_back({TaskKind::WeightGradient, task.stage, task.microBatch});
    }
    tasks = std::move(halves);
  }
  return order;
}

std::vector<std::vector<RankItem>> schedule::orderTransfers(const TaskOrder &order, const Execution &execution,
                                                            const TaskTimes &times,
                                                            llvm::ArrayRef<Transfer> transfers) {
  return Placer(order, execution, times, transfers).run();
}
