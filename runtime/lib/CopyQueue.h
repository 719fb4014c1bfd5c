//===- CopyQueue.h - copies beside the computation --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_LIB_COPYQUEUE_H
#define MESHWRIGHT_RUNTIME_LIB_COPYQUEUE_H

#include "meshwright/runtime/LinkModel.h"
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace meshwright::runtime {

/// The copies of one rank in one direction between device and host. They take place one after the other, in the order
/// in which they are issued, on a thread of their own. On a modelled link each takes at least the time that it would
/// there; the other direction has a link of its own.
///
/// A copy waits for nobody, so whoever waits for one goes on some time.
class CopyQueue {
public:
  explicit CopyQueue(std::optional<LinkModel> link) : link(link) {}
  CopyQueue(const CopyQueue &) = delete;
  CopyQueue &operator=(const CopyQueue &) = delete;
  /// Returns when everything that was started is over.
  ~CopyQueue();

  /// Describes a copy before the first step. Returns its number. Starts the thread where there is none.
  Result<uint32_t> prepare(std::byte *to, const std::byte *from, uint64_t bytes);
  /// Issues a copy, which is not under way.
  void start(uint32_t number);
  /// Returns when a copy that was started is over.
  void wait(uint32_t number);
  /// Returns when all are.
  void finish();
  /// Whether copies are measured and no link delays them. Called while none is under way.
  void setProfiling(bool on) { profiling = on; }
  /// CPU time of a copy when it was made last, while they are measured.
  double getCpuSeconds(uint32_t number) const { return copies[number].cpuSeconds; }

private:
  using Clock = std::chrono::steady_clock;
  struct Copy {
    std::byte *to;
    const std::byte *from;
    uint64_t bytes;
    double cpuSeconds = 0;
    /// Which of all that were issued it is, or was.
    uint64_t ticket = 0;
    Clock::time_point issuedAt = {};
  };
  void serve();
  void run(Copy &copy);

  std::optional<LinkModel> link;
  bool profiling = false;
  std::vector<Copy> copies;
  /// When the modelled link has done what was issued so far.
  Clock::time_point linkFree;

  // Guarded by the mutex. The queue is a ring with a place for every copy.
  std::mutex mutex;
  std::condition_variable workToDo, done;
  std::vector<uint32_t> queue;
  uint64_t issued = 0, completed = 0;
  bool isStopping = false;
  std::thread thread;
};

} // namespace meshwright::runtime

#endif
