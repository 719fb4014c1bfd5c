//===- ThreadTime.h - what a thread has computed ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_THREADTIME_H
#define MESHWRIGHT_RUNTIME_THREADTIME_H

#include <ctime>

namespace meshwright::runtime {

/// CPU time of the calling thread so far, in seconds; others that want the same core do not count.
inline double getThreadSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

} // namespace meshwright::runtime

#endif
