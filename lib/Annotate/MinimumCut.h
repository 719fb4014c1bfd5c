//===- MinimumCut.h - where a network is thinnest ---------------*- C++ -*-===//
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

/// A directed network with capacities, to be cut into what is on the side of its source and what is on that of its sink
/// such that the edges that lead from the first to the second have the least capacity.
class MinimumCut {
public:
  static constexpr int kSource = 0, kSink = 1;
  /// The capacity of an edge that is never cut.
  static constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max() / 4;

  MinimumCut() : edgesOf(2) {}

  int addNode();
  void addEdge(int from, int to, int64_t capacity);
  /// For every node whether it is on the side of the source; of several minimum cuts the one with the fewest nodes
  /// there. By Dinic's blocking flows.
  llvm::SmallVector<bool, 0> solve();

private:
  struct Edge {
    int to;
    int64_t capacity;
  };

  bool layer();
  int64_t augment();

  /// An edge and its reverse are neighbours: their numbers differ in the last bit.
  llvm::SmallVector<Edge, 0> edges;
  llvm::SmallVector<llvm::SmallVector<int, 4>, 0> edgesOf;
  /// How far nodes are from the source, -1 where it does not reach them, and which of their edges comes next.
  llvm::SmallVector<int, 0> distance;
  llvm::SmallVector<size_t, 0> next;
};

} // namespace meshwright::annotate

#endif
