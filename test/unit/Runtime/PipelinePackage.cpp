//===- PipelinePackage.cpp - a pipeline made by hand ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PipelinePackage.h"
#include "ProgramBuilder.h"
#include "TestPackage.h"
#include "meshwright/runtime/SchemaVersion.h"
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

using namespace meshwright;
using namespace meshwright::test;
using schedule::TaskKind;
using schedule::TaskOrder;

namespace {

/// A transfer from a stage to the next one (its result) or to the previous one (the gradient of its input), for a
/// micro-batch. Transfers are ordered by the time at which their value is ready, which is one order for all ranks.
struct Transfer {
  double time;
  int64_t stage, microBatch;
  bool isForward;

  int64_t getTarget() const { return isForward ? stage + 1 : stage - 1; }
  auto operator<=>(const Transfer &) const = default;
};

bool makesGradient(TaskKind kind) { return kind == TaskKind::Backward || kind == TaskKind::InputGradient; }
bool needsActivation(TaskKind kind) { return kind == TaskKind::Backward || kind == TaskKind::WeightGradient; }

/// An entry of a rank's schedule.
struct Entry {
  enum Kind { Compute, Move, Wait, Update } kind;
  /// For transfers and their waits: the stage that sends, and whether it sends forward.
  int64_t stage, microBatch;
  bool isForward = true;
  TaskKind task = TaskKind::Forward;
};

/// The entries of a rank. What is sent leaves in the order of its times; a task waits for what it takes right before
/// it, and before it makes something new for what was sent from that place two micro-batches ago.
class EntryList {
public:
  EntryList(const TaskOrder &order, const std::vector<Transfer> &transfers, const schedule::Execution &execution,
            int64_t rank)
      : order(order), rank(rank) {
    auto next = transfers.begin();
    for (size_t i = 0; i != order.ranks[rank].size(); ++i) {
      for (; next != transfers.end() && next->time <= execution.starts[rank][i]; ++next)
        addMove(*next);
      addTask(order.ranks[rank][i]);
    }
    for (; next != transfers.end(); ++next)
      addMove(*next);
    for (const Entry &move : std::vector(entries))
      if (move.kind == Entry::Move && isHere(move.stage))
        addWait(move.stage, move.microBatch, move.isForward);
    entries.push_back({Entry::Update, 0, order.numMicroBatches - 1});
  }

  std::vector<Entry> entries;

private:
  bool isHere(int64_t stage) const { return order.rankOfStage[stage] == rank; }
  bool isSent(int64_t stage, bool isForward) const {
    int64_t target = isForward ? stage + 1 : stage - 1;
    return stage >= 0 && target >= 0 && stage < order.getNumStages() && target < order.getNumStages() &&
           order.rankOfStage[stage] != order.rankOfStage[target];
  }

  void addMove(const Transfer &transfer) {
    if (isHere(transfer.stage) || isHere(transfer.getTarget()))
      entries.push_back({Entry::Move, transfer.stage, transfer.microBatch, transfer.isForward});
  }
  void addWait(int64_t stage, int64_t microBatch, bool isForward) {
    bool isMissing = std::none_of(entries.begin(), entries.end(), [&](const Entry &entry) {
      return entry.kind == Entry::Wait && entry.stage == stage && entry.microBatch == microBatch &&
             entry.isForward == isForward;
    });
    if (isSent(stage, isForward) && microBatch >= 0 && isMissing)
      entries.push_back({Entry::Wait, stage, microBatch, isForward});
  }
  void addTask(const schedule::Task &task) {
    bool isForward = task.kind == TaskKind::Forward;
    if (isForward || makesGradient(task.kind)) {
      addWait(isForward ? task.stage - 1 : task.stage + 1, task.microBatch, isForward);
      addWait(task.stage, task.microBatch - 2, isForward);
    }
    entries.push_back({Entry::Compute, task.stage, task.microBatch, true, task.kind});
  }

  const TaskOrder &order;
  int64_t rank;
};

class RankBuilder {
public:
  RankBuilder(const TaskOrder &order, std::vector<Entry> entries, int64_t rank, const PipelineOptions &options,
              Program &program)
      : order(order), entries(std::move(entries)), rank(rank), options(options), program(program), builder(program) {}

  void make(int64_t numRanks) {
    addPersistent();
    addBuffers();
    for (const Entry &entry : entries) {
      ScheduleItem *item = program.add_schedule();
      item->set_task(getTask(entry));
      item->set_micro_batch(static_cast<uint32_t>(entry.microBatch));
      item->set_end_step(1);
    }
    for (int64_t stage = 0; stage != order.getNumStages(); ++stage)
      program.add_variable_buffers(get(w, stage));
    program.add_input_buffers(isHere(0) ? static_cast<int32_t>(x) : -1);
    program.add_output_buffers(isHere(getLast()) ? static_cast<int32_t>(loss) : -1);
    for (int64_t other = 0; other != numRanks; ++other)
      program.add_output_buffers(other == rank || order.getNumRanks() == 1 ? static_cast<int32_t>(busy) : -1);
  }

private:
  using Buffers = std::map<int64_t, uint32_t>;

  bool isHere(int64_t stage) const {
    return stage >= 0 && stage < order.getNumStages() && order.rankOfStage[stage] == rank;
  }
  int64_t getLast() const { return order.getNumStages() - 1; }
  static int32_t get(const Buffers &buffers, int64_t stage) {
    auto found = buffers.find(stage);
    return found == buffers.end() ? -1 : static_cast<int32_t>(found->second);
  }

  uint32_t addSize(int64_t size) {
    uint32_t buffer = builder.addBuffer("", {}, I32);
    builder.addConstant(buffer, getSizeOffset(size));
    return buffer;
  }

  void addPersistent() {
    for (int64_t stage = 0; stage <= getLast(); ++stage)
      if (isHere(stage))
        w[stage] = builder.addBuffer("w" + std::to_string(stage), {pipelineWidth});
    ones = builder.addBuffer("ones", {pipelineWidth});
    builder.addConstant(ones, 0);
    width = addSize(pipelineWidth);
    one = addSize(1);
    for (int halves : {1, 2})
      sleep[halves] = addSize(halves * options.milliseconds);
    builder.endPersistent();
  }

  void addBuffers() {
    x = builder.addBuffer("x", {order.numMicroBatches, pipelineWidth});
    number = builder.addBuffer("", {}, I32);
    part = builder.addBuffer("", {});
    loss = builder.addBuffer("loss", {});
    busy = builder.addBuffer("busy", {});
    uint32_t two = order.numMicroBatches > 1 ? 2 : 1;
    auto add = [&](const char *name, uint32_t slots) { return builder.addSlots(name, {pipelineWidth}, slots); };
    for (const auto &[stage, variable] : w) {
      gradient[stage] = builder.addBuffer("grad/w", {pipelineWidth});
      operand[stage] = add("operand", countSlots(stage, true));
      above[stage] = stage == getLast() ? ones : add("above", countSlots(stage, false));
    }
    // The operand of the next stage is written in place if that stage is on this rank.
    for (const auto &[stage, variable] : w) {
      result[stage] = isHere(stage + 1) ? operand[stage + 1] : add("result", two);
      below[stage] = isHere(stage - 1) ? above[stage - 1] : add("below", two);
    }
  }

  /// So many micro-batches have the stage's operand, or the gradient of its result, at once.
  uint32_t countSlots(int64_t stage, bool isForward) const {
    int64_t source = isForward ? stage - 1 : stage + 1;
    std::vector<size_t> begins(order.numMicroBatches), ends(begins);
    for (size_t at = 0; at != entries.size(); ++at) {
      const Entry &entry = entries[at];
      bool makes = entry.kind == Entry::Move      ? entry.stage == source && entry.isForward == isForward
                   : entry.kind != Entry::Compute ? false
                   : entry.stage == source
                       ? isForward == (entry.task == TaskKind::Forward) && (isForward || makesGradient(entry.task))
                       : isForward && stage == 0 && entry.stage == 0 && entry.task == TaskKind::Forward;
      if (makes)
        begins[entry.microBatch] = at;
      if (entry.kind == Entry::Compute && entry.stage == stage && needsActivation(entry.task))
        ends[entry.microBatch] = at;
    }
    for (int64_t slots = 1;; ++slots)
      if (fits(begins, ends, slots))
        return static_cast<uint32_t>(slots);
  }
  static bool fits(const std::vector<size_t> &begins, const std::vector<size_t> &ends, int64_t slots) {
    for (size_t i = 0; i + slots < begins.size(); ++i)
      if (begins[i + slots] < ends[i])
        return false;
    return true;
  }

  //===--------------------------------------------------------------------===//
  // Tasks
  //===--------------------------------------------------------------------===//

  /// The task of an entry; the first micro-batch has one of its own.
  uint32_t getTask(const Entry &entry) {
    bool isFirst = entry.kind == Entry::Compute && entry.microBatch == 0;
    auto key = std::tuple(entry.kind, entry.stage, entry.isForward, entry.task);
    uint32_t action = actions.try_emplace(key, static_cast<uint32_t>(actions.size())).first->second;
    auto [known, isNew] = tasks.try_emplace({action, isFirst}, program.tasks_size());
    if (!isNew)
      return known->second;
    auto describe = [&](const std::string &name, Task::Kind kind) {
      builder.addTask(name);
      task = program.mutable_tasks(program.tasks_size() - 1);
      task->set_action(action);
      task->set_kind(kind);
    };
    std::string stage = std::to_string(entry.stage);
    std::string way = entry.isForward ? "forward" : "backward";
    switch (entry.kind) {
    case Entry::Compute:
      describe(schedule::toString({entry.task, entry.stage, 0}).substr(0, stage.size() + 1), getKind(entry.task));
      addCompute(entry.stage, entry.task, isFirst);
      break;
    case Entry::Move:
      describe("send " + stage + " " + way, Task::TRANSFER);
      addMove(entry);
      break;
    case Entry::Wait:
      describe("wait " + stage + " " + way, Task::TRANSFER);
      builder.addWait("wait", getTag(entry));
      break;
    case Entry::Update:
      describe("update", Task::UPDATE);
      task->set_runs(Task::LAST);
      for (const auto &[number, variable] : w)
        builder.addKernel("test_update", {width, gradient[number], variable});
    }
    return known->second;
  }

  static Task::Kind getKind(TaskKind kind) {
    switch (kind) {
    case TaskKind::Forward:
      return Task::FORWARD;
    case TaskKind::Backward:
      return Task::BACKWARD;
    case TaskKind::InputGradient:
      return Task::INPUT_GRADIENT;
    case TaskKind::WeightGradient:
      return Task::WEIGHT_GRADIENT;
    }
    return Task::STEP;
  }

  static uint32_t getTag(const Entry &entry) {
    return static_cast<uint32_t>(2 * entry.stage + (entry.isForward ? 0 : 1));
  }

  void addCompute(int64_t stage, TaskKind kind, bool isFirst) {
    bool isForward = kind == TaskKind::Forward;
    // The first task of the rank for the first micro-batch.
    if (isFirst && program.tasks_size() == getFirstCompute())
      builder.addKernel("test_zero", {busy});
    if (isForward)
      addForward(stage, isFirst);
    if (makesGradient(kind) && stage > 0)
      builder.addKernel("test_scale", {width, above[stage], w[stage], below[stage]});
    if (needsActivation(kind))
      builder.addKernel(isFirst ? "test_scale" : "test_scale_add",
                        {width, above[stage], operand[stage], gradient[stage]});
    if (options.milliseconds != 0)
      builder.addKernel("test_sleep", {sleep[kind == TaskKind::Backward ? 2 : 1], busy});
  }

  /// The number of tasks when the first one that computes has been added.
  int getFirstCompute() {
    if (firstCompute == 0)
      firstCompute = program.tasks_size();
    return firstCompute;
  }

  void addForward(int64_t stage, bool isFirst) {
    if (stage == 0) {
      builder.addMicroBatch(number);
      builder.addKernel("test_slice", {width, x, number, operand[0]});
    }
    builder.addKernel("test_scale", {width, operand[stage], w[stage], result[stage]});
    if (stage != getLast())
      return;
    builder.addKernel("test_sum", {width, result[stage], isFirst ? loss : part});
    if (!isFirst)
      builder.addKernel("test_add", {one, loss, part, loss});
  }

  void addMove(const Entry &entry) {
    int64_t target = entry.isForward ? entry.stage + 1 : entry.stage - 1;
    int32_t in = get(entry.isForward ? result : below, entry.stage);
    int32_t out = get(entry.isForward ? operand : above, target);
    Collective *collective = builder.addCollective(Collective::SEND, "moved", isHere(entry.stage) ? in : -1,
                                                   isHere(target) ? out : -1, pipelineWidth, {0}, getTag(entry));
    collective->mutable_parts(0)->set_root(static_cast<uint32_t>(order.rankOfStage[entry.stage]));
    collective->set_to(static_cast<uint32_t>(order.rankOfStage[target]));
    collective->set_start(true);
  }

  const TaskOrder &order;
  std::vector<Entry> entries;
  int64_t rank;
  const PipelineOptions &options;
  Program &program;
  ProgramBuilder builder;
  Task *task = nullptr;
  int firstCompute = 0;
  uint32_t ones, width, one, x, number, part, loss, busy;
  std::map<int, uint32_t> sleep;
  /// By stage: the variable and its gradient; what the stage takes and makes, forward (operand, result) and backward
  /// (above, below).
  Buffers w, gradient, operand, result, above, below;
  std::map<std::tuple<Entry::Kind, int64_t, bool, TaskKind>, uint32_t> actions;
  std::map<std::pair<uint32_t, bool>, uint32_t> tasks;
};

/// The transfers between ranks, in order.
std::vector<Transfer> findTransfers(const TaskOrder &order, const schedule::Execution &execution,
                                    const schedule::TaskTimes &times) {
  std::vector<Transfer> transfers;
  for (int64_t rank = 0; rank != order.getNumRanks(); ++rank)
    for (size_t i = 0; i != order.ranks[rank].size(); ++i) {
      const schedule::Task &task = order.ranks[rank][i];
      bool isForward = task.kind == TaskKind::Forward;
      Transfer transfer{execution.starts[rank][i] + times.get(task.kind), task.stage, task.microBatch, isForward};
      int64_t target = transfer.getTarget();
      if ((isForward || makesGradient(task.kind)) && target >= 0 && target < order.getNumStages() &&
          order.rankOfStage[target] != rank)
        transfers.push_back(transfer);
    }
  std::sort(transfers.begin(), transfers.end());
  return transfers;
}

void makePrograms(const TaskOrder &order, const PipelineOptions &options, int64_t numRanks,
                  const std::vector<Program *> &programs) {
  schedule::TaskTimes times;
  schedule::Execution execution = schedule::simulate(order, times);
  std::vector<Transfer> transfers = findTransfers(order, execution, times);
  for (int64_t rank = 0; rank != order.getNumRanks(); ++rank)
    RankBuilder(order, EntryList(order, transfers, execution, rank).entries, rank, options, *programs[rank])
        .make(numRanks);
}

/// All stages on one rank, one micro-batch after the other.
TaskOrder makeSerialOrder(const TaskOrder &order) {
  TaskOrder serial{order.numMicroBatches, std::vector<int64_t>(order.getNumStages(), 0), {{}}};
  for (int64_t microBatch = 0; microBatch != order.numMicroBatches; ++microBatch) {
    for (int64_t stage = 0; stage != order.getNumStages(); ++stage)
      serial.ranks[0].push_back({TaskKind::Forward, stage, microBatch});
    for (int64_t stage = order.getNumStages(); stage-- != 0;)
      serial.ranks[0].push_back({TaskKind::Backward, stage, microBatch});
  }
  return serial;
}

template <typename Value> void keepOn(Value *value, int64_t rank) {
  Support *support = value->mutable_placement()->add_support();
  support->set_axis(0);
  support->add_coordinates(rank);
}

} // namespace

Package meshwright::test::makePipelinePackage(const TaskOrder &order, const PipelineOptions &options) {
  Package package;
  package.set_version(runtime::schemaVersion);
  package.set_micro_batches(static_cast<uint32_t>(order.numMicroBatches));
  Axis *axis = package.add_axes();
  axis->set_name("pp");
  axis->set_size(order.getNumRanks());
  for (int64_t stage = 0; stage != order.getNumStages(); ++stage) {
    Variable *variable = package.add_variables();
    describe(variable, "w" + std::to_string(stage), {pipelineWidth});
    variable->mutable_init()->set_kind(Initializer::UNIFORM);
    variable->mutable_init()->set_a(0.5);
    variable->mutable_init()->set_b(1.5);
    keepOn(variable, order.rankOfStage[stage]);
  }
  describe(package.add_inputs(), "x", {order.numMicroBatches, pipelineWidth});
  keepOn(package.mutable_inputs(0), order.rankOfStage.front());
  describe(package.add_outputs(), "loss", {});
  keepOn(package.mutable_outputs(0), order.rankOfStage.back());
  package.mutable_outputs(0)->set_result(true);
  package.mutable_metrics()->set_loss("loss");
  std::vector<Program *> programs;
  for (int64_t rank = 0; rank != order.getNumRanks(); ++rank) {
    describe(package.add_outputs(), "busy" + std::to_string(rank), {});
    keepOn(package.mutable_outputs(package.outputs_size() - 1), rank);
    package.add_program_of_rank(static_cast<uint32_t>(rank));
    package.add_programs();
  }
  for (Program &program : *package.mutable_programs())
    programs.push_back(&program);
  makePrograms(order, options, order.getNumRanks(), programs);
  makePrograms(makeSerialOrder(order), options, order.getNumRanks(), {package.mutable_serial()});
  addLibraries(package);
  return package;
}
