//===- Box.h - parts of a value and what they share -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank's part is a box in the factored shape of a value: in every dimension a list of runs of indices. Two boxes
// of one value may come from different meshes and placements; what both have is copied from one to the other.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_BOX_H
#define MESHWRIGHT_RUNTIME_BOX_H

#include "meshwright/runtime/Layout.h"

namespace meshwright::runtime {

/// Indices of a value, and where they lie in a row-major array.
class Box {
public:
  /// The elements that the rank of these coordinates holds, at their places in its array.
  Box(const Layout &layout, std::span<const int64_t> coordinates);

  /// The same indices in the same order, side by side.
  Box pack() const;
  /// The shape of the array in which the indices lie.
  const Shape &getArrayShape() const { return arrayShape; }
  /// The number of elements (the array may be larger).
  uint64_t getNumElements() const;

private:
  template <typename Fn>
  friend uint64_t forEachShared(const Box &from, const std::byte *source, const Box &to, std::byte *target,
                                uint64_t elementSize, Fn fn);
  std::vector<std::vector<Run>> runs;
  Shape arrayShape;
};

/// Copies the elements that two boxes of one value share from the array of one to that of the other. Returns how many
/// there are.
uint64_t copyShared(const Box &from, const std::byte *source, const Box &to, std::byte *target, uint64_t elementSize);
/// Adds them to what is there.
uint64_t addShared(const Box &from, const std::byte *source, const Box &to, std::byte *target, DType type);

} // namespace meshwright::runtime

#endif
