//===- Arena.cpp - packs buffers with lifetimes into one arena ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packing of buffers with lifetimes is the offline dynamic storage allocation problem, which is NP-hard. Greedy layouts
// in several orders are tried, which learn from their predecessors, until one reaches the lower bound; the smallest
// counts. `findOverlap` checks layouts independently of these.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Memory/Arena.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <numeric>
#include <set>
#include <vector>

using namespace llvm;
using namespace meshwright::schedule;

/// The layouts of an arena that are tried, and the comparisons of two buffers for all of them, some hundredths of a
/// second.
static constexpr size_t kMostRounds = 512, kMostComparisons = 1 << 25;

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

/// One buffer after the other in the given order, each as low as it fits.
static ArenaLayout layOutLow(const ArenaProblem &problem, ArrayRef<unsigned> order) {
  struct Placed {
    int64_t offset, end, first, last;
  };
  ArenaLayout layout{SmallVector<int64_t>(problem.buffers.size(), 0), 0};
  /// By offset.
  std::vector<Placed> placed;
  placed.reserve(order.size());
  for (unsigned index : order) {
    const ArenaProblem::Buffer &buffer = problem.buffers[index];
    int64_t bytes = alignTo(buffer.bytes, problem.alignment), offset = 0;
    if (bytes == 0)
      continue;
    for (const Placed &other : placed) {
      if (other.last < buffer.first || buffer.last < other.first)
        continue;
      if (offset + bytes <= other.offset)
        break;
      offset = std::max(offset, other.end);
    }
    layout.offsets[index] = offset;
    layout.bytes = std::max(layout.bytes, offset + bytes);
    auto after = upper_bound(placed, offset, [](int64_t at, const Placed &other) { return at < other.offset; });
    placed.insert(after, {offset, offset + bytes, buffer.first, buffer.last});
  }
  return layout;
}

ArenaLayout meshwright::schedule::layOut(const ArenaProblem &problem) {
  ArenaLayout best = layOutInOrder(problem);
  size_t size = problem.buffers.size();
  size_t rounds = std::min(kMostRounds, kMostComparisons / std::max<size_t>(1, size * size / 2));
  int64_t bound = problem.getLowerBound();
  if (rounds == 0 || best.bytes == bound)
    return best;
  auto getBuffer = [&](unsigned index) -> const ArenaProblem::Buffer & { return problem.buffers[index]; };
  // Large buffers leave gaps that small ones fit into; those that live long are best at the bottom, out of the way.
  SmallVector<unsigned> orders[] = {
      getOrder(size, [&](unsigned index) { return -getBuffer(index).bytes; }),
      getOrder(size, [&](unsigned index) { return getBuffer(index).first - getBuffer(index).last; }),
      getOrder(size, [&](unsigned index) { return getBuffer(index).first; }),
      getOrder(size, [&](unsigned index) { return -getBuffer(index).last; })};
  for (size_t round = 0; round < rounds && best.bytes > bound; ++round) {
    SmallVector<unsigned> &order = orders[round % std::size(orders)];
    ArenaLayout layout = layOutLow(problem, order);
    // Squeaky wheel optimization (Joslin and Clements, JAIR 10, 1999): buffers that end above the lower bound come
    // first in the next layout.
    auto isHigh = [&](unsigned index) { return layout.offsets[index] + getBuffer(index).bytes > bound; };
    auto isLow = [&](unsigned index) { return !isHigh(index); };
    SmallVector<unsigned> next = to_vector(make_filter_range(order, isHigh));
    append_range(next, make_filter_range(order, isLow));
    order = std::move(next);
    if (layout.bytes < best.bytes)
      best = std::move(layout);
  }
  return best;
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
