//===- RangeSet.h - numbers as ranges ---------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_RANGESET_H
#define MESHWRIGHT_RUNTIME_RANGESET_H

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace meshwright::runtime {

/// A set of numbers, such as the bytes of an arena, kept as ranges [begin, end) of which no two touch. Each operation
/// takes the logarithm of the number of ranges, and constant time for every range that it takes away.
class RangeSet {
public:
  void add(uint64_t begin, uint64_t end) {
    if (begin >= end)
      return;
    auto next = ends.upper_bound(begin);
    if (next != ends.begin() && std::prev(next)->second >= begin) {
      --next;
      begin = next->first;
    }
    while (next != ends.end() && next->first <= end) {
      end = std::max(end, next->second);
      next = ends.erase(next);
    }
    ends.emplace_hint(next, begin, end);
  }

  void remove(uint64_t begin, uint64_t end) {
    if (begin >= end)
      return;
    auto next = ends.upper_bound(begin);
    if (next != ends.begin())
      --next;
    while (next != ends.end() && next->first < end) {
      auto [first, last] = *next;
      if (last <= begin) {
        ++next;
        continue;
      }
      next = ends.erase(next);
      if (first < begin)
        ends[first] = begin;
      if (last > end)
        ends[end] = last;
    }
  }

  bool overlaps(uint64_t begin, uint64_t end) const {
    auto next = ends.lower_bound(end);
    return begin < end && next != ends.begin() && std::prev(next)->second > begin;
  }

  /// True if all of [begin, end) is in the set.
  bool contains(uint64_t begin, uint64_t end) const {
    auto next = ends.upper_bound(begin);
    return begin >= end || (next != ends.begin() && std::prev(next)->second >= end);
  }

  /// The end of each range by its begin.
  const std::map<uint64_t, uint64_t> &getEnds() const { return ends; }

private:
  std::map<uint64_t, uint64_t> ends;
};

} // namespace meshwright::runtime

#endif
