//===- CopyQueue.h - copies beside the computation --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CPU_COPYQUEUE_H
#define MESHWRIGHT_RUNTIME_DEVICES_CPU_COPYQUEUE_H

#include "meshwright/runtime/LinkModel.h"
#include "meshwright/runtime/WorkQueue.h"
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

namespace meshwright::runtime {

/// The copies of one rank in one direction between device and host. They take place one after the other, in the order
/// in which they are issued, on a thread of their own. On a modelled link each takes at least the time that it would
/// there; the other direction has a link of its own.
///
/// A copy waits for nothing, so that a wait for one always ends.
class CopyQueue {
public:
  explicit CopyQueue(std::optional<LinkModel> link)
      : link(link), queue(mutex, [this](uint32_t number) { return run(copies[number]); }) {}

  /// Describes a copy before the first step. Returns its number. Starts the thread where there is none.
  Result<uint32_t> prepare(std::byte *to, const std::byte *from, uint64_t bytes);
  /// Issues a copy, which is not under way.
  Status start(uint32_t number);
  /// Returns when a copy that was started is over.
  Status wait(uint32_t number) { return queue.wait(number); }
  /// Returns when all are.
  void finish() { queue.finish(); }
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
    Clock::time_point issuedAt = {};
  };
  Status run(Copy &copy);

  std::optional<LinkModel> link;
  bool profiling = false;
  std::vector<Copy> copies;
  /// When the modelled link has done what was issued so far.
  Clock::time_point linkFree;
  std::mutex mutex;
  /// After the members that it uses, so that copies are over before those are destroyed.
  WorkQueue queue;
};

} // namespace meshwright::runtime

#endif
