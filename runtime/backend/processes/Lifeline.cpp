//===- Lifeline.cpp - who is alive, and who waits for whom ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One thread per process serves the connections: it reads what the others report, reports this process's wait from
// time to time, and decides, on the first process, which rank a standstill is due to. Ranks touch only flags and a
// wait's description, so that a step neither locks nor allocates for it.
//
//===----------------------------------------------------------------------===//

#include "Lifeline.h"
#include "meshwright/runtime/Agreement.h"
#include "meshwright/runtime/StartThread.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

using namespace meshwright::runtime;
using namespace meshwright::runtime::processes;

// In seconds.
/// The period of the thread when no process writes; shorter after a failure.
static constexpr double tickTime = 0.1;
static constexpr double leavingTickTime = 0.01;
/// Processes write that often even if they have nothing to say.
static constexpr double sayTime = 0.25;
/// mpirun ends what is left of a run 1.4 s after a process was killed. Until then a process has reported the reason.
static constexpr double killedTime = 0.8;
/// After another failure a rank has that time to come to its next collective.
static constexpr double unheardTime = 4;
/// The time that a process that fails waits for the others at its end.
static constexpr double leaveTime = 5;

//===----------------------------------------------------------------------===//
// From other threads
//===----------------------------------------------------------------------===//

Lifeline::Lifeline(int process, int64_t numProcesses, std::vector<Socket> sockets)
    : process(process), numProcesses(numProcesses) {
  for (Socket &socket : sockets)
    peers.emplace_back(std::move(socket));
}

Result<std::unique_ptr<Lifeline>> Lifeline::create(int process, int64_t numProcesses, std::vector<Socket> sockets) {
  std::unique_ptr<Lifeline> lifeline(new Lifeline(process, numProcesses, std::move(sockets)));
  MW_TRY(lifeline->start());
  return lifeline;
}

Status Lifeline::start() {
  wakeUp = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wakeUp < 0)
    return faultError("the system gives no event: {}", std::strerror(errno));
  tick = std::chrono::steady_clock::now();
  return startThread(thread, "that watches the other processes", [this] { serve(); });
}

Lifeline::~Lifeline() {
  isStopping = true;
  if (thread.joinable()) {
    eventfd_write(wakeUp, 1);
    thread.join();
  }
  if (wakeUp >= 0)
    close(wakeUp);
}

Status Lifeline::takeFailure(const CollectiveCall *call) {
  if (!hasFailed())
    return {};
  isTaken = true;
  std::lock_guard guard(mutex);
  if (!failure.isEnd || !call)
    return failure.status;
  int64_t gone = failure.origin;
  bool isMember = std::find(call->members.begin(), call->members.end(), gone) != call->members.end();
  return faultError("rank {} stopped {} {}", gone, isMember ? "before" : "while others were in", describe(*call));
}

std::optional<FailedProcess> Lifeline::getFailedProcess() const {
  std::lock_guard guard(mutex);
  if (failure.origin < 0)
    return std::nullopt;
  return FailedProcess{failure.origin, failure.isSilent || failure.isEnd};
}

void Lifeline::beginWait(const CollectiveCall &call, int64_t newWaitsFor, bool newDisagrees) {
  std::lock_guard guard(mutex);
  waitingIn = &call;
  waitsFor = newWaitsFor;
  disagrees = newDisagrees;
}

void Lifeline::endWait() {
  std::lock_guard guard(mutex);
  waitingIn = nullptr;
}

void Lifeline::sayEnd() { sendToAll(End{}); }

void Lifeline::leave() {
  sayEnd();
  auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(leaveTime);
  while (!isLeft && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

void Lifeline::setFailure(Failure newFailure) {
  {
    std::lock_guard guard(mutex);
    if (!failure.status.ok())
      return;
    failure = newFailure;
    failed.store(true, std::memory_order_release);
  }
  sendToAll(newFailure);
}

/// The first process's report has precedence over this one's finding, which may follow from it.
void Lifeline::adopt(Failure newFailure) {
  std::lock_guard guard(mutex);
  failure = std::move(newFailure);
  failed.store(true, std::memory_order_release);
}

void Lifeline::sendToAll(const LifelineMessage &message) {
  Frame frame = pack(message);
  std::lock_guard guard(mutex);
  for (Peer &peer : peers)
    peer.connection.send(frame);
}

//===----------------------------------------------------------------------===//
// The thread
//===----------------------------------------------------------------------===//

void Lifeline::serve() {
  std::vector<pollfd> wanted;
  while (!isStopping) {
    wanted.assign(1, {wakeUp, POLLIN, 0});
    // The system does not look at descriptors below 0.
    for (const Peer &peer : peers)
      wanted.push_back({peer.connection.get(), POLLIN, 0});
    poll(wanted.data(), wanted.size(), static_cast<int>((hasFailed() ? leavingTickTime : tickTime) * 1000));
    passTime();
    for (size_t peer = 0; peer != peers.size(); ++peer)
      if (wanted[peer + 1].revents != 0)
        read(peer);
    sayActivity();
    if (process == 0)
      judge();
    else
      judgeFirst();
    isLeft = std::none_of(peers.begin(), peers.end(), [&](const Peer &peer) { return isThere(peer); });
    endUnheard();
  }
}

void Lifeline::passTime() {
  auto before = std::exchange(tick, std::chrono::steady_clock::now());
  now += std::min(std::chrono::duration<double>(tick - before).count(), 3 * tickTime);
}

void Lifeline::read(size_t peer) {
  std::vector<Frame> frames;
  Result<bool> isOpen = true;
  {
    std::lock_guard guard(mutex);
    isOpen = peers[peer].connection.receive([&](const Frame &frame) { frames.push_back(frame); });
  }
  peers[peer].heard = now;
  for (const Frame &frame : frames)
    if (Status status = handle(peer, frame); !status.ok())
      return handleNonsense(peer, status);
  if (!isOpen.ok())
    handleNonsense(peer, isOpen.status());
  else if (!*isOpen)
    handleEnd(peer);
}

Status Lifeline::handle(size_t peer, const Frame &frame) {
  MW_TRY_ASSIGN(LifelineMessage message, unpack(frame, numProcesses));
  if (auto *said = std::get_if<Failure>(&message)) {
    if (process == 0)
      setFailure(std::move(*said));
    else
      adopt(std::move(*said));
  } else if (auto *activity = std::get_if<Activity>(&message)) {
    update(peer, std::move(*activity));
  } else {
    std::lock_guard guard(mutex);
    peers[peer].hasEnded = true;
  }
  return {};
}

/// Data from there is not from a process of this run, or no longer.
void Lifeline::handleNonsense(size_t peer, const Status &status) {
  setFailure({faultError("process {} says what no process says: {}", peer, status.message()),
              static_cast<int64_t>(peer), /*isSilent=*/true});
}

void Lifeline::handleEnd(size_t peer) {
  if (!peers[peer].hasEnded)
    setFailure({faultError("rank {} stopped", peer), static_cast<int64_t>(peer), /*isSilent=*/true, /*isEnd=*/true});
}

Activity Lifeline::getActivity() {
  std::lock_guard guard(mutex);
  uint64_t moved = moves.load(std::memory_order_relaxed);
  return waitingIn ? Activity{moved, waitsFor, disagrees, describe(*waitingIn)} : Activity{moved};
}

void Lifeline::update(size_t process, Activity activity) {
  Peer &peer = peers[process];
  if (activity.moves != peer.activity.moves)
    moved = now;
  if (activity != peer.activity)
    peer.since = now;
  peer.activity = std::move(activity);
}

void Lifeline::sayActivity() {
  Activity activity = getActivity();
  if (process == 0)
    update(0, activity);
  if (now - said < sayTime && (process == 0 || activity == saidActivity))
    return;
  sendToAll(activity);
  said = now;
  saidActivity = std::move(activity);
}

//===----------------------------------------------------------------------===//
// Conclusions
//===----------------------------------------------------------------------===//

Failure Lifeline::describeStandstill(size_t first) const {
  // A process that does not answer is the one the others wait for in the end, whatever it said last.
  std::vector<bool> seen(peers.size());
  size_t before = first, at = first;
  while (!seen[at] && !isSilent(at) && peers[at].activity.waitsFor >= 0) {
    seen[at] = true;
    before = std::exchange(at, static_cast<size_t>(peers[at].activity.waitsFor));
  }
  const std::string &collective = peers[before].activity.collective;
  if (!seen[at])
    return describeStop(at, collective, before, !isSilent(at));
  return {faultError("ranks wait for each other for ever: rank {} waits for rank {} in {}, rank {} for rank {} in {}",
                     before, at, collective, at, peers[at].activity.waitsFor, peers[at].activity.collective)};
}

Failure Lifeline::describeStop(size_t stopped, const std::string &collective, size_t waiting, bool isAlive) const {
  return {faultError("rank {} stopped before {}: rank {} waits for it, nothing has moved for {} s, and its process {}",
                     stopped, collective, waiting, timeout.load(), isAlive ? "is alive" : "does not answer"),
          static_cast<int64_t>(stopped), /*isSilent=*/true};
}

void Lifeline::judge() {
  if (hasFailed())
    return;
  for (size_t i = 0; i != peers.size(); ++i) {
    const Activity &activity = peers[i].activity;
    if (activity.waitsFor < 0)
      continue;
    const Peer &other = peers[activity.waitsFor];
    double waited = now - peers[i].since;
    if (other.hasEnded && waited > 2 * tickTime)
      return setFailure({faultError("rank {}: {} waits for rank {}, which is not coming: its process has ended", i,
                                    activity.collective, activity.waitsFor),
                         activity.waitsFor, /*isSilent=*/true});
    if (activity.disagrees && !other.activity.collective.empty())
      return setFailure({faultError("rank {}: {} meets rank {}: {}", i, activity.collective, activity.waitsFor,
                                    other.activity.collective)});
    // It is in no collective: between steps, or ahead.
    if (activity.disagrees && waited > 2 * sayTime)
      return setFailure({faultError("rank {}: {} waits for rank {}, which is not coming: it does something else", i,
                                    activity.collective, activity.waitsFor)});
    if (timeout > 0 && waited >= timeout && now - moved >= timeout)
      return setFailure(describeStandstill(i));
  }
}

/// The first process cannot say of itself that it stands still.
void Lifeline::judgeFirst() {
  if (hasFailed() || timeout == 0)
    return;
  Activity activity = getActivity();
  if (activity.waitsFor < 0 || activity.moves != saidActivity.moves)
    peers[0].since = now;
  double limit = std::max(timeout.load(), 2.0);
  if (now - peers[0].since < limit || now - peers[0].heard < limit)
    return;
  setFailure(describeStop(0, activity.collective, process, false));
}

void Lifeline::setLastWords(std::function<void(const Status &)> say) {
  std::lock_guard guard(mutex);
  lastWords = std::move(say);
}

/// The rank of this process has not asked for the state of the run: it computes, or is in a library. It ends here.
void Lifeline::endUnheard() {
  if (!hasFailed() || isTaken)
    return;
  bool isKilled = [&] {
    std::lock_guard guard(mutex);
    return failure.isEnd;
  }();
  if (failedAt == 0)
    failedAt = now;
  if (now - failedAt < (isKilled ? killedTime : unheardTime))
    return;
  Status status = takeFailure();
  std::function<void(const Status &)> say;
  {
    std::lock_guard guard(mutex);
    say = lastWords;
  }
  if (say)
    say(status);
  else
    fmt::print(stderr, "{} (process {}): error: {}\n", program_invocation_short_name, process, status.message());
  std::_Exit(static_cast<int>(status.code()));
}
