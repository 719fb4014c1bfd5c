//===- ThreadTime.h - what a thread computes and sleeps ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_THREADTIME_H
#define MESHWRIGHT_RUNTIME_THREADTIME_H

#include <cerrno>
#include <chrono>
#include <ctime>
#include <sys/prctl.h>

namespace meshwright::runtime {

/// CPU time of the calling thread so far, in seconds; others that want the same core do not count.
inline double getThreadSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Lets the calling thread wake up when it asked to, and not up to 50 microseconds later.
inline void wakeInTime() { prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); }

inline void sleepUntil(std::chrono::steady_clock::time_point time) {
  auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch());
  timespec when = {static_cast<time_t>(since.count() / 1000000000), static_cast<long>(since.count() % 1000000000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr) == EINTR)
    ;
}

} // namespace meshwright::runtime

#endif
