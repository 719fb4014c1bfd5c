//===- VirtualTime.h - time that load does not touch ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A clock that advances only while no thread of the process has anything to do, to the next time at which a sleeping
// kernel wakes up. A step then takes as long as it would on ranks whose computation takes exactly what their kernels
// sleep and whose communication takes no time, however busy the machine is; threads that block each other need no help
// to be seen.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_RUNTIME_VIRTUALTIME_H
#define MESHWRIGHT_TEST_UNIT_RUNTIME_VIRTUALTIME_H

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <thread>

namespace meshwright::test {

/// While one exists, the kernel test_sleep of this process sleeps by it. One at a time, of an executable that exports
/// its symbols.
class VirtualTime {
public:
  VirtualTime();
  ~VirtualTime();
  VirtualTime(const VirtualTime &) = delete;
  VirtualTime &operator=(const VirtualTime &) = delete;

  /// Milliseconds since it was made.
  int64_t now();
  void sleep(int64_t milliseconds);

private:
  /// The number of context switches of every thread, as the kernel counts them.
  using Switches = std::map<int, uint64_t>;
  void advance();
  bool isQuiet();
  bool areAsleep(Switches &switches);

  std::mutex mutex;
  std::condition_variable changed;
  int64_t time = 0;
  std::multiset<int64_t> wakeTimes;
  bool isStopping = false;
  int driverThread = 0; ///< that of `driver`, which is never asleep when it looks
  std::thread driver;
};

} // namespace meshwright::test

#endif
