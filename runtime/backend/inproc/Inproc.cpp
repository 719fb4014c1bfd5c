//===- Inproc.cpp - ranks are threads of one process ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A collective is: meet, work, meet. At the first meeting the members have shown their buffers and descriptions, which
// have to agree; then each does its share in all members' buffers (SharedWork.h); after the second meeting the buffers
// belong to their ranks again. On a modelled link all members then sleep until the link's time is over.
//
// A rank that starts collectives has a second thread, which takes them from a queue (WorkQueue.h).
//
// Ranks that wait sleep on a condition variable, so that many ranks share few cores. When every rank waits or has
// finished, no rank can come any more: that is reported at once, and an error on one rank releases all.
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Inproc.h"
#include "meshwright/runtime/Hub.h"
#include "meshwright/runtime/Reduce.h"
#include "meshwright/runtime/SharedWork.h"
#include "meshwright/runtime/ThreadTime.h"
#include <algorithm>
#include <cstring>
#include <functional>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::runtime::inproc;

namespace {

/// The state that the ranks share.
struct Shared {
  Hub hub;
  std::optional<LinkModel> link;
  bool profiling = false;
};

/// Done by the thread that asks for it.
class ThreadWork : public SharedWork {
public:
  explicit ThreadWork(const CollectiveCall &call)
      : SharedWork(call.members.size()), reduceFn(getReduceFn(call.reduction, call.type)) {}

private:
  Status reduce(std::span<const std::byte *const> inputs, std::span<std::byte *const> outputs, uint64_t begin,
                uint64_t end) override {
    reduceFn(inputs, outputs, begin, end);
    return {};
  }
  Status copy(std::byte *to, const std::byte *from, uint64_t bytes) override {
    std::memcpy(to, from, bytes);
    return {};
  }

  ReduceFn reduceFn;
};

class InprocCommunicator : public Communicator {
public:
  InprocCommunicator(Shared &shared, int64_t rank)
      : shared(shared), hub(shared.hub), rank(rank),
        queue(hub.getMutex(), [this](uint32_t number) { return run(*collectives[number]); }, &hub) {}
  Result<uint32_t> prepare(CollectiveCall call) override;
  Status connect() override;
  Status execute(uint32_t number) override;
  Status start(uint32_t number) override;
  Status wait(uint32_t number) override { return queue.wait(number); }
  void finishStep(const Status &status) override;
  double getCpuSeconds(uint32_t number) const override { return collectives[number]->cpuSeconds; }
  void setTrace(std::vector<TimeRange> *times) override { trace = times; }

  /// With the hub's lock held.
  void fail(const Status &status) { queue.fail(status); }

private:
  /// A collective with what its execution needs at hand.
  struct Prepared {
    explicit Prepared(CollectiveCall described) : call(std::move(described)), work(call) {}

    CollectiveCall call;
    ThreadWork work;
    Group *group = nullptr;
    uint64_t position = 0; // of this rank in the group
    Clock::duration delay = {};
    double cpuSeconds = 0;
    /// On a modelled link, when it was issued last.
    Clock::time_point issuedAt;
  };
  void stamp(Prepared &prepared) const;
  Status run(Prepared &prepared);
  Status runUntraced(Prepared &prepared);

  Shared &shared;
  Hub &hub;
  int64_t rank;
  std::vector<std::unique_ptr<Prepared>> collectives;
  std::vector<TimeRange> *trace = nullptr;

  /// When the modelled link has done what was issued so far.
  Clock::time_point linkFree;
  WorkQueue queue;
};

class Inproc : public Backend {
public:
  Inproc(int64_t numRanks, const std::optional<LinkModel> &link, double timeoutSeconds)
      : shared{Hub(
                   [this](const Status &failure) {
                     for (auto &communicator : communicators)
                       communicator->fail(failure);
                   },
                   timeoutSeconds),
               link} {
    for (int64_t rank = 0; rank != numRanks; ++rank)
      communicators.push_back(std::make_unique<InprocCommunicator>(shared, rank));
  }

  RankRange getRanks() const override { return {0, static_cast<int64_t>(communicators.size())}; }
  Communicator &getCommunicator(int64_t rank) override { return *communicators[rank]; }

  void beginStep() override {
    Hub::Lock held = shared.hub.lock();
    shared.hub.begin(communicators.size());
  }

  void setProfiling(bool on) override { shared.profiling = on; }

private:
  Shared shared;
  std::vector<std::unique_ptr<InprocCommunicator>> communicators;
};

/// The time of a link for a collective; a group of one sends nothing.
Clock::duration getDelay(const CollectiveCall &call, const LinkModel &link) {
  if (call.members.size() == 1)
    return {};
  double bytes = 0;
  for (const CallPart &part : call.parts)
    bytes += getSentBytes(call.kind, call.members.size(), part.count * getSize(call.type));
  return link.getDuration(bytes);
}

Result<uint32_t> InprocCommunicator::prepare(CollectiveCall described) {
  auto prepared = std::make_unique<Prepared>(std::move(described));
  const CollectiveCall &call = prepared->call;
  auto position = std::find(call.members.begin(), call.members.end(), rank);
  assert(position != call.members.end() && "a rank takes part in its own collectives");
  prepared->position = position - call.members.begin();
  if (shared.link) {
    prepared->delay = getDelay(call, *shared.link);
    wakeInTime();
  }
  if (call.isStarted)
    MW_TRY(queue.startThread(fmt::format("for the communication of rank {}", rank)));
  collectives.push_back(std::move(prepared));
  return queue.addItem();
}

Status InprocCommunicator::connect() {
  std::map<std::vector<int64_t>, Group *> groups;
  for (const auto &prepared : collectives)
    groups.emplace(prepared->call.members, nullptr);
  // Ranks join groups in one order: none waits for a later group before an earlier one is complete.
  for (auto &[members, group] : groups) {
    group = hub.getGroup(members);
    CollectiveCall call;
    call.name = "the first meeting of its group";
    MW_TRY(hub.meet(*group, std::find(members.begin(), members.end(), rank) - members.begin(), call, {}));
    MW_TRY(hub.leave(*group));
  }
  for (const auto &prepared : collectives)
    prepared->group = groups[prepared->call.members];
  return {};
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Status InprocCommunicator::start(uint32_t number) {
  stamp(*collectives[number]);
  return queue.start(number);
}

Status InprocCommunicator::execute(uint32_t number) {
  Prepared &prepared = *collectives[number];
  stamp(prepared);
  if (std::optional<Status> status = queue.performBehind(number))
    return *status;
  return run(prepared);
}

void InprocCommunicator::stamp(Prepared &prepared) const {
  if (shared.link)
    prepared.issuedAt = Clock::now();
}

void InprocCommunicator::finishStep(const Status &status) {
  {
    Hub::Lock held = hub.lock();
    if (!status.ok())
      hub.abort(status);
    hub.pause();
  }
  queue.finish();
}

//===----------------------------------------------------------------------===//
// One collective
//===----------------------------------------------------------------------===//

Status InprocCommunicator::run(Prepared &prepared) {
  if (!trace)
    return runUntraced(prepared);
  TimeRange time{TimeRange::now()};
  Status status = runUntraced(prepared);
  time.end = TimeRange::now();
  trace->push_back(time);
  return status;
}

Status InprocCommunicator::runUntraced(Prepared &prepared) {
  Clock::time_point ready = std::max(prepared.issuedAt, linkFree);
  MW_TRY(hub.meet(*prepared.group, prepared.position, prepared.call, ready));
  Clock::time_point begin = prepared.group->begin;
  double before = shared.profiling ? getThreadSeconds() : 0;
  MW_TRY(prepared.work.perform(prepared.group->calls, prepared.position));
  if (shared.profiling)
    prepared.cpuSeconds = getThreadSeconds() - before;
  MW_TRY(hub.leave(*prepared.group));
  if (prepared.delay == Clock::duration() || shared.profiling)
    return {};
  // By the link's time, not by that of this thread, which may be late: lateness would add up.
  linkFree = begin + prepared.delay;
  {
    Hub::Lock held = hub.lock();
    hub.noteBusy(linkFree);
  }
  sleepUntil(linkFree);
  return {};
}

} // namespace

std::unique_ptr<Backend> meshwright::runtime::createInprocBackend(int64_t numRanks,
                                                                  const std::optional<LinkModel> &link,
                                                                  double timeoutSeconds) {
  return std::make_unique<Inproc>(numRanks, link, timeoutSeconds);
}
