//===- Arena.cpp - packs buffers with lifetimes into one arena ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packing of buffers with lifetimes is the offline dynamic storage allocation problem, which is NP-hard. Three greedy
// orders are tried and the smallest result is taken; `findOverlap` checks layouts independently of these.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Memory/Arena.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <numeric>
#include <set>

using namespace llvm;
using namespace meshwright::schedule;

/// Above this number of buffers only the first strategy, which is not quadratic, is tried.
static constexpr size_t kMaxBySize = 6000;

int64_t ArenaProblem::getLowerBound() const {
  SmallVector<std::pair<int64_t, int64_t>> events;
  for (const Buffer &buffer : buffers) {
    int64_t bytes = alignTo(buffer.bytes, alignment);
    events.push_back({buffer.first, bytes});
    events.push_back({buffer.last + 1, -bytes});
  }
  sort(events);
  int64_t live = 0, most = 0;
  for (auto [step, bytes] : events)
    most = std::max(most, live += bytes);
  return most;
}

/// The numbers below `size` by rising key, equal ones in order.
static SmallVector<unsigned> getOrder(size_t size, function_ref<int64_t(unsigned)> key) {
  SmallVector<unsigned> order(size);
  std::iota(order.begin(), order.end(), 0);
  sort(order, [&](unsigned left, unsigned right) {
    return std::make_pair(key(left), left) < std::make_pair(key(right), right);
  });
  return order;
}

namespace {

/// Free memory as ranges by offset; the last is open.
class FreeList {
public:
  int64_t take(int64_t bytes) {
    auto best = ranges.end();
    for (auto range = ranges.begin(); range != ranges.end(); ++range)
      if (range->second >= bytes && (best == ranges.end() || range->second < best->second))
        best = range;
    if (best == ranges.end()) {
      // The open end begins after the last range, or with it where that ends at the top.
      int64_t offset = top;
      if (!ranges.empty() && ranges.rbegin()->first + ranges.rbegin()->second == top) {
        offset = ranges.rbegin()->first;
        ranges.erase(std::prev(ranges.end()));
      }
      top = offset + bytes;
      return offset;
    }
    auto [offset, size] = *best;
    ranges.erase(best);
    if (size > bytes)
      ranges[offset + bytes] = size - bytes;
    return offset;
  }

  void release(int64_t offset, int64_t bytes) {
    auto after = ranges.lower_bound(offset);
    if (after != ranges.end() && after->first == offset + bytes) {
      bytes += after->second;
      after = ranges.erase(after);
    }
    if (after != ranges.begin()) {
      auto before = std::prev(after);
      if (before->first + before->second == offset) {
        before->second += bytes;
        return;
      }
    }
    ranges[offset] = bytes;
  }

  int64_t top = 0;

private:
  std::map<int64_t, int64_t> ranges;
};

} // namespace

static ArenaLayout layOutInOrder(const ArenaProblem &problem) {
  ArenaLayout layout{SmallVector<int64_t>(problem.buffers.size(), 0), 0};
  auto order = getOrder(problem.buffers.size(), [&](unsigned index) { return problem.buffers[index].first; });
  FreeList free;
  std::set<std::pair<int64_t, unsigned>> live;
  for (unsigned index : order) {
    const ArenaProblem::Buffer &buffer = problem.buffers[index];
    while (!live.empty() && live.begin()->first < buffer.first) {
      unsigned dead = live.begin()->second;
      free.release(layout.offsets[dead], alignTo(problem.buffers[dead].bytes, problem.alignment));
      live.erase(live.begin());
    }
    int64_t bytes = alignTo(buffer.bytes, problem.alignment);
    if (bytes == 0)
      continue;
    layout.offsets[index] = free.take(bytes);
    live.insert({buffer.last, index});
  }
  layout.bytes = free.top;
  return layout;
}

/// One buffer after the other by rising key, each as low as it fits.
static ArenaLayout layOutLow(const ArenaProblem &problem, function_ref<int64_t(unsigned)> key) {
  ArenaLayout layout{SmallVector<int64_t>(problem.buffers.size(), 0), 0};
  auto order = getOrder(problem.buffers.size(), key);
  /// The buffers placed so far, by offset.
  std::multimap<int64_t, unsigned> placed;
  for (unsigned index : order) {
    const ArenaProblem::Buffer &buffer = problem.buffers[index];
    int64_t bytes = alignTo(buffer.bytes, problem.alignment), offset = 0;
    if (bytes == 0)
      continue;
    for (auto [start, other] : placed) {
      const ArenaProblem::Buffer &there = problem.buffers[other];
      if (there.last < buffer.first || buffer.last < there.first)
        continue;
      if (offset + bytes <= start)
        break;
      offset = std::max<int64_t>(offset, start + alignTo(there.bytes, problem.alignment));
    }
    layout.offsets[index] = offset;
    layout.bytes = std::max(layout.bytes, offset + bytes);
    placed.insert({offset, index});
  }
  return layout;
}

ArenaLayout meshwright::schedule::layOut(const ArenaProblem &problem) {
  ArenaLayout layout = layOutInOrder(problem);
  if (problem.buffers.size() > kMaxBySize || layout.bytes == problem.getLowerBound())
    return layout;
  // Large buffers leave gaps that small ones fit into; those that live long are best at the bottom, out of the way.
  auto bySize = [&](unsigned index) { return -problem.buffers[index].bytes; };
  auto byDuration = [&](unsigned index) { return problem.buffers[index].first - problem.buffers[index].last; };
  for (ArenaLayout other : {layOutLow(problem, bySize), layOutLow(problem, byDuration)})
    if (other.bytes < layout.bytes)
      layout = std::move(other);
  return layout;
}

std::optional<std::pair<unsigned, unsigned>> meshwright::schedule::findOverlap(const ArenaProblem &problem,
                                                                               const ArenaLayout &layout) {
  // Sweeps over the steps with the live buffers by offset; neighbours are enough.
  auto order = getOrder(problem.buffers.size(), [&](unsigned index) { return problem.buffers[index].first; });
  std::map<int64_t, unsigned> live;
  std::multimap<int64_t, unsigned> ends;
  auto endOf = [&](unsigned index) { return layout.offsets[index] + problem.buffers[index].bytes; };
  for (unsigned index : order) {
    const ArenaProblem::Buffer &buffer = problem.buffers[index];
    if (buffer.bytes == 0)
      continue;
    int64_t offset = layout.offsets[index];
    if (offset < 0 || offset % problem.alignment != 0 || endOf(index) > layout.bytes)
      return std::make_pair(index, index);
    while (!ends.empty() && ends.begin()->first < buffer.first) {
      live.erase(layout.offsets[ends.begin()->second]);
      ends.erase(ends.begin());
    }
    auto after = live.lower_bound(offset);
    if (after != live.end() && after->first < endOf(index))
      return std::make_pair(after->second, index);
    if (after != live.begin() && endOf(std::prev(after)->second) > offset)
      return std::make_pair(std::prev(after)->second, index);
    live[offset] = index;
    ends.insert({buffer.last, index});
  }
  return std::nullopt;
}
