//===- SegmentPlanner.h - segments, fetches and prefetching -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain data in, plain data out: a program is a list of items (operations), each of which uses some parameters that
// must be fetched. Segments are runs of items; a parameter is fetched once per segment that uses it.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_COMPLETE_SEGMENTPLANNER_H
#define MESHWRIGHT_LIB_COMPLETE_SEGMENTPLANNER_H

#include "meshwright/Support/Bytes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>

namespace meshwright::complete {

/// The items, the parameters to fetch, and the bounds. Bytes are those of a rank.
struct SegmentProblem {
  static constexpr int64_t kUnbounded = kUnboundedBytes;

  struct Parameter {
    int64_t bytes = 0;
    /// Parameters of one type are fetched in one bucket.
    unsigned type = 0;
  };
  struct Item {
    bool backward = false;
    /// The parameters of the item without repetition, in the order of their reads.
    llvm::SmallVector<unsigned, 1> parameters;
  };

  llvm::SmallVector<Parameter, 0> parameters;
  llvm::SmallVector<Item, 0> items;
  /// The items before which a segment begins, in increasing order.
  llvm::SmallVector<int64_t, 0> cuts;
  /// The most that a segment fetches, unless a single item needs more.
  int64_t segmentBytes = kUnbounded;
  /// The most segments by which a fetch precedes its use.
  int64_t prefetch = 1;
  /// A parameter is kept for its next use if at most this much is fetched in between; a negative number keeps nothing.
  int64_t keepBytes = -1;
  /// Bounds on the bytes of fetched parameters and on the buckets in flight.
  int64_t maxLive = kUnbounded;
  int64_t maxInFlight = kUnbounded;
};

/// A run of items.
struct Segment {
  /// The first item, and the item after the last.
  int64_t begin = 0, end = 0;
  bool backward = false;
  /// The bytes of the parameters that the segment uses.
  int64_t volume = 0;
  /// The parameters, in the order of their first use.
  llvm::SmallVector<unsigned, 4> parameters;
};

/// One fetch of a parameter.
struct ParameterFetch {
  /// The bound that kept the fetch from starting earlier.
  enum class Bound { Prefetch, Live, InFlight, Order };
  struct Kept {
    unsigned segment;
    /// The bytes fetched between the previous use and this one.
    int64_t bytesBetween;
  };

  unsigned parameter = 0;
  /// The segment it is for, the last segment that uses it, and the segment with which it starts.
  unsigned segment = 0, last = 0, start = 0;
  llvm::SmallVector<Kept, 1> kept;
  Bound bound = Bound::Prefetch;
  /// The live bytes or buckets in flight of segment `start` - 1, if that is the bound.
  int64_t found = 0;
};

struct SegmentPlan {
  llvm::SmallVector<Segment, 0> segments;
  /// Ordered by segment, then by first use.
  llvm::SmallVector<ParameterFetch, 0> fetches;
  /// The fetch that a use of a parameter reads, by segment and parameter.
  llvm::DenseMap<std::pair<unsigned, unsigned>, unsigned> fetchOf;
  /// The live bytes per segment: from the start of a fetch to the end of the last segment that reads it.
  llvm::SmallVector<int64_t, 0> live;

  /// The first segment whose own parameters exceed `maxLive`, if any.
  std::optional<unsigned> findTooLarge(int64_t maxLive) const;
};

/// The reason for the start of fetch `index`, as `--explain` prints it.
std::string describe(const SegmentProblem &problem, const SegmentPlan &plan, unsigned index);

/// Takes time linear in items, uses and fetches times prefetch; each kept parameter costs the segments that it spans.
class SegmentPlanner {
public:
  explicit SegmentPlanner(const SegmentProblem &problem) : problem(problem) {}

  /// The plan. If a segment alone exceeds the bound on live bytes, its fetches start with it.
  SegmentPlan solve();

private:
  void cut();
  void chooseFetches();
  bool keep(unsigned segment, unsigned parameter, llvm::ArrayRef<int64_t> fetchedBefore);
  void chooseStarts();
  void startLaunch(llvm::ArrayRef<unsigned> fetches, unsigned earliest);

  const SegmentProblem &problem;
  SegmentPlan plan;
  /// Per parameter, the latest fetch.
  llvm::SmallVector<int64_t, 0> latest;
  llvm::SmallVector<int64_t, 0> inFlight;
};

} // namespace meshwright::complete

#endif
