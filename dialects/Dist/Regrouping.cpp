//===- Regrouping.cpp - exchanges along one dimension ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Digits of other axes are the same before and after, and nest with those of `axis`. All ranks that differ in them
// alone exchange units in the same way, so those of coordinate 0 stand for all.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Regrouping.h"
#include "llvm/ADT/DenseMap.h"
#include <numeric>

using namespace meshwright::dist;
using llvm::ArrayRef;
using llvm::SmallVector;

/// Bounds the entries of a table, which becomes a constant of the program, and the work of finding it.
static constexpr int64_t kMaxEntries = 1 << 16;

/// The units that each coordinate of `axis` holds, in increasing order.
static SmallVector<SmallVector<int64_t>> getParts(int64_t size, int64_t unit, ArrayRef<Split> splits, Axis axis,
                                                  int64_t n) {
  SmallVector<SmallVector<int64_t>> parts(n);
  for (int64_t index = 0; index < size; index += unit) {
    int64_t coordinate = 0;
    bool isHeld = true;
    for (const Split &split : splits) {
      int64_t digit = index % split.extent / split.stride;
      if (split.axis == axis)
        coordinate = digit;
      else
        isHeld &= digit == 0;
    }
    if (isHeld)
      parts[coordinate].push_back(index / unit);
  }
  return parts;
}

/// The largest run of indices that no digit divides; 0 if some digit does not divide evenly.
static int64_t findUnit(int64_t size, ArrayRef<Split> from, ArrayRef<Split> to, Axis axis, int64_t n) {
  int64_t unit = size;
  for (ArrayRef<Split> splits : {from, to})
    for (const Split &split : splits) {
      if (split.stride <= 0 || split.extent % split.stride != 0 || size % split.extent != 0 ||
          (split.axis == axis && split.extent != n * split.stride))
        return 0;
      unit = std::gcd(unit, split.stride);
    }
  return unit;
}

std::optional<Regrouping> Regrouping::find(int64_t size, ArrayRef<Split> from, ArrayRef<Split> to, Axis axis,
                                           int64_t n) {
  int64_t unit = findUnit(size, from, to, axis, n);
  if (unit == 0 || std::max(size / unit, n * n) > kMaxEntries)
    return std::nullopt;
  SmallVector<SmallVector<int64_t>> before = getParts(size, unit, from, axis, n),
                                    after = getParts(size, unit, to, axis, n);
  Regrouping found{n, static_cast<int64_t>(before.front().size()), 0, {}, {}};
  if (before == after)
    return std::nullopt;
  // Where each unit comes from.
  struct Place {
    int64_t sender, position;
  };
  llvm::DenseMap<int64_t, Place> places;
  for (auto [sender, part] : llvm::enumerate(before))
    for (auto [position, held] : llvm::enumerate(part))
      places[held] = {static_cast<int64_t>(sender), static_cast<int64_t>(position)};
  // The positions that a sender sends to a receiver, and for each unit of a new part its number among them.
  SmallVector<SmallVector<int32_t>, 0> sent(n * n);
  SmallVector<int64_t, 0> numbers;
  for (auto [receiver, part] : llvm::enumerate(after))
    for (int64_t wanted : part) {
      const Place &place = places.at(wanted);
      SmallVector<int32_t> &positions = sent[place.sender * n + receiver];
      bool isKept = place.sender == static_cast<int64_t>(receiver);
      numbers.push_back(positions.size());
      if (!isKept)
        positions.push_back(place.position);
      found.slots = std::max<int64_t>(found.slots, positions.size());
    }
  if (n * std::max(n * found.slots, found.numUnits) > kMaxEntries)
    return std::nullopt;
  for (SmallVector<int32_t> &positions : sent) {
    positions.resize(found.slots, 0);
    found.sent.append(positions);
  }
  const int64_t *number = numbers.begin();
  for (auto [receiver, part] : llvm::enumerate(after))
    for (int64_t wanted : part) {
      const Place &place = places.at(wanted);
      bool isKept = place.sender == static_cast<int64_t>(receiver);
      found.taken.push_back(isKept ? place.position : found.numUnits + place.sender * found.slots + *number);
      ++number;
    }
  return found;
}
