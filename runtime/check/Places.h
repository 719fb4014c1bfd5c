//===- Places.h - elements in the places of converted packages --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An element of a converted package is the first of the lanes of its place (ConvertPackage.cpp); the others hold
// nothing of use.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_CHECK_PLACES_H
#define MESHWRIGHT_RUNTIME_CHECK_PLACES_H

#include "meshwright/runtime/Session.h"
#include <cstring>

namespace meshwright::runtime {

/// An array of places, each of so many elements, of which the first counts.
struct Places {
  std::span<const std::byte> bytes;
  int64_t lanes;
  uint64_t elementBytes;

  const std::byte *get(int64_t place) const { return bytes.data() + place * lanes * elementBytes; }
};

/// Gives a value of a converted package its elements, each in its place.
inline void scatterToPlaces(Session &session, const ValueSet &set, size_t i, std::span<const std::byte> elements) {
  uint64_t size = getSize(set.getType(i)), lanes = static_cast<uint64_t>(set.getShape(i).back());
  std::vector<std::byte> whole(elements.size() * lanes);
  for (uint64_t at = 0; at != elements.size(); at += size)
    std::memcpy(whole.data() + at * lanes, elements.data() + at, size);
  session.scatter(set, i, whole);
}

} // namespace meshwright::runtime

#endif
