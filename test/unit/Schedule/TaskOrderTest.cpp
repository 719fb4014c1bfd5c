//===- TaskOrderTest.cpp - published orders of pipelines ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The orders' promises are compared with closed forms, and with a machine of its own that lets every rank take its
// next task when what that needs is there, one unit of time after the other.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Orders/TaskOrder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <tuple>

using namespace meshwright::schedule;

namespace {

//===----------------------------------------------------------------------===//
// A machine of its own
//===----------------------------------------------------------------------===//

struct Outcome {
  /// True if all tasks ran.
  bool ends = false;
  int64_t makespan = 0;
  /// When every task starts; −1 if never.
  std::vector<std::vector<int64_t>> starts;
};

/// Durations of F, I and W; of B that of I and W.
using Durations = std::array<int64_t, 3>;

class Machine {
public:
  Machine(const TaskOrder &order, Durations durations, int64_t send) : order(order), durations(durations), send(send) {}

  Outcome run() {
    Outcome result;
    size_t numRanks = order.ranks.size(), left = 0;
    std::vector<size_t> next(numRanks, 0);
    std::vector<int64_t> freeAt(numRanks, 0);
    for (const auto &tasks : order.ranks) {
      left += tasks.size();
      result.starts.emplace_back(tasks.size(), -1);
    }
    int64_t longest = 2 * (durations[0] + durations[1] + durations[2]) + send + 1;
    for (int64_t now = 0, idle = 0; left > 0 && idle <= longest; ++now, ++idle)
      for (size_t rank = 0; rank < numRanks; ++rank) {
        if (freeAt[rank] > now || next[rank] == order.ranks[rank].size())
          continue;
        Task task = order.ranks[rank][next[rank]];
        if (!isReady(task, rank, now))
          continue;
        result.starts[rank][next[rank]++] = now;
        freeAt[rank] = now + getDuration(task.kind);
        done[{task.kind, task.stage, task.microBatch}] = {freeAt[rank], rank};
        result.makespan = std::max(result.makespan, freeAt[rank]);
        --left;
        idle = 0;
      }
    result.ends = left == 0;
    return result;
  }

private:
  int64_t getDuration(TaskKind kind) const {
    switch (kind) {
    case TaskKind::Forward:
      return durations[0];
    case TaskKind::Backward:
      return durations[1] + durations[2];
    case TaskKind::InputGradient:
      return durations[1];
    case TaskKind::WeightGradient:
      return durations[2];
    }
    return 0;
  }

  bool isThere(std::initializer_list<TaskKind> kinds, Task task, int64_t stage, size_t rank, int64_t now) const {
    return llvm::any_of(kinds, [&](TaskKind kind) {
      auto found = done.find({kind, stage, task.microBatch});
      if (found == done.end())
        return false;
      auto [end, where] = found->second;
      return end + (where == rank ? 0 : send) <= now;
    });
  }

  bool isReady(Task task, size_t rank, int64_t now) const {
    using enum TaskKind;
    if (task.kind == Forward)
      return task.stage == 0 || isThere({Forward}, task, task.stage - 1, rank, now);
    if (task.kind == WeightGradient)
      return isThere({InputGradient}, task, task.stage, rank, now);
    bool isLast = task.stage + 1 == order.getNumStages();
    return isThere({Forward}, task, task.stage, rank, now) &&
           (isLast || isThere({Backward, InputGradient}, task, task.stage + 1, rank, now));
  }

  const TaskOrder &order;
  Durations durations;
  int64_t send;
  std::map<std::tuple<TaskKind, int64_t, int64_t>, std::pair<int64_t, size_t>> done;
};

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

std::string describe(OrderKind kind, const OrderShape &shape) {
  return getName(kind).str() + " of " + std::to_string(shape.ranks) + " ranks, " + std::to_string(shape.microBatches) +
         " micro-batches, " + std::to_string(shape.chunks) + " chunks, groups of " + std::to_string(shape.group);
}

/// The order, which has to be legal.
TaskOrder makeLegal(OrderKind kind, const OrderShape &shape) {
  auto order = makeOrder(kind, shape);
  if (!order) {
    ADD_FAILURE() << describe(kind, shape) << ": " << llvm::toString(order.takeError());
    return {};
  }
  if (llvm::Error error = check(*order))
    ADD_FAILURE() << describe(kind, shape) << ": " << llvm::toString(std::move(error));
  return std::move(*order);
}

std::string getError(llvm::Error error) { return error ? llvm::toString(std::move(error)) : "none"; }

constexpr int64_t kRanks[] = {2, 3, 4, 8}, kMicroBatches[] = {1, 2, 4, 7, 8, 16}, kChunks[] = {1, 2, 3};

/// Calls `body` with every shape that a kind has an order for, and returns how many it refuses.
int64_t forAllShapes(llvm::function_ref<void(OrderKind, const OrderShape &, const TaskOrder &)> body) {
  int64_t refused = 0;
  for (OrderKind kind : getOrderKinds())
    for (int64_t ranks : kRanks)
      for (int64_t microBatches : kMicroBatches)
        for (int64_t chunks : kChunks) {
          OrderShape shape{ranks, microBatches, chunks, 0};
          auto order = makeOrder(kind, shape);
          if (order)
            body(kind, shape, *order);
          else
            llvm::consumeError(order.takeError()), ++refused;
        }
  return refused;
}

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

TEST(TaskOrder, everyPublishedOrderRuns) {
  int64_t legal = 0;
  int64_t refused = forAllShapes([&](OrderKind kind, const OrderShape &shape, const TaskOrder &order) {
    ++legal;
    EXPECT_EQ(getError(check(order)), "none") << describe(kind, shape);
    EXPECT_TRUE(Machine(order, {1, 1, 1}, 0).run().ends) << describe(kind, shape);
    EXPECT_EQ(order.getNumStages(), shape.ranks * shape.chunks);
  });
  llvm::outs() << legal << " legal, " << refused << " refused\n";
  // 72 shapes for each of three kinds of any number of chunks, 24 for each of five of one chunk and three of two, and
  // those of dual_pipe_v with two micro-batches per rank: 4 + 3 + 2 + 1.
  EXPECT_EQ(legal, 3 * 72 + 8 * 24 + 10);
  EXPECT_EQ(refused, 12 * 72 - legal);
}

TEST(TaskOrder, interleavedTakesGroupsOfAnySize) {
  for (int64_t ranks : kRanks)
    for (int64_t microBatches : kMicroBatches)
      for (int64_t chunks : {2, 3})
        for (int64_t group = 1; group <= microBatches + 1; ++group)
          makeLegal(OrderKind::Interleaved, {ranks, microBatches, chunks, group});
}

TEST(TaskOrder, refusesWithTheNearestShape) {
  EXPECT_EQ(getError(makeOrder(OrderKind::DualPipeV, {4, 7, 2}).takeError()),
            "dual_pipe_v has at least 2 micro-batches per rank, 8 for 4 ranks, not 7");
  EXPECT_EQ(getError(makeOrder(OrderKind::ZeroBubbleV, {4, 8, 3}).takeError()), "zb_v has 2 chunks per rank, not 3");
  EXPECT_EQ(getError(makeOrder(OrderKind::OneForwardOneBackward, {4, 8, 2}).takeError()),
            "one_f_one_b has 1 chunk per rank, not 2");
  EXPECT_EQ(getError(makeOrder(OrderKind::FillDrain, {0, 8, 1}).takeError()),
            "a pipeline has at least 1 rank, 1 micro-batch and 1 chunk per rank, but has 0, 8 and 1");
  EXPECT_EQ(getError(makeOrder(OrderKind::BreadthFirst, {1 << 20, INT64_MAX, 1 << 20}).takeError()),
            "1048576 ranks of 1048576 chunks and 9223372036854775807 micro-batches are more than 67108864 tasks");
}

//===----------------------------------------------------------------------===//
// Closed forms
//===----------------------------------------------------------------------===//

TEST(TaskOrder, keepsAsManyMicroBatchesAsPublished) {
  for (int64_t p : kRanks)
    for (int64_t m : kMicroBatches)
      for (int64_t r = 0; r < p; ++r) {
        auto getInFlight = [&](OrderKind kind) { return simulate(makeLegal(kind, {p, m}), {}).inFlight[r]; };
        EXPECT_EQ(getInFlight(OrderKind::FillDrain), m);
        EXPECT_EQ(getInFlight(OrderKind::OneForwardOneBackward), std::min(p - r, m));
        EXPECT_EQ(getInFlight(OrderKind::EagerOneForwardOneBackward), std::min(2 * (p - r) - 1, m));
        EXPECT_EQ(getInFlight(OrderKind::ZeroBubbleH1), std::min(p, m));
        EXPECT_EQ(getInFlight(OrderKind::ZeroBubbleH2), std::min(2 * p - 1, m));
      }
}

// Tests the memory of V-shaped orders, in chunks of half a rank's layers: all of what 1F1B's first rank keeps, half of
// it, a third; the latter with what the turns add.
TEST(TaskOrder, keepsLessInAV) {
  for (int64_t p : {2, 3, 4, 8, 16}) {
    auto getMost = [&](OrderKind kind) {
      return *llvm::max_element(simulate(makeLegal(kind, {p, 8 * p, 2}), {}).inFlight);
    };
    EXPECT_EQ(getMost(OrderKind::ZeroBubbleV), 2 * p);
    EXPECT_LE(getMost(OrderKind::ZeroBubbleVHalf), p + 3);
    EXPECT_LE(getMost(OrderKind::ZeroBubbleVMin), 2 * p / 3 + 3);
    EXPECT_EQ(getMost(OrderKind::DualPipeV), 2 * p + 1);
  }
}

TEST(TaskOrder, waitsAsLongAsPublished) {
  for (int64_t p : kRanks)
    for (int64_t m : {8, 16, 24, 48}) {
      auto getBubble = [&](OrderKind kind, int64_t chunks) {
        return simulate(makeLegal(kind, {p, m, chunks}), {}).getBubble();
      };
      double whole = static_cast<double>(p - 1) / static_cast<double>(m);
      EXPECT_DOUBLE_EQ(getBubble(OrderKind::FillDrain, 1), whole);
      EXPECT_DOUBLE_EQ(getBubble(OrderKind::OneForwardOneBackward, 1), whole);
      for (int64_t chunks : {2, 3})
        if (m % p == 0)
          EXPECT_DOUBLE_EQ(getBubble(OrderKind::Interleaved, chunks), whole / static_cast<double>(chunks));
      // A rank waits for p − 1 units of the 3 m that it computes.
      if (m >= 2 * p - 1) {
        EXPECT_DOUBLE_EQ(getBubble(OrderKind::ZeroBubbleH1, 1), whole / 3);
        TaskOrder order = makeLegal(OrderKind::ZeroBubbleH2, {p, m});
        for (const std::vector<double> &starts : simulate(order, {}).starts)
          EXPECT_EQ(starts.back() + 1 - starts.front(), 3 * m) << "a rank of " << p << " waits";
      }
    }
}

//===----------------------------------------------------------------------===//
// Judging
//===----------------------------------------------------------------------===//

TEST(TaskOrder, runsAsTheMachineDoes) {
  std::mt19937 random(17);
  forAllShapes([&](OrderKind kind, const OrderShape &shape, const TaskOrder &order) {
    Durations durations;
    for (int64_t &duration : durations)
      duration = 1 + random() % 4;
    int64_t send = random() % 3;
    Outcome run = Machine(order, durations, send).run();
    Execution execution = simulate(order, {static_cast<double>(durations[0]), static_cast<double>(durations[1]),
                                           static_cast<double>(durations[2]), static_cast<double>(send)});
    EXPECT_EQ(execution.makespan, run.makespan) << describe(kind, shape);
    for (auto [ours, theirs] : llvm::zip(execution.starts, run.starts))
      for (auto [our, their] : llvm::zip(ours, theirs))
        ASSERT_EQ(our, their) << describe(kind, shape);
  });
}

/// Changes one thing: exchanges two tasks, leaves one out, sends one elsewhere, or does one twice.
void edit(TaskOrder &order, std::mt19937 &random) {
  std::vector<Task> &tasks = order.ranks[random() % order.ranks.size()];
  size_t place = random() % tasks.size();
  switch (random() % 5) {
  case 0:
    std::swap(tasks[place], tasks[random() % tasks.size()]);
    break;
  case 1:
    tasks.erase(tasks.begin() + place);
    break;
  case 2:
    tasks[place].microBatch = random() % order.numMicroBatches;
    break;
  case 3:
    tasks.insert(tasks.begin() + random() % tasks.size(), Task(tasks[place]));
    break;
  case 4:
    tasks[place].stage = random() % order.getNumStages();
    break;
  }
}

/// True if every stage runs every micro-batch once, forward and backward, on its rank.
bool isComplete(const TaskOrder &order) {
  std::map<std::pair<int64_t, int64_t>, std::string> kinds;
  for (size_t rank = 0; rank < order.ranks.size(); ++rank)
    for (Task task : order.ranks[rank]) {
      if (order.rankOfStage[task.stage] != static_cast<int64_t>(rank))
        return false;
      kinds[{task.stage, task.microBatch}] += toString({task.kind, 0, 0})[1];
    }
  for (auto &[work, text] : kinds)
    if (llvm::sort(text); text != "BF" && text != "FIW")
      return false;
  return kinds.size() == static_cast<size_t>(order.getNumStages() * order.numMicroBatches);
}

TEST(TaskOrder, findsEveryFault) {
  std::mt19937 random(4);
  int64_t refused = 0, accepted = 0;
  for (int64_t round = 0; round < 1000; ++round) {
    OrderKind kind = getOrderKinds()[random() % getOrderKinds().size()];
    OrderShape shape{1 + static_cast<int64_t>(random() % 4), 1 + static_cast<int64_t>(random() % 9),
                     1 + static_cast<int64_t>(random() % 2)};
    auto order = makeOrder(kind, shape);
    if (!order) {
      llvm::consumeError(order.takeError());
      continue;
    }
    edit(*order, random);
    bool runs = isComplete(*order) && Machine(*order, {1, 1, 1}, 0).run().ends;
    std::string error = getError(check(*order));
    EXPECT_EQ(error == "none", runs) << describe(kind, shape) << ", round " << round << ": " << error;
    ++(runs ? accepted : refused);
  }
  EXPECT_GT(accepted, 50);
  EXPECT_GT(refused, 300);
}

TEST(TaskOrder, printsTheCycle) {
  TaskOrder order = makeLegal(OrderKind::OneForwardOneBackward, {2, 2});
  // Rank 0 would do a backward before the forward that it follows from.
  std::swap(order.ranks[0][0], order.ranks[0][2]);
  EXPECT_EQ(getError(check(order)), "tasks wait for each other: 0B0 on rank 0 waits for 0F0 on rank 0 waits for 0F1 on "
                                    "rank 0 waits for 0B0");
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

TEST(TaskOrder, readsWhatItWrites) {
  forAllShapes([&](OrderKind kind, const OrderShape &shape, const TaskOrder &order) {
    std::string text;
    llvm::raw_string_ostream out(text);
    writeCsv(order, out);
    TaskOrder read = llvm::cantFail(readCsv(text));
    EXPECT_EQ(read.numMicroBatches, order.numMicroBatches) << describe(kind, shape);
    EXPECT_EQ(read.rankOfStage, order.rankOfStage) << describe(kind, shape);
    EXPECT_EQ(read.ranks, order.ranks) << describe(kind, shape);
  });
}

TEST(TaskOrder, readsEmptyCellsAndOverlaps) {
  TaskOrder order = llvm::cantFail(readCsv("0F0,,(0F1;1B0)OVERLAP_F_B,1F0\r\n , 2I0 ,2W0\n"));
  ASSERT_EQ(order.ranks.size(), 2u);
  EXPECT_EQ(order.ranks[0], (std::vector<Task>{{TaskKind::Forward, 0, 0},
                                               {TaskKind::Forward, 0, 1},
                                               {TaskKind::Backward, 1, 0},
                                               {TaskKind::Forward, 1, 0}}));
  EXPECT_EQ(order.ranks[1], (std::vector<Task>{{TaskKind::InputGradient, 2, 0}, {TaskKind::WeightGradient, 2, 0}}));
  EXPECT_EQ(order.rankOfStage, (std::vector<int64_t>{0, 0, 1}));
}

TEST(TaskOrder, refusesOtherCells) {
  for (const char *cell : {"0SEND_F0", "F0", "0F", "0X0", "0F-1", "0F99999999999999999999", "(0F0;1B0", "1048576F0"})
    EXPECT_EQ(getError(readCsv(std::string("0F0\n0F1,") + cell).takeError()),
              "line 2, cell 2: \"" + std::string(cell) + "\" is no task: a stage, F, B, I or W, and a micro-batch");
  EXPECT_EQ(getError(check(llvm::cantFail(readCsv("")))),
            "an order of 0 stages and 0 micro-batches has 0 tasks, less than a forward and a backward of each");
  EXPECT_EQ(getError(check(llvm::cantFail(readCsv("1000000F1000000")))),
            "an order of 1000001 stages and 1000001 micro-batches has 1 tasks, less than a forward and a backward of "
            "each");
  EXPECT_EQ(getError(check(llvm::cantFail(readCsv("0F0,0B0\n2F0,2B0,2F1")))),
            "an order of 3 stages and 2 micro-batches has 5 tasks, less than a forward and a backward of each");
  EXPECT_EQ(getError(check(llvm::cantFail(readCsv("0F0,0B0,1F0,1B0\n0F1,0B1,1F1,1B1")))),
            "0F1 is on rank 1, but its stage is on rank 0");
}

} // namespace
