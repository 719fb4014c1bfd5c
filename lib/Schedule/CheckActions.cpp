//===- CheckActions.cpp - checks that a pipeline's schedule is complete -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two checks of the schedules of all ranks: every action reads the values of its own micro-batch from the slots of
// variables between actions, and both ends of every transfer are started in an order that can complete.
//
//===----------------------------------------------------------------------===//

#include "CheckActions.h"
#include "dialects/Dist/Support.h"
#include "dialects/Dist/Times.h"
#include "dialects/Net/Net.h"
#include "meshwright/Schedule/Passes.h"
#include <deque>
#include <map>
#include <set>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

//===----------------------------------------------------------------------===//
// Values between actions
//===----------------------------------------------------------------------===//

namespace {

/// Simulates the actions of one program's ranks, and tracks the contents of the variables between them.
class HolderChecker {
public:
  HolderChecker(ArrayRef<func::FuncOp> variants, dist::ScheduleOp schedule, const SymbolTable &symbols)
      : schedule(schedule), symbols(symbols) {
    for (func::FuncOp func : variants)
      actions[dist::kActionAttr.get(func)].push_back(func);
  }

  LogicalResult run();

private:
  /// The content of one slot of a variable.
  struct State {
    /// The micro-batch of the value; nullopt before the first.
    std::optional<int64_t> microBatch;
    /// The action that sends it, or receives into it, and has not been waited for.
    Attribute inFlight;
    bool isReceived = false;
  };

  func::FuncOp findFunction(const dist::ScheduleOp::Item &item);
  State &getState(StringAttr variable, int64_t microBatch);
  bool isBetween(StringAttr variable);
  InFlightDiagnostic error(const dist::ScheduleOp::Item &item);
  LogicalResult step(const dist::ScheduleOp::Item &item);
  LogicalResult read(net::ReadOp op, const dist::ScheduleOp::Item &item, bool isStart);
  LogicalResult assign(net::AssignOp op, const dist::ScheduleOp::Item &item, bool isStart);
  void wait(func::FuncOp func, const dist::ScheduleOp::Item &item);

  dist::ScheduleOp schedule;
  const SymbolTable &symbols;
  llvm::DenseMap<Attribute, SmallVector<func::FuncOp, 3>> actions;
  /// 0 for variables that outlive the step; −1 for what is there once for all micro-batches.
  llvm::DenseMap<StringAttr, int64_t> numSlots;
  std::map<std::pair<const void *, int64_t>, State> states;
};

} // namespace

/// The function that does the action of `item`; null where these ranks have no part in it.
func::FuncOp HolderChecker::findFunction(const dist::ScheduleOp::Item &item) {
  for (func::FuncOp func : actions[schedule.getActions()[item.action]]) {
    if (dist::covers(dist::getOn(func.getOperation()), dist::kSlicesAxis, item.microBatch))
      return func;
  }
  return {};
}

/// True if a variable passes values from action to action, or from one micro-batch of an action to the next.
bool HolderChecker::isBetween(StringAttr variable) {
  auto [known, isNew] = numSlots.try_emplace(variable, 0);
  if (isNew) {
    Operation *op = symbols.lookup(variable);
    auto slots = dist::kSlotsAttr.get(op);
    known->second = slots ? slots.getInt() : dist::kWithinStepAttr.isOn(op) ? -1 : 0;
  }
  return known->second != 0;
}

/// The slot of `variable`, one between actions, for a micro-batch.
HolderChecker::State &HolderChecker::getState(StringAttr variable, int64_t microBatch) {
  int64_t slots = numSlots[variable];
  return states[{variable.getAsOpaquePointer(), slots > 0 ? microBatch % slots : 0}];
}

InFlightDiagnostic HolderChecker::error(const dist::ScheduleOp::Item &item) {
  return schedule.emitOpError() << "does " << schedule.getActions()[item.action] << " for micro-batch "
                                << item.microBatch << " where ";
}

LogicalResult HolderChecker::read(net::ReadOp op, const dist::ScheduleOp::Item &item, bool isStart) {
  StringAttr variable = op.getVariableAttr().getAttr();
  if (!isBetween(variable))
    return success();
  State &state = getState(variable, item.microBatch);
  bool isThere = numSlots[variable] > 0 ? state.microBatch == item.microBatch : state.microBatch.has_value();
  if (!isThere)
    return error(item) << "its slot of " << variable << " holds what is of "
                       << (state.microBatch ? "micro-batch " + std::to_string(*state.microBatch) : "none");
  if (state.inFlight && state.isReceived)
    return error(item) << variable << " is still being received";
  if (isStart)
    state.inFlight = schedule.getActions()[item.action];
  return success();
}

LogicalResult HolderChecker::assign(net::AssignOp op, const dist::ScheduleOp::Item &item, bool isStart) {
  StringAttr variable = op.getVariableAttr().getAttr();
  if (!isBetween(variable))
    return success();
  State &state = getState(variable, item.microBatch);
  if (state.inFlight)
    return error(item) << "its slot of " << variable << " is still being " << (state.isReceived ? "received" : "sent");
  state = {item.microBatch, isStart ? schedule.getActions()[item.action] : Attribute(), isStart};
  return success();
}

/// Ends the exchanges that `func` has started.
void HolderChecker::wait(func::FuncOp func, const dist::ScheduleOp::Item &item) {
  for (Operation &op : func.getBody().front()) {
    auto read = dyn_cast<net::ReadOp>(op);
    auto assign = dyn_cast<net::AssignOp>(op);
    StringAttr variable = read     ? read.getVariableAttr().getAttr()
                          : assign ? assign.getVariableAttr().getAttr()
                                   : StringAttr();
    if (!variable || !isBetween(variable))
      continue;
    State &state = getState(variable, item.microBatch);
    if (state.inFlight == schedule.getActions()[item.action])
      state.inFlight = {};
  }
}

LogicalResult HolderChecker::step(const dist::ScheduleOp::Item &item) {
  func::FuncOp func = findFunction(item);
  if (!func)
    return success();
  if (item.isWait) {
    wait(func, item);
    return success();
  }
  bool isStart = dist::kStartsAttr.isOn(func);
  for (auto op : func.getBody().front().getOps<net::ReadOp>())
    if (failed(read(op, item, isStart)))
      return failure();
  for (auto op : func.getBody().front().getOps<net::AssignOp>())
    if (failed(assign(op, item, isStart)))
      return failure();
  return success();
}

LogicalResult HolderChecker::run() {
  for (unsigned index = 0; index < schedule.getNumItems(); ++index)
    if (failed(step(schedule.getItem(index))))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

namespace {

/// Simulates all coordinates of the pipeline until none can advance. Started transfers are queued per rank; one takes
/// place when it is at the front of the queues of both sides.
class SendChecker {
public:
  explicit SendChecker(ModuleOp module);
  LogicalResult run();

private:
  using Instance = std::pair<Attribute, int32_t>;

  bool step(int64_t coordinate);
  bool exchange(int64_t coordinate);
  LogicalResult explain();

  /// Per coordinate.
  llvm::MapVector<int64_t, dist::ScheduleOp> schedules;
  std::map<int64_t, unsigned> next;
  std::map<int64_t, std::deque<Instance>> rows;
  std::set<std::pair<const void *, int32_t>> over;
  /// The sending and the receiving stage of an action that sends.
  llvm::DenseMap<Attribute, std::pair<int64_t, int64_t>> ends;
  /// Actions in which ranks of one stage exchange values: these come after all earlier transfers.
  llvm::DenseSet<Attribute> exchanging;
};

} // namespace

SendChecker::SendChecker(ModuleOp module) {
  for (auto schedule : module.getOps<dist::ScheduleOp>())
    for (NamedAttribute entry : schedule.getOn())
      schedules[cast<DenseI64ArrayAttr>(entry.getValue())[0]] = schedule;
  for (auto func : module.getOps<func::FuncOp>())
    for (auto op : func.getOps<dist::CollectiveOp>()) {
      Attribute action = dist::kActionAttr.get(func);
      if (dist::kStartsAttr.isOn(func))
        ends[action] = {op.getRoots()->front(), *op.getTo()};
      else
        exchanging.insert(action);
    }
}

/// Does the next item of a coordinate, if that can be done.
bool SendChecker::step(int64_t coordinate) {
  dist::ScheduleOp schedule = schedules[coordinate];
  unsigned &index = next[coordinate];
  if (index == schedule.getNumItems())
    return false;
  dist::ScheduleOp::Item item = schedule.getItem(index);
  Attribute action = schedule.getActions()[item.action];
  if (item.isWait && !over.contains({action.getAsOpaquePointer(), item.microBatch}))
    return false;
  if (exchanging.contains(action) && !rows[coordinate].empty())
    return false;
  if (!item.isWait && ends.contains(action))
    rows[coordinate].push_back({action, item.microBatch});
  ++index;
  return true;
}

/// Lets what is at the front of the row of a coordinate take place, if the other side has come to it.
bool SendChecker::exchange(int64_t coordinate) {
  std::deque<Instance> &row = rows[coordinate];
  if (row.empty())
    return false;
  Instance instance = row.front();
  auto [from, to] = ends.lookup(instance.first);
  std::deque<Instance> &other = rows[from == coordinate ? to : from];
  if (other.empty() || other.front() != instance)
    return false;
  row.pop_front();
  other.pop_front();
  over.insert({instance.first.getAsOpaquePointer(), instance.second});
  return true;
}

/// Says of every coordinate that is stuck for what it waits.
LogicalResult SendChecker::explain() {
  std::optional<InFlightDiagnostic> error;
  for (auto &[coordinate, schedule] : schedules) {
    bool isAtEnd = next[coordinate] == schedule.getNumItems();
    if (isAtEnd && rows[coordinate].empty())
      continue;
    if (!error)
      error.emplace(schedule.emitOpError() << "does not come to its end");
    Diagnostic &note = error->attachNote(schedule.getLoc());
    note << "coordinate " << coordinate;
    if (!isAtEnd) {
      dist::ScheduleOp::Item item = schedule.getItem(next[coordinate]);
      note << " waits for " << schedule.getActions()[item.action] << " of micro-batch " << item.microBatch;
    }
    if (!rows[coordinate].empty())
      note << (isAtEnd ? "" : ",") << " has next in its row " << rows[coordinate].front().first << " of micro-batch "
           << rows[coordinate].front().second;
  }
  return error ? LogicalResult(*error) : success();
}

LogicalResult SendChecker::run() {
  for (bool moves = true; moves;) {
    moves = false;
    for (auto &[coordinate, schedule] : schedules) {
      while (step(coordinate))
        moves = true;
      while (exchange(coordinate))
        moves = true;
    }
  }
  return explain();
}

LogicalResult schedule::checkActions(ModuleOp module) {
  auto schedules = llvm::to_vector(module.getOps<dist::ScheduleOp>());
  if (schedules.empty())
    return success();
  SymbolTable symbols(module);
  for (ArrayRef<func::FuncOp> variants : dist::getVariants(module)) {
    func::FuncOp first = variants.front();
    auto *schedule = llvm::find_if(schedules, [&](dist::ScheduleOp op) { return dist::holds(first, op.getOn()); });
    if (schedule == schedules.end())
      return first.emitOpError() << "is of a pipeline, but no dist.schedule is for its ranks";
    if (failed(HolderChecker(variants, *schedule, symbols).run()))
      return failure();
  }
  return SendChecker(module).run();
}
