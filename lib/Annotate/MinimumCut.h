//===- MinimumCut.h - minimum cut by blocking flows -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_ANNOTATE_MINIMUMCUT_H
#define MESHWRIGHT_LIB_ANNOTATE_MINIMUMCUT_H

#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <limits>

namespace meshwright::annotate {

/// A directed network with capacities, to be cut into a part with the source and a part with the sink such that the
/// edges from the first to the second have the least total capacity.
class MinimumCut {
public:
  static constexpr int kSource = 0, kSink = 1;
  /// The capacity of an edge that is never cut.
  static constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max() / 4;

  MinimumCut() : edgesOf(2) {}

  int addNode();
  void addEdge(int from, int to, int64_t capacity);
  /// For every node, true if it is on the side of the source; of several minimum cuts the one with the fewest such
  /// nodes. By Dinic's blocking flows.
  llvm::SmallVector<bool, 0> solve();

private:
  struct Edge {
    int to;
    int64_t capacity;
  };

  bool layer();
  int64_t augment();

  /// The numbers of an edge and its reverse differ in the last bit only.
  llvm::SmallVector<Edge, 0> edges;
  llvm::SmallVector<llvm::SmallVector<int, 4>, 0> edgesOf;
  /// The distance of each node from the source, -1 if unreachable; and the index of its next edge to try.
  llvm::SmallVector<int, 0> distance;
  llvm::SmallVector<size_t, 0> next;
};

} // namespace meshwright::annotate

#endif
