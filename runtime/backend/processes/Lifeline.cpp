//===- Lifeline.cpp - who is alive, and who waits for whom ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lifeline.h"
#include "../Agreement.h"
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
/// The thread looks around that often when nobody writes; when there is a failure, more often.
static constexpr double tickTime = 0.1;
static constexpr double leavingTickTime = 0.01;
/// Processes write that often even if they have nothing to say.
static constexpr double sayTime = 0.25;
/// mpirun ends what is left of a run 1.4 s after a process was killed. Until then somebody has said why.
static constexpr double killedTime = 0.8;
/// After another failure a rank has that time to come to its next collective.
static constexpr double unheardTime = 4;
/// What a process that fails waits for the others at its end.
static constexpr double leaveTime = 5;

//===----------------------------------------------------------------------===//
// Frames
//===----------------------------------------------------------------------===//

namespace {

/// Numbers in front of a text.
template <typename T> struct Packed {
  T numbers;
  std::string text;

  std::string pack() const { return std::string(reinterpret_cast<const char *>(&numbers), sizeof(T)) + text; }
  static Packed unpack(const std::string &bytes) {
    Packed packed{};
    std::memcpy(&packed.numbers, bytes.data(), std::min(bytes.size(), sizeof(T)));
    packed.text = bytes.substr(std::min(bytes.size(), sizeof(T)));
    return packed;
  }
};

struct FailureNumbers {
  int32_t code;
  int32_t gone;
};

struct StateNumbers {
  uint64_t moves;
  int32_t waitsFor;
  uint32_t disagrees;
};

} // namespace

//===----------------------------------------------------------------------===//
// From other threads
//===----------------------------------------------------------------------===//

Lifeline::Lifeline(int process, std::vector<Socket> sockets) : process(process) {
  for (Socket &socket : sockets)
    peers.emplace_back(std::move(socket));
}

Result<std::unique_ptr<Lifeline>> Lifeline::create(int process, std::vector<Socket> sockets) {
  std::unique_ptr<Lifeline> lifeline(new Lifeline(process, std::move(sockets)));
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
  if (gone < 0 || !call)
    return failure;
  bool isMember = std::find(call->members.begin(), call->members.end(), gone) != call->members.end();
  return faultError("rank {} stopped {} {}", gone, isMember ? "before" : "while others were in", describe(*call));
}

void Lifeline::fail(const Status &status) { setFailure(status, -1); }

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

void Lifeline::sayEnd() { sendToAll({End, ""}); }

void Lifeline::leave() {
  sayEnd();
  auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(leaveTime);
  while (!isLeft && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

void Lifeline::setFailure(Status status, int64_t newGone) {
  std::string bytes =
      Packed<FailureNumbers>{{static_cast<int32_t>(status.code()), static_cast<int32_t>(newGone)}, status.message()}
          .pack();
  {
    std::lock_guard guard(mutex);
    if (!failure.ok())
      return;
    failure = std::move(status);
    gone = newGone;
    failed.store(true, std::memory_order_release);
  }
  sendToAll({Failure, bytes});
}

void Lifeline::sendToAll(const Frame &frame) {
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
  bool isOpen;
  {
    std::lock_guard guard(mutex);
    isOpen = peers[peer].connection.receive([&](const Frame &frame) { frames.push_back(frame); });
  }
  peers[peer].heard = now;
  for (const Frame &frame : frames)
    handle(peer, frame);
  if (!isOpen)
    handleEnd(peer);
}

void Lifeline::handle(size_t peer, const Frame &frame) {
  switch (frame.kind) {
  case Failure: {
    auto packed = Packed<FailureNumbers>::unpack(frame.bytes);
    return setFailure(Status(static_cast<Code>(packed.numbers.code), packed.text), packed.numbers.gone);
  }
  case State: {
    auto packed = Packed<StateNumbers>::unpack(frame.bytes);
    return update(peer, {packed.numbers.moves, packed.numbers.waitsFor, packed.numbers.disagrees != 0, packed.text});
  }
  default:
    std::lock_guard guard(mutex);
    peers[peer].hasEnded = true;
  }
}

void Lifeline::handleEnd(size_t peer) {
  if (!peers[peer].hasEnded)
    setFailure(faultError("rank {} stopped", peer), static_cast<int64_t>(peer));
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
  StateNumbers numbers{activity.moves, static_cast<int32_t>(activity.waitsFor), activity.disagrees};
  sendToAll({State, Packed<StateNumbers>{numbers, activity.collective}.pack()});
  said = now;
  saidActivity = std::move(activity);
}

//===----------------------------------------------------------------------===//
// What to make of it
//===----------------------------------------------------------------------===//

Status Lifeline::describeStandstill(size_t first) const {
  // Whoever does not answer is where the others wait in the end, whatever it said last.
  std::vector<bool> seen(peers.size());
  size_t before = first, at = first;
  while (!seen[at] && !isSilent(at) && peers[at].activity.waitsFor >= 0) {
    seen[at] = true;
    before = std::exchange(at, static_cast<size_t>(peers[at].activity.waitsFor));
  }
  const std::string &collective = peers[before].activity.collective;
  if (seen[at])
    return faultError("ranks wait for each other for ever: rank {} waits for rank {} in {}, rank {} for rank {} in {}",
                      before, at, collective, at, peers[at].activity.waitsFor, peers[at].activity.collective);
  return describeStop(at, collective, before, !isSilent(at));
}

Status Lifeline::describeStop(size_t stopped, const std::string &collective, size_t waiting, bool isAlive) const {
  return faultError("rank {} stopped before {}: rank {} waits for it, nothing has moved for {} s, and its process {}",
                    stopped, collective, waiting, timeout.load(), isAlive ? "is alive" : "does not answer");
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
      return fail(faultError("rank {}: {} waits for rank {}, which is not coming: its process has ended", i,
                             activity.collective, activity.waitsFor));
    if (activity.disagrees && !other.activity.collective.empty())
      return fail(faultError("rank {}: {} meets rank {}: {}", i, activity.collective, activity.waitsFor,
                             other.activity.collective));
    // It is in no collective: between steps, or ahead.
    if (activity.disagrees && waited > 2 * sayTime)
      return fail(faultError("rank {}: {} waits for rank {}, which is not coming: it does something else", i,
                             activity.collective, activity.waitsFor));
    if (timeout > 0 && waited >= timeout && now - moved >= timeout)
      return fail(describeStandstill(i));
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
  fail(describeStop(0, activity.collective, process, false));
}

void Lifeline::setLastWords(std::function<void(const Status &)> say) {
  std::lock_guard guard(mutex);
  lastWords = std::move(say);
}

/// Nobody in this process has asked whether all is well: its rank computes, or stands in a library. It ends here.
void Lifeline::endUnheard() {
  if (!hasFailed() || isTaken)
    return;
  bool isKilled = [&] {
    std::lock_guard guard(mutex);
    return gone >= 0;
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
  // First the one line that has to come before mpirun ends this process.
  fmt::print(stderr, "{} (process {}): error: {}\n", program_invocation_short_name, process, status.message());
  if (say)
    say(status);
  std::_Exit(static_cast<int>(status.code()));
}
