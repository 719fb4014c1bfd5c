//===- SegmentPlanner.h - where parameters are fetched ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain data in, plain data out: a program is a list of items (operations) that each use some parameters, which are
// kept elsewhere and have to be fetched. Segments are runs of items; a parameter is fetched once per segment that uses
// it.
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

/// What has to be fetched, and the bounds on that. Bytes are those of a rank.
struct SegmentProblem {
  static constexpr int64_t kUnbounded = kUnboundedBytes;

  struct Parameter {
    int64_t bytes = 0;
    /// Parameters of a type travel in one launch.
    unsigned type = 0;
  };
  struct Item {
    bool backward = false;
    /// Each once, in the order in which they are read.
    llvm::SmallVector<unsigned, 1> parameters;
  };

  llvm::SmallVector<Parameter, 0> parameters;
  llvm::SmallVector<Item, 0> items;
  /// Items in front of which a segment begins, increasing.
  llvm::SmallVector<int64_t, 0> cuts;
  /// What a segment fetches at most, unless a single item needs more.
  int64_t segmentBytes = kUnbounded;
  /// How many segments ahead a fetch starts at most.
  int64_t prefetch = 1;
  /// A parameter is kept for its next use where at most so much is fetched in between; nothing is where this is
  /// negative.
  int64_t keepBytes = -1;
  /// Bounds on the bytes of fetched parameters and on the launches that are not known to be done.
  int64_t maxLive = kUnbounded;
  int64_t maxInFlight = kUnbounded;
};

/// A run of items.
struct Segment {
  /// The first item and the one behind the last.
  int64_t begin = 0, end = 0;
  bool backward = false;
  /// The bytes of the parameters that it uses.
  int64_t volume = 0;
  /// These, in the order of their first use.
  llvm::SmallVector<unsigned, 4> parameters;
};

/// One fetch of a parameter.
struct ParameterFetch {
  /// What kept it from starting earlier.
  enum class Bound { Prefetch, Live, InFlight, Order };
  struct Kept {
    unsigned segment;
    /// What is fetched between the use before and this one.
    int64_t bytesBetween;
  };

  unsigned parameter = 0;
  /// The segment it is for, the last one that uses it, and the one with whose beginning it starts.
  unsigned segment = 0, last = 0, start = 0;
  llvm::SmallVector<Kept, 1> kept;
  Bound bound = Bound::Prefetch;
  /// The live bytes or launches of segment `start` - 1 where that is the bound.
  int64_t found = 0;
};

struct SegmentPlan {
  llvm::SmallVector<Segment, 0> segments;
  /// By segment, then in the order of first uses.
  llvm::SmallVector<ParameterFetch, 0> fetches;
  /// The fetch whose value a segment's use of a parameter reads, by segment and parameter.
  llvm::DenseMap<std::pair<unsigned, unsigned>, unsigned> fetchOf;
  /// Per segment the bytes that are alive: from the start of a fetch to the end of the last segment that reads it.
  llvm::SmallVector<int64_t, 0> live;

  /// The first segment that needs more than `maxLive` by itself, if one does.
  std::optional<unsigned> findTooLarge(int64_t maxLive) const;
};

/// Why fetch number `index` is where it is.
std::string describe(const SegmentProblem &problem, const SegmentPlan &plan, unsigned index);

/// Solves a problem in time linear in items, uses and fetches x prefetch; keeping costs the segments it spans.
class SegmentPlanner {
public:
  explicit SegmentPlanner(const SegmentProblem &problem) : problem(problem) {}

  /// The plan. Where a segment alone needs more than the bound on live bytes, fetches start with their segments.
  SegmentPlan solve();

private:
  void cut();
  void chooseFetches();
  bool keep(unsigned segment, unsigned parameter, llvm::ArrayRef<int64_t> fetchedBefore);
  void chooseStarts();
  void startLaunch(llvm::ArrayRef<unsigned> fetches, unsigned earliest);

  const SegmentProblem &problem;
  SegmentPlan plan;
  /// Per parameter the fetch whose value is the latest.
  llvm::SmallVector<int64_t, 0> latest;
  llvm::SmallVector<int64_t, 0> inFlight;
};

} // namespace meshwright::complete

#endif
