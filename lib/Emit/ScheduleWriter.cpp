//===- ScheduleWriter.cpp - the order of a program's tasks ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Without a pipeline, every step runs its slices in order, each by the variant for its times. With one, the items of
// `dist.schedule` become tasks, and every task that starts transfers gets another one that waits for them.
//
//===----------------------------------------------------------------------===//

#include "ScheduleWriter.h"
#include "dialects/Dist/Support.h"
#include "dialects/Dist/Times.h"
#include "meshwright/Schedule/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"
#include <map>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::emit;

/// The coordinates that `func` is for of the axis of that kind, in ascending order; all, if it does not say.
static SmallVector<int64_t> getTimes(func::FuncOp func, dist::AxisKind kind) {
  dist::Mesh mesh = dist::getMesh(func);
  std::optional<dist::Axis> axis = mesh.find(kind);
  if (!axis)
    return {0};
  DictionaryAttr on = dist::getOn(func.getOperation());
  auto times = on ? on.getAs<DenseI64ArrayAttr>(mesh.getName(*axis)) : DenseI64ArrayAttr();
  return times ? SmallVector<int64_t>(times.asArrayRef()) : llvm::to_vector(llvm::seq(mesh.getSize(*axis)));
}

/// `step 3`, `slices 1 to 6`, `slices 0, 2, 4`; nothing where the mesh has no such axis, or an action of a pipeline is
/// the same at all times.
static std::string describeTimes(func::FuncOp func, dist::AxisKind kind, StringRef unit) {
  std::optional<dist::Axis> axis = dist::getMesh(func).find(kind);
  if (!axis)
    return "";
  SmallVector<int64_t> times = getTimes(func, kind);
  if (dist::kActionAttr.isOn(func) && static_cast<int64_t>(times.size()) == dist::getMesh(func).getSize(*axis))
    return "";
  std::string text = (unit + (times.size() == 1 ? " " : "s ") + Twine(times.front())).str();
  if (times.size() > 1 && times.back() - times.front() + 1 == static_cast<int64_t>(times.size()))
    return text + " to " + std::to_string(times.back());
  for (int64_t time : llvm::drop_begin(times))
    text += ", " + std::to_string(time);
  return text;
}

std::string emit::getTaskName(func::FuncOp func) {
  auto action = dist::kActionAttr.get(func);
  if (!dist::hasTimes(func) && !action)
    return dist::getOn(func.getOperation()) ? "step" : func.getSymName().str();
  std::string steps = describeTimes(func, dist::AxisKind::Steps, "step");
  std::string slices = describeTimes(func, dist::AxisKind::Slices, "slice");
  std::string times = steps + (steps.empty() || slices.empty() ? "" : ", ") + slices;
  return action && !times.empty() ? action.str() + ", " + times : action ? action.str() : times;
}

/// Every step runs its slices in order, each by the variant that is for both.
static void writeSlices(ArrayRef<func::FuncOp> variants, Program &program) {
  std::map<std::pair<int64_t, int64_t>, ScheduleItem> items;
  for (auto [number, variant] : llvm::enumerate(variants)) {
    SmallVector<int64_t> steps = getTimes(variant, dist::AxisKind::Steps);
    for (int64_t slice : getTimes(variant, dist::AxisKind::Slices)) {
      ScheduleItem &item = items[{steps.front(), slice}];
      item.set_task(number);
      item.set_micro_batch(slice);
      item.set_first_step(steps.front());
      item.set_end_step(steps.back() + 1);
    }
  }
  for (const auto &[place, item] : items)
    *program.add_schedule() = item;
}

//===----------------------------------------------------------------------===//
// Pipelines
//===----------------------------------------------------------------------===//

namespace {

/// Writes the schedule of a program in a pipeline.
class ActionWriter {
public:
  ActionWriter(ArrayRef<func::FuncOp> variants, Program &program) : variants(variants), program(program) {}

  LogicalResult write();

private:
  void describeTasks();
  void describe(Task &task, func::FuncOp func, uint32_t number);
  uint32_t getWaiting(uint32_t task);
  void add(const dist::ScheduleOp::Item &item, StringRef action);

  ArrayRef<func::FuncOp> variants;
  Program &program;
  /// The tasks of every action.
  llvm::MapVector<StringRef, SmallVector<uint32_t, 3>> tasks;
  /// For tasks that start something, those that wait for it.
  llvm::DenseMap<uint32_t, uint32_t> waiting;
};

} // namespace

/// The schedule of the ranks of `func`.
static dist::ScheduleOp findSchedule(func::FuncOp func) {
  for (auto schedule : func->getParentOfType<ModuleOp>().getOps<dist::ScheduleOp>())
    if (dist::holds(func, schedule.getOn()))
      return schedule;
  return {};
}

/// The kind of `action` for reports.
static Task::Kind getKind(func::FuncOp func, StringRef action) {
  if (dist::kStartsAttr.isOn(func))
    return Task::TRANSFER;
  if (action == "update")
    return Task::UPDATE;
  return llvm::StringSwitch<Task::Kind>(action.ltrim("0123456789"))
      .Case("F", Task::FORWARD)
      .Case("B", Task::BACKWARD)
      .Case("I", Task::INPUT_GRADIENT)
      .Case("W", Task::WEIGHT_GRADIENT)
      .Default(Task::STEP);
}

void ActionWriter::describe(Task &task, func::FuncOp func, uint32_t number) {
  task.set_action(number);
  task.set_kind(getKind(func, dist::kActionAttr.get(func).getValue()));
  if (auto during = dist::kDuringAttr.get(func))
    if (auto slices = during.getAs<DenseI64ArrayAttr>(dist::kSlicesAxis))
      task.set_runs(slices[0] == 0 ? Task::FIRST : Task::LAST);
}

void ActionWriter::describeTasks() {
  for (auto [number, func] : llvm::enumerate(variants))
    tasks[dist::kActionAttr.get(func).getValue()].push_back(number);
  for (auto [number, entry] : llvm::enumerate(tasks))
    for (uint32_t task : entry.second)
      describe(*program.mutable_tasks(task), variants[task], number);
}

/// The task that waits for what `task` starts.
uint32_t ActionWriter::getWaiting(uint32_t task) {
  auto [known, isNew] = waiting.try_emplace(task, program.tasks_size());
  if (isNew) {
    uint32_t action = tasks.size() + waiting.size() - 1;
    Task &wait = *program.add_tasks();
    const Task &started = program.tasks(static_cast<int>(task));
    wait.set_name("wait for " + started.name());
    wait.set_action(action);
    wait.set_runs(started.runs());
    wait.set_kind(Task::TRANSFER);
    for (const Instruction &instruction : started.instructions()) {
      Instruction &entry = *wait.add_instructions();
      entry.set_name(instruction.name());
      entry.set_location(instruction.location());
      entry.mutable_wait()->set_tag(instruction.collective().tag());
    }
  }
  return known->second;
}

/// Adds the items of all variants of an action that are for a micro-batch.
void ActionWriter::add(const dist::ScheduleOp::Item &item, StringRef action) {
  auto known = tasks.find(action);
  if (known == tasks.end())
    return;
  for (uint32_t task : known->second) {
    if (!llvm::is_contained(getTimes(variants[task], dist::AxisKind::Slices), item.microBatch))
      continue;
    SmallVector<int64_t> steps = getTimes(variants[task], dist::AxisKind::Steps);
    uint32_t number = item.isWait ? getWaiting(task) : task;
    ScheduleItem &entry = *program.add_schedule();
    entry.set_task(number);
    entry.set_micro_batch(item.microBatch);
    entry.set_first_step(steps.front());
    entry.set_end_step(steps.back() + 1);
  }
}

LogicalResult ActionWriter::write() {
  dist::ScheduleOp schedule = findSchedule(variants.front());
  if (!schedule)
    return func::FuncOp(variants.front()).emitError() << "the actions of a pipeline have no schedule";
  describeTasks();
  for (unsigned index = 0; index < schedule.getNumItems(); ++index) {
    dist::ScheduleOp::Item item = schedule.getItem(index);
    add(item, cast<StringAttr>(schedule.getActions()[item.action]).getValue());
  }
  return success();
}

LogicalResult emit::writeSchedule(ArrayRef<func::FuncOp> variants, Program &program) {
  if (dist::kActionAttr.isOn(variants.front()))
    return ActionWriter(variants, program).write();
  writeSlices(variants, program);
  return success();
}
