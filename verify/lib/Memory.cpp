//===- Memory.cpp - what is known of every byte of the arenas -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory.h"

using namespace meshwright::verify;

void FlightMap::add(Range range, bool isWrite, int value) {
  if (range.isEmpty())
    return;
  cut(range.begin);
  cut(range.end);
  for (auto piece = pieces.find(range.begin); piece->first != range.end; ++piece)
    (isWrite ? piece->second.writes : piece->second.reads) += value;
  join(range.begin);
  join(range.end);
}

/// Lets what begins there continue what is before, where both are alike.
void FlightMap::join(uint64_t at) {
  auto piece = pieces.find(at);
  if (piece != pieces.begin() && std::prev(piece)->second == piece->second)
    pieces.erase(piece);
}

bool FlightMap::isBusy(Range range, bool orRead) const {
  if (range.isEmpty())
    return false;
  for (auto piece = std::prev(pieces.upper_bound(range.begin)); piece != pieces.end() && piece->first < range.end;
       ++piece)
    if (piece->second.writes > 0 || (orRead && piece->second.reads > 0))
      return true;
  return false;
}
