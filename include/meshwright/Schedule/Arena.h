//===- Arena.h - offsets of buffers in one piece of memory ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_ARENA_H
#define MESHWRIGHT_SCHEDULE_ARENA_H

#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>
#include <utility>

namespace meshwright::schedule {

/// Buffers with sizes and lifetimes, to be laid out so that those that live at the same time do not overlap.
struct ArenaProblem {
  struct Buffer {
    int64_t bytes = 0;
    /// The first and the last step in which it is used, both included.
    int64_t first = 0, last = 0;
  };
  llvm::SmallVector<Buffer> buffers;
  int64_t alignment = 64;

  /// The bytes that live at the busiest step: no layout needs less.
  int64_t getLowerBound() const;
};

struct ArenaLayout {
  llvm::SmallVector<int64_t> offsets;
  int64_t bytes = 0;
};

/// Lays the buffers out: in order of their first step into the smallest gap that fits, and by falling size and by
/// falling duration into the lowest gap; the smallest of the three.
ArenaLayout layOut(const ArenaProblem &problem);

/// The first pair of buffers that overlap in time and memory, or of which one is not aligned or ends outside; nothing
/// where the layout is right.
std::optional<std::pair<unsigned, unsigned>> findOverlap(const ArenaProblem &problem, const ArenaLayout &layout);

} // namespace meshwright::schedule

#endif
