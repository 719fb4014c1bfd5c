//===- SegmentPlanner.cpp - cuts, reuse and starts of fetches -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   segment      0         1         2         3
//   items    |a  b  c  |d  e     |f  g  h  |i         |
//   fetches   ----A----
//         1 ahead: ----B----.....           start with segment 0, for segment 1
//                            ----C----      and kept to the end of the last segment that reads it
//
// Three sweeps over the segments: cut them, decide which uses reuse an earlier fetch, decide where each fetch starts. A
// fetched parameter counts as alive during the whole of a segment, so that the bound holds at every moment.
//
//===----------------------------------------------------------------------===//

#include "SegmentPlanner.h"
#include "meshwright/Support/Units.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

using namespace meshwright::complete;
using llvm::ArrayRef;
using llvm::SmallVector;

std::optional<unsigned> SegmentPlan::findTooLarge(int64_t maxLive) const {
  for (auto [number, segment] : llvm::enumerate(segments))
    if (segment.volume > maxLive)
      return number;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Cuts
//===----------------------------------------------------------------------===//

void SegmentPlanner::cut() {
  // Per parameter, the last segment that uses it.
  SmallVector<int64_t, 0> usedIn(problem.parameters.size(), -1);
  size_t nextCut = 0;
  for (auto [index, item] : llvm::enumerate(problem.items)) {
    auto isNew = [&](unsigned parameter) {
      return usedIn[parameter] != static_cast<int64_t>(plan.segments.size()) - 1;
    };
    bool begins = plan.segments.empty() || plan.segments.back().backward != item.backward;
    for (; nextCut < problem.cuts.size() && problem.cuts[nextCut] <= static_cast<int64_t>(index); ++nextCut)
      begins |= problem.cuts[nextCut] == static_cast<int64_t>(index);
    if (!begins && plan.segments.back().volume > 0) {
      int64_t bytes = 0;
      for (unsigned parameter : item.parameters)
        bytes += isNew(parameter) ? problem.parameters[parameter].bytes : 0;
      begins = bytes > 0 && plan.segments.back().volume + bytes > problem.segmentBytes;
    }
    if (begins) {
      Segment segment;
      segment.begin = index;
      segment.backward = item.backward;
      plan.segments.push_back(std::move(segment));
    }
    Segment &segment = plan.segments.back();
    segment.end = index + 1;
    for (unsigned parameter : item.parameters) {
      if (!isNew(parameter))
        continue;
      usedIn[parameter] = static_cast<int64_t>(plan.segments.size()) - 1;
      segment.volume += problem.parameters[parameter].bytes;
      segment.parameters.push_back(parameter);
    }
  }
}

//===----------------------------------------------------------------------===//
// Fetches
//===----------------------------------------------------------------------===//

/// Lets `segment` reuse the latest fetch of `parameter` if little is fetched in between and there is room for it.
/// `fetchedBefore[s]` is the number of bytes fetched for segments before s.
bool SegmentPlanner::keep(unsigned segment, unsigned parameter, ArrayRef<int64_t> fetchedBefore) {
  if (latest[parameter] < 0)
    return false;
  ParameterFetch &fetch = plan.fetches[latest[parameter]];
  int64_t between = fetchedBefore[segment] - fetchedBefore[fetch.last + 1];
  if (between > problem.keepBytes)
    return false;
  int64_t bytes = problem.parameters[parameter].bytes;
  for (unsigned index = fetch.last + 1; index < segment; ++index)
    if (plan.live[index] + bytes > problem.maxLive)
      return false;
  for (unsigned index = fetch.last + 1; index < segment; ++index)
    plan.live[index] += bytes;
  fetch.last = segment;
  fetch.kept.push_back({segment, between});
  return true;
}

void SegmentPlanner::chooseFetches() {
  latest.assign(problem.parameters.size(), -1);
  for (const Segment &segment : plan.segments)
    plan.live.push_back(segment.volume);
  SmallVector<int64_t, 0> fetchedBefore(plan.segments.size() + 1, 0);
  for (auto [number, segment] : llvm::enumerate(plan.segments)) {
    int64_t fetched = 0;
    for (unsigned parameter : segment.parameters) {
      if (!keep(number, parameter, fetchedBefore)) {
        ParameterFetch fetch;
        fetch.parameter = parameter;
        fetch.segment = fetch.last = fetch.start = number;
        latest[parameter] = plan.fetches.size();
        plan.fetches.push_back(std::move(fetch));
        fetched += problem.parameters[parameter].bytes;
      }
      plan.fetchOf[{static_cast<unsigned>(number), parameter}] = latest[parameter];
    }
    fetchedBefore[number + 1] = fetchedBefore[number] + fetched;
  }
}

//===----------------------------------------------------------------------===//
// Starts
//===----------------------------------------------------------------------===//

/// Starts `fetches`, which form one bucket, as early as the bounds allow, but not before segment `earliest`.
void SegmentPlanner::startLaunch(ArrayRef<unsigned> fetches, unsigned earliest) {
  unsigned segment = plan.fetches[fetches.front()].segment, start = segment;
  int64_t bytes = 0;
  for (unsigned fetch : fetches)
    bytes += problem.parameters[plan.fetches[fetch].parameter].bytes;
  auto bound = ParameterFetch::Bound::Prefetch;
  int64_t found = 0, limit = std::max<int64_t>(0, static_cast<int64_t>(segment) - problem.prefetch);
  ++inFlight[segment];
  while (start > limit) {
    unsigned before = start - 1;
    if (before < earliest) {
      bound = ParameterFetch::Bound::Order;
      break;
    }
    if (plan.live[before] + bytes > problem.maxLive) {
      bound = ParameterFetch::Bound::Live;
      found = plan.live[before];
      break;
    }
    if (inFlight[before] + 1 > problem.maxInFlight) {
      bound = ParameterFetch::Bound::InFlight;
      found = inFlight[before];
      break;
    }
    plan.live[before] += bytes;
    ++inFlight[before];
    start = before;
  }
  for (unsigned fetch : fetches) {
    plan.fetches[fetch].start = start;
    plan.fetches[fetch].bound = bound;
    plan.fetches[fetch].found = found;
  }
}

void SegmentPlanner::chooseStarts() {
  inFlight.assign(plan.segments.size(), 0);
  unsigned earliest = 0;
  for (size_t first = 0, next = 0; first < plan.fetches.size(); first = next) {
    llvm::MapVector<unsigned, SmallVector<unsigned>> launches;
    for (next = first; next < plan.fetches.size() && plan.fetches[next].segment == plan.fetches[first].segment; ++next)
      launches[problem.parameters[plan.fetches[next].parameter].type].push_back(next);
    for (auto &[type, fetches] : launches) {
      startLaunch(fetches, earliest);
      earliest = plan.fetches[fetches.front()].start;
    }
  }
}

SegmentPlan SegmentPlanner::solve() {
  cut();
  chooseFetches();
  chooseStarts();
  return std::move(plan);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string meshwright::complete::describe(const SegmentProblem &problem, const SegmentPlan &plan, unsigned index) {
  const ParameterFetch &fetch = plan.fetches[index];
  const Segment &segment = plan.segments[fetch.segment];
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "fetch for segment " << fetch.segment << (segment.backward ? " (backward)" : " (forward)");
  if (fetch.start == fetch.segment)
    out << ", starts with it";
  else
    out << ", starts with segment " << fetch.start;
  switch (fetch.bound) {
  case ParameterFetch::Bound::Prefetch:
    if (fetch.start != fetch.segment)
      out << ": " << fetch.segment - fetch.start << " ahead";
    break;
  case ParameterFetch::Bound::Live:
    out << ": at most " << formatBytes(problem.maxLive) << " may be alive and segment " << fetch.start - 1 << " has "
        << formatBytes(fetch.found);
    break;
  case ParameterFetch::Bound::InFlight:
    out << ": at most " << problem.maxInFlight << " buckets may be in flight and segment " << fetch.start - 1 << " has "
        << fetch.found;
    break;
  case ParameterFetch::Bound::Order:
    out << ": not before the bucket that is needed before it";
    break;
  }
  for (const ParameterFetch::Kept &kept : fetch.kept)
    out << "; kept for segment " << kept.segment << ": " << formatBytes(kept.bytesBetween) << " are fetched in between";
  return text;
}
