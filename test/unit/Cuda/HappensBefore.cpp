//===- HappensBefore.cpp - race detection by vector clocks ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HappensBefore.h"
#include <algorithm>

using namespace meshwright::test;

/// For every stream, the number of its operations that precede something.
using VectorClock = std::vector<size_t>;

static bool conflict(const ExpectedCall &a, const ExpectedCall &b) {
  for (const MemoryAccess &x : a.accesses)
    for (const MemoryAccess &y : b.accesses)
      if (x.place == y.place && (x.isWrite || y.isWrite) && x.begin < y.end && y.begin < x.end)
        return true;
  return false;
}

std::vector<std::pair<size_t, size_t>> meshwright::test::findRaces(const std::vector<ExpectedCall> &calls) {
  size_t numStreams = 0;
  for (const ExpectedCall &call : calls)
    numStreams = std::max(numStreams, call.stream + 1);
  std::vector<VectorClock> streams(numStreams, VectorClock(numStreams));
  std::vector<VectorClock> at(calls.size());
  std::vector<std::pair<size_t, size_t>> races;
  for (size_t i = 0; i != calls.size(); ++i) {
    VectorClock &clock = streams[calls[i].stream];
    if (calls[i].kind == ExpectedCall::Wait)
      for (size_t stream = 0; stream != numStreams; ++stream)
        clock[stream] = std::max(clock[stream], at[calls[i].record][stream]);
    ++clock[calls[i].stream];
    at[i] = clock;
    for (size_t j = 0; j != i; ++j)
      if (clock[calls[j].stream] < at[j][calls[j].stream] && conflict(calls[j], calls[i]))
        races.push_back({j, i});
  }
  return races;
}
