//===- Arena.h - packs buffers with lifetimes into one arena -----*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_MEMORY_ARENA_H
#define MESHWRIGHT_MEMORY_ARENA_H

#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>
#include <utility>

namespace meshwright::schedule {

/// Buffers with sizes and lifetimes; the layout has to keep buffers apart in memory that live at the same time.
struct ArenaProblem {
  struct Buffer {
    int64_t bytes = 0;
    /// The first and the last step that use the buffer, both included.
    int64_t first = 0, last = 0;
  };
  llvm::SmallVector<Buffer> buffers;
  int64_t alignment = 64;

  /// The bytes that live at the busiest step: a lower bound for every layout.
  int64_t getLowerBound() const;
};

struct ArenaLayout {
  llvm::SmallVector<int64_t> offsets;
  int64_t bytes = 0;
};

/// Returns the smallest of several layouts: by first step into the smallest gap that fits, and, as often as time
/// permits, into the lowest gap in orders by size, duration, first step and last step, each changed after a layout so
/// that the buffers that ended above the lower bound come first. Most problems of steps reach the bound.
ArenaLayout layOut(const ArenaProblem &problem);

/// Returns a pair of buffers that overlap in time and memory, or a buffer (twice) that is misaligned or ends outside;
/// nullopt if the layout is valid.
std::optional<std::pair<unsigned, unsigned>> findOverlap(const ArenaProblem &problem, const ArenaLayout &layout);

} // namespace meshwright::schedule

#endif
