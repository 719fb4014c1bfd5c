//===- CopyPlanner.cpp - plans copies between host and device -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Goes from operation to operation and keeps account of what is in flight and on the device.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Memory/CopyPlanner.h"
#include "llvm/ADT/STLExtras.h"
#include <deque>

using namespace llvm;
using namespace meshwright::schedule;

namespace {

class Planner {
public:
  explicit Planner(const CopyProblem &problem)
      : problem(problem), writeBacks(problem.numOperations + 2), readUntil(problem.numOperations + 2) {}

  CopyPlan run();

private:
  void makeCopies();
  void addFetches(unsigned variable);
  void addWriteBack(unsigned variable);
  void writeBack(int64_t operation);
  bool fetch(int64_t operation);
  bool makeRoom(int64_t operation, int64_t bytes);
  void start(unsigned copy, int64_t operation);
  void finish(unsigned copy, int64_t operation);
  int64_t getBytes(unsigned copy) const { return problem.variables[plan.copies[copy].variable].bytes; }
  /// The first operation that reads what is fetched, and the one after which nothing does.
  int64_t getFirst(unsigned copy) const;
  int64_t getLast(unsigned copy) const;
  bool isFull() const { return static_cast<int64_t>(inFlight.size()) >= problem.maxInFlight; }

  const CopyProblem &problem;
  CopyPlan plan;
  /// By their first reads; how many have started.
  SmallVector<unsigned> fetches;
  size_t numStarted = 0;
  /// For each operation, the write-backs that start before it and the fetches that it is the last to read.
  SmallVector<SmallVector<unsigned, 1>> writeBacks, readUntil;
  /// The oldest first.
  std::deque<unsigned> inFlight;
  int64_t live = 0;
};

} // namespace

int64_t Planner::getFirst(unsigned copy) const {
  const PlannedCopy &fetch = plan.copies[copy];
  return problem.variables[fetch.variable].reads[fetch.firstRead].operation;
}

int64_t Planner::getLast(unsigned copy) const {
  const PlannedCopy &fetch = plan.copies[copy];
  int64_t last = 0;
  for (unsigned read = fetch.firstRead; read < fetch.endRead; ++read)
    last = std::max(last, problem.variables[fetch.variable].reads[read].last);
  return last;
}

//===----------------------------------------------------------------------===//
// Finding the copies
//===----------------------------------------------------------------------===//

void Planner::addFetches(unsigned number) {
  const CopyProblem::Variable &variable = problem.variables[number];
  int64_t last = -1;
  for (auto [index, read] : enumerate(variable.reads)) {
    bool isNear = index > 0 && read.operation - problem.prefetch <= last;
    if (!isNear) {
      fetches.push_back(plan.copies.size());
      PlannedCopy &fetch = plan.copies.emplace_back();
      fetch.variable = number;
      fetch.firstRead = index;
    }
    plan.copies.back().endRead = index + 1;
    last = std::max(last, read.last);
  }
}

void Planner::addWriteBack(unsigned number) {
  const CopyProblem::Variable &variable = problem.variables[number];
  if (!variable.made)
    return;
  int64_t start = *variable.made + 1;
  // The host's memory has to keep the old value until the last fetch of it is over.
  if (!variable.reads.empty())
    start = std::max(start, getFirst(plan.copies.size() - 1) + 1);
  writeBacks[start].push_back(plan.copies.size());
  PlannedCopy &copy = plan.copies.emplace_back();
  copy.variable = number;
  copy.isFetch = false;
}

void Planner::makeCopies() {
  for (unsigned variable = 0; variable < problem.variables.size(); ++variable) {
    addFetches(variable);
    addWriteBack(variable);
  }
  stable_sort(fetches, [&](unsigned left, unsigned right) { return getFirst(left) < getFirst(right); });
  for (unsigned copy : fetches)
    readUntil[getLast(copy)].push_back(copy);
}

//===----------------------------------------------------------------------===//
// When
//===----------------------------------------------------------------------===//

void Planner::start(unsigned copy, int64_t operation) {
  plan.copies[copy].start = operation;
  plan.events.push_back(copy);
  inFlight.push_back(copy);
  live += getBytes(copy);
  plan.liveBytes = std::max(plan.liveBytes, live);
}

void Planner::finish(unsigned copy, int64_t operation) {
  plan.copies[copy].wait = operation;
  plan.events.push_back(copy);
  inFlight.erase(find(inFlight, copy));
  if (!plan.copies[copy].isFetch)
    live -= getBytes(copy);
}

/// Waits for write-backs, oldest first, until there is room for `bytes`, then for any copies until one more may be in
/// handle. Returns false if no remaining write-back frees the missing bytes.
bool Planner::makeRoom(int64_t operation, int64_t bytes) {
  auto isWriteBack = [&](unsigned copy) { return !plan.copies[copy].isFetch; };
  while (problem.maxLiveBytes > 0 && live + bytes > problem.maxLiveBytes) {
    auto oldest = find_if(inFlight, isWriteBack);
    if (oldest == inFlight.end())
      return false;
    finish(*oldest, operation);
  }
  while (isFull())
    finish(inFlight.front(), operation);
  return true;
}

/// Starts what has been made, and waits for what has had its time.
void Planner::writeBack(int64_t operation) {
  for (unsigned copy : writeBacks[operation]) {
    // The value occupies memory even if there is no room for it; the plan then exceeds the bound.
    makeRoom(operation, getBytes(copy));
    while (isFull())
      finish(inFlight.front(), operation);
    start(copy, operation);
  }
  SmallVector<unsigned> due;
  for (unsigned copy : inFlight)
    if (const PlannedCopy &planned = plan.copies[copy];
        !planned.isFetch && (planned.start + problem.prefetch <= operation || operation >= problem.numOperations))
      due.push_back(copy);
  for (unsigned copy : due)
    finish(copy, operation);
}

/// Starts the fetches for `operation`, and those ahead for which there is room. False where one of the former has none.
bool Planner::fetch(int64_t operation) {
  for (; numStarted < fetches.size(); ++numStarted) {
    unsigned copy = fetches[numStarted];
    int64_t bytes = getBytes(copy);
    if (getFirst(copy) - problem.prefetch > operation)
      break;
    bool fits = problem.maxLiveBytes == 0 || live + bytes <= problem.maxLiveBytes;
    if (getFirst(copy) > operation && (isFull() || !fits))
      break;
    if (!makeRoom(operation, bytes)) {
      plan.tooMuchAt = operation;
      plan.liveBytes = live + bytes;
      return false;
    }
    start(copy, operation);
  }
  SmallVector<unsigned> needed;
  for (unsigned copy : inFlight)
    if (plan.copies[copy].isFetch && getFirst(copy) <= operation)
      needed.push_back(copy);
  for (unsigned copy : needed)
    finish(copy, operation);
  return true;
}

CopyPlan Planner::run() {
  makeCopies();
  for (int64_t operation = 0; operation <= problem.numOperations + 1; ++operation) {
    if (operation > 0)
      for (unsigned copy : readUntil[operation - 1])
        live -= getBytes(copy);
    writeBack(operation);
    if (!fetch(operation))
      break;
  }
  return std::move(plan);
}

CopyPlan meshwright::schedule::planCopies(const CopyProblem &problem) { return Planner(problem).run(); }

//===----------------------------------------------------------------------===//
// Checking a plan
//===----------------------------------------------------------------------===//

namespace {

/// Replays a plan: at most one state per copy, and what is on the device.
class Checker {
public:
  Checker(const CopyProblem &problem, const CopyPlan &plan) : problem(problem), plan(plan), uses(plan.copies.size()) {}

  std::string check();

private:
  std::string checkEvents();
  std::string checkFetches(unsigned variable, ArrayRef<unsigned> fetches, const PlannedCopy *writeBack);
  std::string checkLiveBytes();
  std::pair<int64_t, int64_t> getLife(const PlannedCopy &copy) const;

  const CopyProblem &problem;
  const CopyPlan &plan;
  SmallVector<unsigned> uses;
};

} // namespace

/// Every copy starts and is waited for, where it says, and not too many at a time.
std::string Checker::checkEvents() {
  int64_t inFlight = 0, before = 0;
  for (unsigned event : plan.events) {
    const PlannedCopy &copy = plan.copies[event];
    int64_t at = uses[event]++ == 0 ? copy.start : copy.wait;
    if (at < before || at > problem.numOperations + 1)
      return "copy " + std::to_string(event) + " is out of order at " + std::to_string(at);
    before = at;
    inFlight += uses[event] == 1 ? 1 : -1;
    if (inFlight > problem.maxInFlight)
      return std::to_string(inFlight) + " copies are in flight at " + std::to_string(at);
  }
  for (auto [index, count] : enumerate(uses))
    if (count != 2)
      return "copy " + std::to_string(index) + " has " + std::to_string(count) + " events";
  return "";
}

std::string Checker::checkFetches(unsigned number, ArrayRef<unsigned> fetches, const PlannedCopy *writeBack) {
  const CopyProblem::Variable &variable = problem.variables[number];
  std::string name = "variable " + std::to_string(number);
  unsigned served = 0;
  for (unsigned index : fetches) {
    const PlannedCopy &fetch = plan.copies[index];
    if (fetch.firstRead != served || fetch.endRead <= served || fetch.endRead > variable.reads.size())
      return name + " has a fetch for other reads than come next";
    served = fetch.endRead;
    if (fetch.wait > variable.reads[fetch.firstRead].operation)
      return name + " is read before it is fetched";
    if (writeBack && writeBack->start <= fetch.wait)
      return name + " is fetched when it has been overwritten";
  }
  if (served != variable.reads.size())
    return name + " has reads without a fetch";
  if (variable.made.has_value() != (writeBack != nullptr))
    return name + (writeBack ? " is written back and not made" : " is made and not written back");
  return writeBack && writeBack->start <= *variable.made ? name + " is written back before it is made" : "";
}

/// The operations before which a copy occupies memory of the device.
std::pair<int64_t, int64_t> Checker::getLife(const PlannedCopy &copy) const {
  if (!copy.isFetch)
    return {copy.start, copy.wait};
  int64_t last = 0;
  for (unsigned read = copy.firstRead; read < copy.endRead; ++read)
    last = std::max(last, problem.variables[copy.variable].reads[read].last);
  return {copy.start, last + 1};
}

/// Whenever a fetch has started, what is on the device then is within the bound.
std::string Checker::checkLiveBytes() {
  SmallVector<unsigned> seen(plan.copies.size());
  for (auto [event, index] : enumerate(plan.events)) {
    bool starts = seen[index]++ == 0;
    if (problem.maxLiveBytes == 0 || !starts || !plan.copies[index].isFetch)
      continue;
    int64_t at = plan.copies[index].start, live = 0;
    for (auto [other, copy] : enumerate(plan.copies)) {
      bool isThere = copy.isFetch ? seen[other] > 0 && getLife(copy).second > at : seen[other] == 1;
      live += isThere ? problem.variables[copy.variable].bytes : 0;
    }
    if (live > problem.maxLiveBytes)
      return std::to_string(live) + " bytes are on the device at " + std::to_string(at);
  }
  return "";
}

std::string Checker::check() {
  if (std::string wrong = checkEvents(); !wrong.empty())
    return wrong;
  for (unsigned number = 0; number < problem.variables.size(); ++number) {
    SmallVector<unsigned> fetches;
    const PlannedCopy *writeBack = nullptr;
    for (auto [index, copy] : enumerate(plan.copies)) {
      if (copy.variable != number)
        continue;
      if (copy.isFetch)
        fetches.push_back(index);
      else if (writeBack)
        return "variable " + std::to_string(number) + " is written back twice";
      else
        writeBack = &copy;
    }
    if (std::string wrong = checkFetches(number, fetches, writeBack); !wrong.empty())
      return wrong;
  }
  return checkLiveBytes();
}

std::string meshwright::schedule::checkCopies(const CopyProblem &problem, const CopyPlan &plan) {
  return Checker(problem, plan).check();
}
