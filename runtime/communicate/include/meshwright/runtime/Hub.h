//===- Hub.h - where ranks of one process meet ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads that take part in a step are counted: each rank's own, and its communication thread while there is work in
// its queue. A thread that waits is not running; when none runs, none can come any more. Where one runs but does not
// come, the waiting ones lose patience after a time in which nothing moved. One lock guards all of this; it is held for
// a few instructions.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_HUB_H
#define MESHWRIGHT_RUNTIME_HUB_H

#include "meshwright/runtime/Communicator.h"
#include "meshwright/runtime/WorkQueue.h"
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>

namespace meshwright::runtime::inproc {

using Clock = std::chrono::steady_clock;

/// The ranks of one group and their meeting place.
struct Group {
  std::vector<int64_t> members;
  /// Each member's call of the collective that is under way; null while the member is not there.
  std::vector<const CollectiveCall *> calls;
  uint64_t arrived = 0;
  uint64_t generation = 0;
  /// When all who have come to the next meeting were ready, and all to the one that is under way.
  Clock::time_point ready, begin;
  std::condition_variable released;
};

class Hub final : public RunCounter {
public:
  /// Those who wait outside of groups: `failed` is called, with the lock held, when nothing will come any more.
  Hub(std::function<void(const Status &)> failed, double timeoutSeconds)
      : failed(std::move(failed)), timeout(timeoutSeconds) {}

  using Lock = std::unique_lock<std::mutex>;
  Lock lock() { return Lock(mutex); }
  /// For those who share the lock.
  std::mutex &getMutex() { return mutex; }

  /// The group of those ranks, made when it is asked for first.
  Group *getGroup(const std::vector<int64_t> &members);
  /// The first meeting of a collective: all members show their calls, which have to agree. It begins when the last of
  /// them was `ready`, whenever that one's thread got to run.
  Status meet(Group &group, uint64_t position, const CollectiveCall &call, Clock::time_point ready);
  /// The second meeting: all members are done with each other's buffers.
  Status leave(Group &group);

  // With the lock held:

  void begin(size_t ranks) { running = ranks; }
  void resume() override { ++running; }
  /// A failure if that was the last running thread and another one waits.
  void pause() override;
  void abort(Status status);
  /// A modelled link is busy until then, which is no reason to lose patience.
  void noteBusy(Clock::time_point until) { lastMove = std::max(lastMove, until); }
  const Status &getFailure() const { return failure; }

private:
  Status wait(Lock &lock, Group &group);
  void checkProgress();
  /// The first member of a group that has come to a collective, and one that has not.
  struct Wait {
    int64_t waiting, missing;
    const CollectiveCall *call;
  };
  std::vector<Wait> findWaits() const;
  bool isWaiting(int64_t rank) const;
  Status describeStop() const;
  static std::string describeCircle(const std::vector<Wait> &waits);

  std::mutex mutex;
  std::function<void(const Status &)> failed;
  std::chrono::duration<double> timeout;
  /// When a meeting took place last.
  Clock::time_point lastMove;
  std::map<std::vector<int64_t>, std::unique_ptr<Group>> groups;
  size_t running = 0;
  Status failure;
};

} // namespace meshwright::runtime::inproc

#endif
