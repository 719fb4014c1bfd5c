//===- MinimumCut.cpp - Dinic's algorithm ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Alternates a breadth-first layering of the residual network with blocking flows along its layers. The cut is read off
// the last layering: nodes that the source still reaches are on its side.
//
//===----------------------------------------------------------------------===//

#include "MinimumCut.h"
#include <algorithm>

using namespace meshwright::annotate;
using llvm::SmallVector;

int MinimumCut::addNode() {
  edgesOf.emplace_back();
  return static_cast<int>(edgesOf.size()) - 1;
}

void MinimumCut::addEdge(int from, int to, int64_t capacity) {
  edgesOf[from].push_back(static_cast<int>(edges.size()));
  edges.push_back({to, capacity});
  edgesOf[to].push_back(static_cast<int>(edges.size()));
  edges.push_back({from, 0});
}

/// Computes the distances of all nodes from the source. Returns false if the sink is unreachable.
bool MinimumCut::layer() {
  distance.assign(edgesOf.size(), -1);
  distance[kSource] = 0;
  SmallVector<int, 0> queue{kSource};
  for (size_t head = 0; head < queue.size(); ++head)
    for (int edge : edgesOf[queue[head]])
      if (edges[edge].capacity > 0 && distance[edges[edge].to] < 0) {
        distance[edges[edge].to] = distance[queue[head]] + 1;
        queue.push_back(edges[edge].to);
      }
  return distance[kSink] >= 0;
}

/// Pushes flow along one more shortest path and returns its amount, 0 if there is none. Depth first without recursion,
/// because a path may be as long as the network.
int64_t MinimumCut::augment() {
  SmallVector<int, 0> path;
  int node = kSource;
  while (node != kSink) {
    if (next[node] == edgesOf[node].size()) {
      if (path.empty())
        return 0;
      node = edges[path.pop_back_val() ^ 1].to;
      ++next[node];
      continue;
    }
    int edge = edgesOf[node][next[node]];
    if (edges[edge].capacity > 0 && distance[edges[edge].to] == distance[node] + 1) {
      path.push_back(edge);
      node = edges[edge].to;
    } else {
      ++next[node];
    }
  }
  int64_t amount = kUnbounded;
  for (int edge : path)
    amount = std::min(amount, edges[edge].capacity);
  for (int edge : path) {
    edges[edge].capacity -= amount;
    edges[edge ^ 1].capacity += amount;
  }
  return amount;
}

SmallVector<bool, 0> MinimumCut::solve() {
  while (layer()) {
    next.assign(edgesOf.size(), 0);
    while (augment() > 0)
      ;
  }
  SmallVector<bool, 0> side;
  for (int from : distance)
    side.push_back(from >= 0);
  return side;
}
