//===- Watchdog.cpp - ends what does not end by itself --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Watchdog.h"
#include "Interrupt.h"
#include "meshwright/runtime/StartThread.h"
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

using namespace meshwright::runtime;
using namespace meshwright::tool;

using Clock = std::chrono::steady_clock;

Watchdog::Watchdog(double patience, std::function<void(const Status &)> end, std::function<void()> interrupt)
    : patience(patience), end(std::move(end)), interrupt(std::move(interrupt)), wake(eventfd(0, EFD_CLOEXEC)) {
  // If the system has no descriptor or thread left, the run goes on without a watchdog.
  if (wake < 0)
    return;
  if (startThread(thread, "that watches the run", [this] { serve(); }).ok())
    wakeAtInterrupts(wake);
}

Watchdog::~Watchdog() {
  wakeAtInterrupts(-1);
  if (thread.joinable()) {
    {
      std::lock_guard lock(mutex);
      isOver = true;
    }
    eventfd_write(wake, 1);
    thread.join();
  }
  if (wake >= 0)
    close(wake);
}

void Watchdog::fail(const Status &status) {
  {
    std::lock_guard lock(mutex);
    if (!failure.ok())
      return;
    failure = status;
  }
  if (wake >= 0)
    eventfd_write(wake, 1);
}

void Watchdog::serve() {
  std::optional<Clock::time_point> deadline;
  bool hasInterrupted = false;
  while (true) {
    int timeout = -1;
    if (deadline)
      timeout = static_cast<int>(std::max<int64_t>(
          0, std::chrono::duration_cast<std::chrono::milliseconds>(*deadline - Clock::now()).count() + 1));
    pollfd descriptor = {wake, POLLIN, 0};
    if (poll(&descriptor, 1, timeout) > 0) {
      eventfd_t count;
      eventfd_read(wake, &count);
    }
    std::unique_lock lock(mutex);
    if (isOver)
      return;
    if (!failure.ok() && !deadline)
      deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(patience));
    Status status = failure;
    lock.unlock();
    if (isInterrupted() && !std::exchange(hasInterrupted, true))
      interrupt();
    if (deadline && Clock::now() >= *deadline) {
      end(status);
      _exit(static_cast<int>(status.code()));
    }
  }
}
