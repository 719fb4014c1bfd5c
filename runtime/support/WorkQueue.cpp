//===- WorkQueue.cpp - asynchronous work beside a rank's computation ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/WorkQueue.h"
#include "meshwright/runtime/StartThread.h"
#include "meshwright/runtime/ThreadTime.h"
#include <cassert>

using namespace meshwright::runtime;

WorkQueue::~WorkQueue() {
  if (!hasThread())
    return;
  {
    Lock held(mutex);
    isStopping = true;
  }
  workToDo.notify_one();
  thread.join();
}

uint32_t WorkQueue::addItem() {
  tickets.push_back(0);
  ring.resize(tickets.size());
  return static_cast<uint32_t>(tickets.size() - 1);
}

Status WorkQueue::startThread(std::string_view purpose) {
  return hasThread() ? Status() : runtime::startThread(thread, purpose, [this] { serve(); });
}

//===----------------------------------------------------------------------===//
// The rank's own thread
//===----------------------------------------------------------------------===//

Status WorkQueue::enqueue(uint32_t item) {
  MW_TRY(failure);
  assert(hasThread() && tickets[item] <= completed && "an item is started when its thread is there and it is over");
  ring[issued++ % ring.size()] = item;
  tickets[item] = issued;
  if (!isActive) {
    isActive = true;
    resume();
    workToDo.notify_one();
  }
  return {};
}

Status WorkQueue::waitFor(Lock &held, uint64_t ticket) {
  if (completed >= ticket)
    return {};
  MW_TRY(failure);
  wanted = ticket;
  pause();
  done.wait(held, [&] { return completed >= ticket || !failure.ok(); });
  wanted = 0;
  return completed >= ticket ? Status() : failure;
}

Status WorkQueue::start(uint32_t item) {
  Lock held(mutex);
  return enqueue(item);
}

Status WorkQueue::wait(uint32_t item) {
  Lock held(mutex);
  return waitFor(held, tickets[item]);
}

std::optional<Status> WorkQueue::performBehind(uint32_t item) {
  if (!hasThread())
    return std::nullopt;
  Lock held(mutex);
  if (!isActive)
    return std::nullopt;
  Status status = enqueue(item);
  return status.ok() ? waitFor(held, tickets[item]) : status;
}

void WorkQueue::finish() {
  Lock held(mutex);
  done.wait(held, [&] { return !isActive; });
}

void WorkQueue::fail(const Status &status) {
  if (failure.ok())
    failure = status;
  done.notify_all();
}

//===----------------------------------------------------------------------===//
// The thread that performs the work
//===----------------------------------------------------------------------===//

void WorkQueue::serve() {
  // Performing may be sleeping, on a modelled link or for messages.
  wakeInTime();
  Lock held(mutex);
  while (true) {
    workToDo.wait(held, [&] { return isStopping || isActive; });
    if (!isActive)
      return;
    while (taken != issued && failure.ok()) {
      uint32_t item = ring[taken++ % ring.size()];
      held.unlock();
      Status status = perform(item);
      held.lock();
      if (!status.ok()) {
        fail(status);
        break;
      }
      completed = tickets[item];
      if (wanted != 0 && wanted <= completed) {
        // Counted before this thread stops, so that at least one thread counts as running all the time.
        resume();
        wanted = 0;
        done.notify_all();
      }
    }
    taken = issued;
    isActive = false;
    pause();
    done.notify_all();
  }
}
