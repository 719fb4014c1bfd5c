//===- Box.cpp - parts of a value and what they share ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Box.h"
#include <algorithm>
#include <cstring>

using namespace meshwright;
using namespace meshwright::runtime;

using RunList = std::vector<meshwright::runtime::Run>;

Box::Box(const Layout &layout, std::span<const int64_t> coordinates) : arrayShape(layout.getLocalShape()) {
  for (size_t dim = 0; dim != arrayShape.size(); ++dim)
    runs.push_back(layout.getRuns(dim, coordinates));
}

Box Box::pack() const {
  Box packed = *this;
  for (size_t dim = 0; dim != runs.size(); ++dim) {
    int64_t next = 0;
    for (Run &run : packed.runs[dim]) {
      run.local = next;
      next += run.length;
    }
    packed.arrayShape[dim] = next;
  }
  return packed;
}

uint64_t Box::getNumElements() const {
  uint64_t count = 1;
  for (const RunList &dim : runs) {
    uint64_t indices = 0;
    for (const Run &run : dim)
      indices += run.length;
    count *= indices;
  }
  return count;
}

namespace {

/// Indices that lie side by side in two arrays.
struct SharedRun {
  int64_t from, to, length;
};

struct SharedDim {
  std::vector<SharedRun> runs;
  int64_t fromStride, toStride;
};

/// Both lists ascend.
std::vector<SharedRun> intersect(const RunList &from, const RunList &to) {
  std::vector<SharedRun> shared;
  for (size_t i = 0, j = 0; i != from.size() && j != to.size();) {
    int64_t fromEnd = from[i].global + from[i].length, toEnd = to[j].global + to[j].length;
    int64_t begin = std::max(from[i].global, to[j].global), end = std::min(fromEnd, toEnd);
    if (begin < end)
      shared.push_back({from[i].local + begin - from[i].global, to[j].local + begin - to[j].global, end - begin});
    i += fromEnd <= toEnd;
    j += toEnd <= fromEnd;
  }
  return shared;
}

/// Goes through what two arrays share, dimension by dimension, blocks at the end: fn(from, to, bytes).
template <typename Fn> struct SharedWalk {
  std::vector<SharedDim> dims;
  uint64_t blockBytes;
  Fn fn;

  void visit(size_t dim, const std::byte *from, std::byte *to) {
    if (dim == dims.size()) {
      fn(from, to, blockBytes);
      return;
    }
    const SharedDim &d = dims[dim];
    for (const SharedRun &run : d.runs) {
      const std::byte *source = from + run.from * d.fromStride;
      std::byte *target = to + run.to * d.toStride;
      // Neighbours of the innermost dimension are one piece.
      if (dim + 1 == dims.size()) {
        fn(source, target, run.length * blockBytes);
        continue;
      }
      for (int64_t i = 0; i != run.length; ++i)
        visit(dim + 1, source + i * d.fromStride, target + i * d.toStride);
    }
  }
};

} // namespace

namespace meshwright::runtime {

/// Calls fn(from, to, bytes) for the pieces that both boxes have; returns the number of elements.
template <typename Fn>
uint64_t forEachShared(const Box &from, const std::byte *source, const Box &to, std::byte *target, uint64_t elementSize,
                       Fn fn) {
  SharedWalk<Fn> walk{{}, elementSize, fn};
  uint64_t count = 1;
  auto fromStride = static_cast<int64_t>(elementSize), toStride = fromStride;
  bool whole = true;
  for (size_t dim = from.runs.size(); dim-- != 0;) {
    int64_t fromSize = from.arrayShape[dim], toSize = to.arrayShape[dim];
    std::vector<SharedRun> runs = intersect(from.runs[dim], to.runs[dim]);
    uint64_t indices = 0;
    for (const SharedRun &run : runs)
      indices += run.length;
    count *= indices;
    // Dimensions at the end that both arrays hold whole are one block.
    whole = whole && runs.size() == 1 && runs[0].length == fromSize && runs[0].length == toSize;
    if (whole)
      walk.blockBytes *= fromSize;
    else
      walk.dims.push_back({std::move(runs), fromStride, toStride});
    fromStride *= fromSize;
    toStride *= toSize;
  }
  std::reverse(walk.dims.begin(), walk.dims.end());
  if (count != 0)
    walk.visit(0, source, target);
  return count;
}

} // namespace meshwright::runtime

uint64_t meshwright::runtime::copyShared(const Box &from, const std::byte *source, const Box &to, std::byte *target,
                                         uint64_t elementSize) {
  return forEachShared(from, source, to, target, elementSize,
                       [](const std::byte *a, std::byte *b, uint64_t bytes) { std::memcpy(b, a, bytes); });
}

uint64_t meshwright::runtime::addShared(const Box &from, const std::byte *source, const Box &to, std::byte *target,
                                        DType type) {
  uint64_t size = getSize(type);
  return forEachShared(from, source, to, target, size, [&](const std::byte *a, std::byte *b, uint64_t bytes) {
    addElements(type, a, b, bytes / size);
  });
}
