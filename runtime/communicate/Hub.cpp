//===- Hub.cpp - where ranks of one process meet --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Hub.h"
#include "meshwright/runtime/Agreement.h"
#include <algorithm>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::runtime::inproc;

Group *Hub::getGroup(const std::vector<int64_t> &members) {
  std::lock_guard guard(mutex);
  std::unique_ptr<Group> &group = groups[members];
  if (!group) {
    group = std::make_unique<Group>();
    group->members = members;
    group->calls.resize(members.size());
  }
  return group.get();
}

Status Hub::meet(Group &group, uint64_t position, const CollectiveCall &call, Clock::time_point ready) {
  Lock held = lock();
  group.calls[position] = &call;
  group.ready = group.arrived == 0 ? ready : std::max(group.ready, ready);
  if (failure.ok() && group.arrived + 1 == group.members.size()) {
    group.begin = group.ready;
    if (Status status = checkAgreement(group.members, group.calls); !status.ok())
      abort(status);
  }
  return wait(held, group);
}

Status Hub::leave(Group &group) {
  Lock held = lock();
  if (group.arrived + 1 == group.members.size())
    std::fill(group.calls.begin(), group.calls.end(), nullptr);
  return wait(held, group);
}

Status Hub::wait(Lock &held, Group &group) {
  if (!failure.ok())
    return failure;
  if (++group.arrived == group.members.size()) {
    lastMove = std::max(lastMove, Clock::now());
    group.arrived = 0;
    ++group.generation;
    running += group.members.size() - 1;
    group.released.notify_all();
    return {};
  }
  uint64_t generation = group.generation;
  pause();
  Clock::time_point begin = Clock::now();
  auto getDeadline = [&] { return std::max(begin, lastMove) + std::chrono::duration_cast<Clock::duration>(timeout); };
  auto isOver = [&] { return group.generation != generation || !failure.ok(); };
  while (!group.released.wait_until(held, getDeadline(), isOver))
    if (Clock::now() >= getDeadline())
      abort(describeStop());
  // Released before the failure: this meeting took place.
  return group.generation != generation ? Status() : failure;
}

void Hub::pause() {
  --running;
  checkProgress();
}

/// Whether a rank is at a meeting that others have not come to.
bool Hub::isWaiting(int64_t rank) const {
  for (const auto &[members, group] : groups) {
    auto position = std::find(members.begin(), members.end(), rank);
    if (group->arrived != 0 && position != members.end() && group->calls[position - members.begin()])
      return true;
  }
  return false;
}

std::vector<Hub::Wait> Hub::findWaits() const {
  std::vector<Wait> waits;
  for (const auto &[members, group] : groups) {
    auto come = std::find_if(group->calls.begin(), group->calls.end(), [](const auto *call) { return call; });
    if (group->arrived == 0 || come == group->calls.end())
      continue;
    for (size_t i = 0; i != members.size(); ++i)
      if (!group->calls[i])
        waits.push_back({members[come - group->calls.begin()], members[i], *come});
  }
  return waits;
}

/// The cause is the first absent member that does not itself wait for another one.
Status Hub::describeStop() const {
  std::vector<Wait> waits = findWaits();
  for (const Wait &wait : waits)
    if (!isWaiting(wait.missing))
      return faultError("rank {} stopped before {}: rank {} has waited for it for {} s", wait.missing,
                        describe(*wait.call), wait.waiting, timeout.count());
  return faultError("nothing has moved for {} s{}", timeout.count(), describeCircle(waits));
}

std::string Hub::describeCircle(const std::vector<Wait> &waits) {
  std::string text;
  for (const Wait &wait : waits)
    text += fmt::format("; {} waits for rank {}", describe(wait.waiting, *wait.call), wait.missing);
  return text;
}

/// Reports a failure if a thread waits and none runs, so that none can come.
void Hub::checkProgress() {
  if (running != 0 || !failure.ok())
    return;
  std::vector<Wait> waits = findWaits();
  for (const Wait &wait : waits)
    if (!isWaiting(wait.missing))
      return abort(faultError("{} waits for rank {}, which is not coming: every rank waits or has finished",
                              describe(wait.waiting, *wait.call), wait.missing));
  if (!waits.empty())
    abort(faultError("ranks wait for each other{}", describeCircle(waits)));
}

void Hub::abort(Status status) {
  if (!failure.ok())
    return;
  failure = std::move(status);
  for (auto &[members, group] : groups)
    group->released.notify_all();
  failed(failure);
}
