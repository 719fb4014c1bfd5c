//===- CopyQueue.cpp - copies beside the computation ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CopyQueue.h"
#include "meshwright/runtime/StartThread.h"
#include "meshwright/runtime/ThreadTime.h"
#include <cassert>
#include <cstring>

using namespace meshwright::runtime;

CopyQueue::~CopyQueue() {
  if (!thread.joinable())
    return;
  finish();
  {
    std::lock_guard held(mutex);
    isStopping = true;
  }
  workToDo.notify_one();
  thread.join();
}

Result<uint32_t> CopyQueue::prepare(std::byte *to, const std::byte *from, uint64_t bytes) {
  // The thread takes no copy before one is started, which is when all have been described.
  copies.push_back({to, from, bytes});
  queue.resize(copies.size());
  if (thread.joinable())
    return static_cast<uint32_t>(copies.size() - 1);
  MW_TRY(startThread(thread, "for copies between device and host", [this] { serve(); }));
  return 0u;
}

void CopyQueue::start(uint32_t number) {
  {
    std::lock_guard held(mutex);
    Copy &copy = copies[number];
    assert(copy.ticket <= completed && "a copy is started when it is over");
    queue[issued++ % queue.size()] = number;
    copy.ticket = issued;
    if (link)
      copy.issuedAt = Clock::now();
  }
  workToDo.notify_one();
}

void CopyQueue::wait(uint32_t number) {
  std::unique_lock held(mutex);
  done.wait(held, [&] { return completed >= copies[number].ticket; });
}

void CopyQueue::finish() {
  std::unique_lock held(mutex);
  done.wait(held, [&] { return completed == issued; });
}

void CopyQueue::serve() {
  if (link)
    wakeInTime();
  std::unique_lock held(mutex);
  while (true) {
    workToDo.wait(held, [&] { return isStopping || completed != issued; });
    if (isStopping)
      return;
    Copy &copy = copies[queue[completed % queue.size()]];
    held.unlock();
    run(copy);
    held.lock();
    ++completed;
    done.notify_all();
  }
}

void CopyQueue::run(Copy &copy) {
  double before = profiling ? getThreadSeconds() : 0;
  if (copy.bytes != 0)
    std::memcpy(copy.to, copy.from, copy.bytes);
  if (profiling)
    copy.cpuSeconds = getThreadSeconds() - before;
  if (!link || profiling)
    return;
  // By the link's time, not by that of this thread, which may be late: lateness would add up.
  linkFree = std::max(copy.issuedAt, linkFree) + link->getDuration(static_cast<double>(copy.bytes));
  sleepUntil(linkFree);
}
