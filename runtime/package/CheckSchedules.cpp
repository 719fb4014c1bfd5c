//===- CheckSchedules.cpp - whether every step of an accumulation is one ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ranges of all programs' items cut the positions of an accumulation into variants: an accumulation of a million
// steps costs what its few variants do.
//
//===----------------------------------------------------------------------===//

#include "CheckSchedules.h"
#include <algorithm>
#include <map>
#include <set>

using namespace meshwright;
using namespace meshwright::runtime;

/// A small package could otherwise keep its reader busy for days.
static constexpr uint64_t maxInstructions = uint64_t(1) << 28;
/// The first, the last and those between, of a few kinds; more are not what a compiler makes.
static constexpr size_t maxVariants = 64;

namespace {

/// As in messages: `step 1 of an accumulation of 3`.
std::string describeStep(uint32_t position, uint32_t accumulationSteps) {
  return accumulationSteps == 1 ? "the step"
                                : fmt::format("step {} of an accumulation of {}", position, accumulationSteps);
}

Status checkItem(const ScheduleItem &item, const Program &program, uint32_t accumulationSteps) {
  if (item.task() >= static_cast<uint32_t>(program.tasks_size()))
    return inputError("the schedule runs task {} but the program has {}", item.task(), program.tasks_size());
  if (item.first_step() >= item.end_step() || item.end_step() > accumulationSteps)
    return inputError("the schedule runs task {} in the steps [{}, {}) of an accumulation of {}", item.task(),
                      item.first_step(), item.end_step(), accumulationSteps);
  return {};
}

/// The positions at which the items of some program begin or end.
Result<std::set<uint32_t>> findCuts(const std::vector<const Program *> &programs, uint32_t accumulationSteps) {
  std::set<uint32_t> cuts = {0, accumulationSteps};
  for (const Program *program : programs)
    for (const ScheduleItem &item : program->schedule()) {
      cuts.insert({item.first_step(), item.end_step()});
      if (cuts.size() > maxVariants + 1)
        return inputError("the schedules have {} variants of the step or more, where this runtime knows {}",
                          cuts.size() - 1, maxVariants);
    }
  return cuts;
}

/// A number names one action, whose tasks are done equally often.
Status checkActions(const Program &program) {
  std::map<uint32_t, const Task *> actions;
  for (const Task &task : program.tasks()) {
    if (!Task::Runs_IsValid(task.runs()))
      return inputError("task \"{}\" is done for micro-batches of an unknown kind, {}", task.name(),
                        static_cast<int>(task.runs()));
    const Task &first = *actions.emplace(task.action(), &task).first->second;
    if (task.runs() != first.runs())
      return inputError("tasks \"{}\" and \"{}\" are one action, {}, but are not done for the same micro-batches",
                        first.name(), task.name(), task.action());
  }
  return {};
}

/// Follows a step: every action is done for each of its micro-batches once, in their order.
class StepOrder {
public:
  StepOrder(const Program &program, uint32_t position, const meshwright::Package &package)
      : program(program), step(describeStep(position, std::max(package.accumulation_steps(), 1u))), position(position),
        microBatches(std::max(package.micro_batches(), 1u)), takesBatchWhole(&program == &package.serial()) {}

  Status check() {
    for (const ScheduleItem &item : program.schedule())
      if (runsAt(item, position))
        MW_TRY(visit(item));
    if (done.empty())
      return inputError("{} runs 0 of {} micro-batches", step, microBatches);
    for (const auto &[action, state] : done) {
      uint32_t end = getEnd(*state.task);
      if (state.next != end && !(takesBatchWhole && state.next == 1))
        return inputError("{} runs {} of {} micro-batches{}", step, state.next, end, describe(*state.task));
    }
    return {};
  }

private:
  struct State {
    const Task *task;
    uint32_t next;
  };

  Status visit(const ScheduleItem &item) {
    const Task &task = program.tasks(static_cast<int>(item.task()));
    uint32_t first = task.runs() == Task::LAST ? microBatches - 1 : 0;
    State &state = done.emplace(task.action(), State{&task, first}).first->second;
    if (item.micro_batch() != state.next)
      return inputError("{} runs micro-batch {}{} where {} is next", step, item.micro_batch(), describe(task),
                        state.next < getEnd(task) ? fmt::format("{}", state.next) : "none");
    ++state.next;
    return {};
  }

  /// The end of the range of micro-batches of an action.
  uint32_t getEnd(const Task &task) const { return task.runs() == Task::FIRST ? 1 : microBatches; }

  /// The name of the action for messages, if there are several.
  std::string describe(const Task &task) const {
    return hasActions(program) ? fmt::format(" of task \"{}\"", task.name()) : "";
  }

  const Program &program;
  std::string step;
  uint32_t position, microBatches;
  bool takesBatchWhole;
  /// By action: a task of it, and the micro-batch that comes next.
  std::map<uint32_t, State> done;
};

/// The instructions that the program runs, in one step of each variant.
uint64_t countInstructions(const Program &program, const std::vector<StepVariant> &variants) {
  uint64_t count = 0;
  for (const StepVariant &variant : variants)
    for (const ScheduleItem &item : program.schedule())
      if (runsAt(item, variant.begin))
        count += program.tasks(static_cast<int>(item.task())).instructions_size();
  return count;
}

} // namespace

Result<std::vector<StepVariant>> meshwright::runtime::checkSchedules(const meshwright::Package &package) {
  uint32_t accumulationSteps = std::max(package.accumulation_steps(), 1u);
  std::vector<const Program *> programs;
  for (const Program &program : package.programs())
    programs.push_back(&program);
  if (package.has_serial())
    programs.push_back(&package.serial());
  auto getContext = [&](size_t i) {
    return programs[i] == &package.serial() ? "serial program" : fmt::format("program {}", i);
  };
  for (size_t i = 0; i != programs.size(); ++i) {
    for (const ScheduleItem &item : programs[i]->schedule())
      MW_TRY(checkItem(item, *programs[i], accumulationSteps).within(getContext(i)));
    MW_TRY(checkActions(*programs[i]).within(getContext(i)));
  }

  MW_TRY_ASSIGN(std::set<uint32_t> cuts, findCuts(programs, accumulationSteps));
  std::vector<StepVariant> variants;
  for (auto begin = cuts.begin(), end = std::next(begin); end != cuts.end(); ++begin, ++end)
    variants.push_back({*begin, *end});
  uint64_t instructions = 0;
  for (size_t i = 0; i != programs.size(); ++i) {
    // A program without a schedule computes nothing, in no step.
    if (!programs[i]->schedule().empty())
      for (const StepVariant &variant : variants)
        MW_TRY(StepOrder(*programs[i], variant.begin, package).check().within(getContext(i)));
    instructions += countInstructions(*programs[i], variants);
  }
  if (instructions > maxInstructions)
    return inputError("the schedules run {} instructions, more than {}", instructions, maxInstructions);
  return variants;
}
