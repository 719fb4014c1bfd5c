//===- ParallelLoops.h - loops that threads share ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_EXECUTE_PARALLELLOOPS_H
#define MESHWRIGHT_RUNTIME_EXECUTE_PARALLELLOOPS_H

#include "package.pb.h"
#include <optional>
#include <vector>

namespace meshwright::runtime {

/// Ranges of the device's arena that iterations use for values of their own, one iteration after the other, and where
/// each lies in a copy of them all.
class PrivatePlaces {
public:
  /// Ranges are added in ascending order.
  void add(uint64_t begin, uint64_t end);
  /// Where the buffer at that offset lies in a copy; nothing if it is in none of the ranges.
  std::optional<uint64_t> find(uint64_t offset) const;
  /// True if a range [begin, end) is in one of the places, or in none.
  bool hasAllOrNothing(uint64_t begin, uint64_t end) const;
  /// The size of a copy.
  uint64_t getBytes() const { return bytes; }

private:
  struct Place {
    uint64_t begin, end, to;
  };
  /// The first place that ends after `offset`.
  std::vector<Place>::const_iterator findNext(uint64_t offset) const;

  std::vector<Place> places;
  uint64_t bytes = 0;
};

/// A loop whose iterations threads do at the same time, each thread neighbouring ones in their order. All threads but
/// the last do so with a copy of the private places. So the last iteration leaves in the arena what it would leave if
/// one thread did them all.
struct ParallelLoop {
  /// The first instruction of each thread's part, and the end of the last.
  std::vector<uint32_t> parts;
  PrivatePlaces places;

  uint32_t getBegin() const { return parts.front(); }
  uint32_t getEnd() const { return parts.back(); }
};

/// The loops of a task that so many threads can share, for a micro-batch: outer ones before those in them, in ascending
/// order. The results of a loop are the same, bit for bit, however its threads are scheduled: no iteration reads a byte
/// that another one writes, unless it has written it before itself.
std::vector<ParallelLoop> findParallelLoops(const Program &program, const Task &task, uint32_t microBatch,
                                            uint32_t numThreads);

} // namespace meshwright::runtime

#endif
