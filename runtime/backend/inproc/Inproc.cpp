//===- Inproc.cpp - ranks are threads of one process ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A collective is: meet, work, meet. At the first meeting the members have shown their buffers and descriptions, which
// have to agree; then each does its share in everybody's buffers (SharedWork.h); after the second meeting the buffers
// belong to their ranks again. On a modelled link everybody then sleeps until the time is over that the link would
// take.
//
// A rank that starts collectives has a second thread, which takes them from a queue in the order of issue:
//
//   rank      ── start 1 ── kernel ── start 2 ── kernel ── wait 1 ── kernel ── wait 2 ──
//   its other      └── meet, work, meet ──┴───── meet, work, meet ────────────────┘
//
// Ranks that wait sleep on a condition variable, so that many ranks share few cores. When every rank waits or has
// finished, nobody can come any more: that is reported at once, and an error on one rank releases all.
//
//===----------------------------------------------------------------------===//

#include "../Reduce.h"
#include "../SharedWork.h"
#include "Hub.h"
#include "meshwright/runtime/StartThread.h"
#include "meshwright/runtime/ThreadTime.h"
#include <algorithm>
#include <cstring>
#include <functional>
#include <thread>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::runtime::inproc;

namespace {

/// What the ranks have in common.
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
  InprocCommunicator(Shared &shared, int64_t rank) : shared(shared), hub(shared.hub), rank(rank) {}
  ~InprocCommunicator() override;
  Result<uint32_t> prepare(CollectiveCall call) override;
  Status connect() override;
  Status execute(uint32_t number) override;
  Status start(uint32_t number) override;
  Status wait(uint32_t number) override;
  void finishStep(const Status &status) override;
  double getCpuSeconds(uint32_t number) const override { return collectives[number]->cpuSeconds; }
  void setTrace(std::vector<TimeRange> *times) override { trace = times; }

  /// The hub has failed: whoever waits here looks at it. With the hub's lock held.
  void release() { done.notify_all(); }

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
    /// Which of the rank's started collectives it is, or was when it was issued last.
    uint64_t ticket = 0;
    /// On a modelled link, when it was issued last.
    Clock::time_point issuedAt;
  };
  Status startThread();
  void serve();
  Status enqueue(Hub::Lock &held, Prepared &prepared);
  Status waitFor(Hub::Lock &held, uint64_t ticket);
  void stamp(Prepared &prepared) const;
  Status run(Prepared &prepared);
  Status runUntraced(Prepared &prepared);

  Shared &shared;
  Hub &hub;
  int64_t rank;
  std::vector<std::unique_ptr<Prepared>> collectives;
  std::vector<TimeRange> *trace = nullptr;

  // Of the communication thread, guarded by the hub's lock. The queue is a ring with a place for every collective.
  /// When the modelled link has done what was issued so far.
  Clock::time_point linkFree;
  std::thread thread;
  std::vector<Prepared *> queue;
  uint64_t issued = 0, taken = 0, completed = 0;
  bool isActive = false, isStopping = false;
  /// The ticket that the rank waits for; 0 while it does not.
  uint64_t wanted = 0;
  std::condition_variable workToDo, done;
};

class Inproc : public Backend {
public:
  Inproc(int64_t numRanks, const std::optional<LinkModel> &link, double timeoutSeconds)
      : shared{Hub(
                   [this] {
                     for (auto &communicator : communicators)
                       communicator->release();
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

/// What a link takes for a collective; nothing travels in a group of one.
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
    MW_TRY(startThread());
  collectives.push_back(std::move(prepared));
  queue.resize(collectives.size());
  return static_cast<uint32_t>(collectives.size() - 1);
}

Status InprocCommunicator::connect() {
  std::map<std::vector<int64_t>, Group *> groups;
  for (const auto &prepared : collectives)
    groups.emplace(prepared->call.members, nullptr);
  // Nobody waits for a later group before an earlier one is there.
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
// The communication thread
//===----------------------------------------------------------------------===//

Status InprocCommunicator::startThread() {
  if (thread.joinable())
    return {};
  return runtime::startThread(thread, fmt::format("for the communication of rank {}", rank), [this] { serve(); });
}

InprocCommunicator::~InprocCommunicator() {
  if (!thread.joinable())
    return;
  {
    Hub::Lock held = hub.lock();
    isStopping = true;
  }
  workToDo.notify_one();
  thread.join();
}

void InprocCommunicator::serve() {
  if (shared.link)
    wakeInTime();
  Hub::Lock held = hub.lock();
  while (true) {
    workToDo.wait(held, [&] { return isStopping || isActive; });
    if (isStopping)
      return;
    while (taken != issued && hub.getFailure().ok()) {
      Prepared &next = *queue[taken++ % queue.size()];
      held.unlock();
      Status status = run(next);
      held.lock();
      if (!status.ok())
        break;
      completed = next.ticket;
      if (wanted != 0 && wanted <= completed) {
        // Counted before this thread stops, so that somebody runs all the time.
        hub.resume();
        wanted = 0;
        done.notify_all();
      }
    }
    taken = issued;
    isActive = false;
    hub.pause();
    done.notify_all();
  }
}

Status InprocCommunicator::enqueue(Hub::Lock &held, Prepared &prepared) {
  assert(held.owns_lock() && thread.joinable() && "announced when it was prepared");
  if (!hub.getFailure().ok())
    return hub.getFailure();
  queue[issued++ % queue.size()] = &prepared;
  prepared.ticket = issued;
  stamp(prepared);
  if (!isActive) {
    isActive = true;
    hub.resume();
    workToDo.notify_one();
  }
  return {};
}

Status InprocCommunicator::waitFor(Hub::Lock &held, uint64_t ticket) {
  if (completed >= ticket)
    return {};
  if (!hub.getFailure().ok())
    return hub.getFailure();
  wanted = ticket;
  hub.pause();
  done.wait(held, [&] { return completed >= ticket || !hub.getFailure().ok(); });
  wanted = 0;
  return completed >= ticket ? Status() : hub.getFailure();
}

Status InprocCommunicator::start(uint32_t number) {
  Hub::Lock held = hub.lock();
  return enqueue(held, *collectives[number]);
}

Status InprocCommunicator::wait(uint32_t number) {
  Hub::Lock held = hub.lock();
  return waitFor(held, collectives[number]->ticket);
}

Status InprocCommunicator::execute(uint32_t number) {
  Prepared &prepared = *collectives[number];
  if (thread.joinable()) {
    // Behind what was started before it.
    Hub::Lock held = hub.lock();
    if (isActive) {
      MW_TRY(enqueue(held, prepared));
      return waitFor(held, prepared.ticket);
    }
  }
  stamp(prepared);
  return run(prepared);
}

void InprocCommunicator::stamp(Prepared &prepared) const {
  if (shared.link)
    prepared.issuedAt = Clock::now();
}

void InprocCommunicator::finishStep(const Status &status) {
  Hub::Lock held = hub.lock();
  if (!status.ok())
    hub.abort(status);
  hub.pause();
  done.wait(held, [&] { return !isActive; });
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
