//===- CheckSchedules.cpp - whether every step of a merge is one ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ranges of all programs' items cut the positions of a merge into variants: a merge of a million steps costs what
// its few variants do.
//
//===----------------------------------------------------------------------===//

#include "CheckSchedules.h"
#include <algorithm>
#include <set>

using namespace meshwright;
using namespace meshwright::runtime;

/// A small package could otherwise keep its reader busy for days.
static constexpr uint64_t maxInstructions = uint64_t(1) << 28;
/// The first, the last and those between, of a few kinds; more are not what a compiler makes.
static constexpr size_t maxVariants = 64;

namespace {

/// As in messages: `step 1 of a merge of 3`.
std::string describeStep(uint32_t position, uint32_t mergeSteps) {
  return mergeSteps == 1 ? "the step" : fmt::format("step {} of a merge of {}", position, mergeSteps);
}

Status checkItem(const ScheduleItem &item, const Program &program, uint32_t mergeSteps) {
  if (item.task() >= static_cast<uint32_t>(program.tasks_size()))
    return inputError("the schedule runs task {} but the program has {}", item.task(), program.tasks_size());
  if (item.slot() != 0)
    return inputError("the schedule runs task {} in slot {}, where this runtime knows only slot 0", item.task(),
                      item.slot());
  if (item.first_step() >= item.end_step() || item.end_step() > mergeSteps)
    return inputError("the schedule runs task {} in the steps [{}, {}) of a merge of {}", item.task(),
                      item.first_step(), item.end_step(), mergeSteps);
  return {};
}

/// The positions at which the items of some program begin or end.
Result<std::set<uint32_t>> findCuts(const std::vector<const Program *> &programs, uint32_t mergeSteps) {
  std::set<uint32_t> cuts = {0, mergeSteps};
  for (const Program *program : programs)
    for (const ScheduleItem &item : program->schedule()) {
      cuts.insert({item.first_step(), item.end_step()});
      if (cuts.size() > maxVariants + 1)
        return inputError("the schedules have {} variants of the step or more, where this runtime knows {}",
                          cuts.size() - 1, maxVariants);
    }
  return cuts;
}

/// Every micro-batch is run once, in their order; the serial program may take the batch whole.
Status checkMicroBatches(const Program &program, uint32_t position, const meshwright::Package &package) {
  uint32_t mergeSteps = std::max(package.merge_steps(), 1u), wanted = std::max(package.micro_batches(), 1u);
  uint32_t next = 0;
  for (const ScheduleItem &item : program.schedule()) {
    if (!runsAt(item, position))
      continue;
    if (item.micro_batch() != next)
      return inputError("{} runs micro-batch {} where {} is next", describeStep(position, mergeSteps),
                        item.micro_batch(), next < wanted ? fmt::format("{}", next) : "none");
    ++next;
  }
  if (next != wanted && !(&program == &package.serial() && next == 1))
    return inputError("{} runs {} of {} micro-batches", describeStep(position, mergeSteps), next, wanted);
  return {};
}

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
  uint32_t mergeSteps = std::max(package.merge_steps(), 1u);
  std::vector<const Program *> programs;
  for (const Program &program : package.programs())
    programs.push_back(&program);
  if (package.has_serial())
    programs.push_back(&package.serial());
  auto getContext = [&](size_t i) {
    return programs[i] == &package.serial() ? "serial program" : fmt::format("program {}", i);
  };
  for (size_t i = 0; i != programs.size(); ++i)
    for (const ScheduleItem &item : programs[i]->schedule())
      MW_TRY(checkItem(item, *programs[i], mergeSteps).within(getContext(i)));

  MW_TRY_ASSIGN(std::set<uint32_t> cuts, findCuts(programs, mergeSteps));
  std::vector<StepVariant> variants;
  for (auto begin = cuts.begin(), end = std::next(begin); end != cuts.end(); ++begin, ++end)
    variants.push_back({*begin, *end});
  uint64_t instructions = 0;
  for (size_t i = 0; i != programs.size(); ++i) {
    // A program without a schedule computes nothing, in no step.
    if (!programs[i]->schedule().empty())
      for (const StepVariant &variant : variants)
        MW_TRY(checkMicroBatches(*programs[i], variant.begin, package).within(getContext(i)));
    instructions += countInstructions(*programs[i], variants);
  }
  if (instructions > maxInstructions)
    return inputError("the schedules run {} instructions, more than {}", instructions, maxInstructions);
  return variants;
}
