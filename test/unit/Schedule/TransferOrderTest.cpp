//===- TransferOrderTest.cpp - sends among the tasks of a pipeline --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks' actions run on a machine without a single buffer: a transfer takes place when it is next in the rows of both
// its ranks, and blocks all later ones until then.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Orders/TransferOrder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <deque>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

using namespace meshwright::schedule;

namespace {

using Items = std::vector<std::vector<RankItem>>;

class Machine {
public:
  Machine(const TaskOrder &order, const std::vector<Transfer> &transfers, const Items &items)
      : order(order), transfers(transfers), items(items), next(items.size(), 0), rows(items.size()) {}

  /// Returns true if all ranks reach the end of their lists. The operands of each task are checked when it runs.
  bool run() {
    for (bool moves = true; moves;) {
      moves = exchange();
      for (size_t rank = 0; rank < items.size(); ++rank)
        while (next[rank] < items[rank].size() && step(rank, items[rank][next[rank]])) {
          ++next[rank];
          moves = true;
        }
    }
    for (size_t rank = 0; rank < items.size(); ++rank)
      if (next[rank] < items[rank].size() || !rows[rank].empty())
        return false;
    return true;
  }

private:
  using Instance = std::pair<int64_t, int64_t>;

  bool step(size_t rank, const RankItem &item) {
    Instance instance = {item.index, item.microBatch};
    if (item.kind == RankItem::Kind::Start) {
      const Transfer &transfer = transfers[item.index];
      if (transfer.from && transfer.fromRank == static_cast<int64_t>(rank)) {
        EXPECT_TRUE(done.contains({static_cast<int>(transfer.from->kind), transfer.from->stage, item.microBatch}));
      }
      rows[rank].push_back(instance);
      return true;
    }
    if (item.kind == RankItem::Kind::Wait)
      return over.contains(instance);
    Task task = order.ranks[rank][item.index];
    for (auto [number, transfer] : llvm::enumerate(transfers))
      if (transfer.toRank == static_cast<int64_t>(rank) &&
          llvm::is_contained(transfer.readers, StageTask{task.kind, task.stage})) {
        EXPECT_TRUE(over.contains({number, transfer.from ? task.microBatch : 0})) << toString(task);
      }
    done.insert({static_cast<int>(task.kind), task.stage, task.microBatch});
    return true;
  }

  /// Lets transfers take place that are next for both.
  bool exchange() {
    bool any = false;
    for (bool more = true; more;) {
      more = false;
      for (size_t rank = 0; rank < rows.size(); ++rank) {
        if (rows[rank].empty())
          continue;
        Instance instance = rows[rank].front();
        const Transfer &transfer = transfers[instance.first];
        auto &from = rows[transfer.fromRank], &to = rows[transfer.toRank];
        if (from.empty() || to.empty() || from.front() != instance || to.front() != instance)
          continue;
        from.pop_front();
        to.pop_front();
        over.insert(instance);
        any = more = true;
      }
    }
    return any;
  }

  const TaskOrder &order;
  const std::vector<Transfer> &transfers;
  const Items &items;
  std::vector<size_t> next;
  std::vector<std::deque<Instance>> rows;
  std::set<Instance> over;
  std::set<std::tuple<int, int64_t, int64_t>> done;
};

/// The transfers between stages: activations and cotangents to neighbours, and some between any two stages that the
/// order of stages allows.
std::vector<Transfer> makeTransfers(const TaskOrder &order, std::mt19937 &random) {
  // Kinds may differ from stage to stage.
  auto getBackward = [&](int64_t stage) {
    const auto &tasks = order.ranks[order.rankOfStage[stage]];
    auto task = llvm::find_if(tasks, [&](Task task) {
      return task.stage == stage && (task.kind == TaskKind::Backward || task.kind == TaskKind::InputGradient);
    });
    return StageTask{task->kind, stage};
  };
  std::vector<Transfer> transfers;
  auto add = [&](std::optional<StageTask> from, int64_t fromStage, int64_t toStage, std::vector<StageTask> readers) {
    int64_t fromRank = order.rankOfStage[fromStage], toRank = order.rankOfStage[toStage];
    if (fromRank != toRank)
      transfers.push_back({from, fromRank, toRank, std::move(readers)});
  };
  int64_t stages = order.getNumStages();
  for (int64_t stage = 0; stage + 1 < stages; ++stage) {
    add(StageTask{TaskKind::Forward, stage}, stage, stage + 1,
        {{TaskKind::Forward, stage + 1}, getBackward(stage + 1)});
    add(getBackward(stage + 1), stage + 1, stage, {getBackward(stage)});
  }
  auto pick = [&](int64_t first, int64_t last) { return std::uniform_int_distribution<int64_t>(first, last)(random); };
  for (int64_t extra = 0; extra < stages; ++extra) {
    int64_t first = pick(0, stages - 1), second = pick(first, stages - 1);
    add(StageTask{TaskKind::Forward, first}, first, second, {{TaskKind::Forward, second}});
    add(StageTask{TaskKind::Forward, first}, first, second, {getBackward(second)});
    add(getBackward(second), second, first, {getBackward(first)});
    add(std::nullopt, first, second, {getBackward(second), {TaskKind::Forward, second}});
  }
  return transfers;
}

/// Calls fn(order, what it is) for all published orders of some shapes, with backwards whole or in halves.
void forEachOrder(llvm::function_ref<void(const TaskOrder &, const std::string &)> fn) {
  for (OrderKind kind : getOrderKinds())
    for (int64_t ranks : {2, 3, 4, 8})
      for (int64_t microBatches : {1, 2, 4, 7, 8, 16})
        for (int64_t chunks : {1, 2, 3}) {
          auto order = makeOrder(kind, {ranks, microBatches, chunks, 0});
          if (order)
            fn(splitBackwards(*order), getName(kind).str() + " " + std::to_string(ranks) + " x " +
                                           std::to_string(microBatches) + " x " + std::to_string(chunks));
          else
            llvm::consumeError(order.takeError());
        }
}

TEST(TransferOrder, NeedsNoBuffer) {
  std::mt19937 random(7);
  int64_t orders = 0;
  forEachOrder([&](const TaskOrder &order, const std::string &name) {
    ++orders;
    std::vector<Transfer> transfers = makeTransfers(order, random);
    // Equal tasks, and such of which no two end together.
    for (TaskTimes times : {TaskTimes{}, TaskTimes{1.0, 1.37, 0.71, 0}}) {
      Items items = orderTransfers(order, simulate(order, times), times, transfers);
      EXPECT_TRUE(Machine(order, transfers, items).run()) << name;
    }
  });
  EXPECT_EQ(orders, 418);
}

/// A machine that accepts anything would be no test.
TEST(TransferOrder, MachineFindsDeadlocks) {
  auto order = llvm::cantFail(makeOrder(OrderKind::OneForwardOneBackward, {2, 2, 1, 0}));
  std::mt19937 random(7);
  std::vector<Transfer> transfers = makeTransfers(order, random);
  TaskTimes times;
  Items items = orderTransfers(order, simulate(order, times), times, transfers);
  ASSERT_TRUE(Machine(order, transfers, items).run());
  unsigned stuck = 0, edits = 0;
  for (size_t i = 0; i + 1 < items[0].size(); ++i) {
    if (items[0][i].kind != RankItem::Kind::Start || items[0][i + 1].kind == RankItem::Kind::Task)
      continue;
    Items edited = items;
    edited[0].erase(edited[0].begin() + static_cast<int64_t>(i));
    ++edits;
    stuck += !Machine(order, transfers, edited).run();
  }
  EXPECT_GT(edits, 0u);
  EXPECT_EQ(stuck, edits);
}

/// Every micro-batch's tasks of a kind come in ascending order on every stage: slots and accumulators rely on it.
TEST(TransferOrder, MicroBatchesAscend) {
  forEachOrder([&](const TaskOrder &order, const std::string &name) {
    std::map<std::pair<int, int64_t>, int64_t> last;
    for (const auto &tasks : order.ranks)
      for (Task task : tasks) {
        auto [known, isNew] = last.try_emplace({static_cast<int>(task.kind), task.stage}, -1);
        EXPECT_LT(known->second, task.microBatch) << name << " " << toString(task);
        known->second = task.microBatch;
      }
  });
}

} // namespace
