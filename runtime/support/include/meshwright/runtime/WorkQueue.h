//===- WorkQueue.h - asynchronous work beside computation -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_WORKQUEUE_H
#define MESHWRIGHT_RUNTIME_WORKQUEUE_H

#include "meshwright/runtime/Status.h"
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

namespace meshwright::runtime {

/// Counts the threads that can go on, for a caller that has to know when none can. Called with the lock of the queue.
class RunCounter {
public:
  /// A thread runs that did not.
  virtual void resume() = 0;
  /// A thread waits or has finished.
  virtual void pause() = 0;

protected:
  ~RunCounter() = default;
};

/// Asynchronous work that a rank starts and waits for later: collectives, copies. A second thread performs it, one item
/// after the other, in the order of issue:
///
///   rank      ── start 1 ── kernel ── start 2 ── kernel ── wait 1 ── kernel ── wait 2 ──
///   its other      └─── perform 1 ─────┴───── perform 2 ────────────────┘
///
/// Items are numbered before the first is started; the queue is a ring with a place for each, so that nothing is
/// allocated when one is. All functions but `fail` belong to the rank's own thread. An item that fails ends the queue:
/// the later work is not performed.
class WorkQueue {
public:
  using Lock = std::unique_lock<std::mutex>;
  /// `mutex` guards the queue, and may guard what others have in common with it.
  WorkQueue(std::mutex &mutex, std::function<Status(uint32_t)> perform, RunCounter *counter = nullptr)
      : mutex(mutex), perform(std::move(perform)), counter(counter) {}
  WorkQueue(const WorkQueue &) = delete;
  WorkQueue &operator=(const WorkQueue &) = delete;
  /// Returns when everything that was started is over.
  ~WorkQueue();

  /// The number of a new item, from 0.
  uint32_t addItem();
  /// Starts the thread where there is none yet; `purpose` is for the error. Before the first item is started.
  Status startThread(std::string_view purpose);
  bool hasThread() const { return thread.joinable(); }

  /// Issues an item, which is not under way.
  Status start(uint32_t item);
  /// Returns when an item is over if it was ever started, and with it all that were issued before it; or with the
  /// failure that keeps it from that.
  Status wait(uint32_t item);
  /// Does both where anything is under way; else nothing, for then no thread has to be waited for.
  std::optional<Status> performBehind(uint32_t item);
  /// Returns when nothing is under way.
  void finish();

  /// From now on nothing is begun any more, and who waits gets that error. With the lock held, by any thread.
  void fail(const Status &status);

private:
  void serve();
  Status enqueue(uint32_t item);
  Status waitFor(Lock &held, uint64_t ticket);
  void resume() { counter ? counter->resume() : void(); }
  void pause() { counter ? counter->pause() : void(); }

  std::mutex &mutex;
  std::function<Status(uint32_t)> perform;
  RunCounter *counter;
  std::thread thread;

  // Guarded by the mutex. A ticket says which of all that were issued an item is, or was when it was issued last.
  std::vector<uint64_t> tickets;
  std::vector<uint32_t> ring;
  uint64_t issued = 0, taken = 0, completed = 0;
  /// The ticket that the rank waits for; 0 while it does not.
  uint64_t wanted = 0;
  bool isActive = false, isStopping = false;
  Status failure;
  std::condition_variable workToDo, done;
};

} // namespace meshwright::runtime

#endif
