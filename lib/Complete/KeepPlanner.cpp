//===- KeepPlanner.cpp - maximum flow over values -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every value becomes two nodes, connected by an edge with the capacity of its bytes:
//
//     source --price--> in(v) --bytes--> out(v) --> sink        unbounded if v cannot be recomputed; v is needed
//                                        out(u) --> in(v)       v is computed from u
//
// A cut leaves `out` on the side of the sink for what is needed, and `in` too for what is recomputed.
//
// Maximum flow along shortest augmenting paths (Edmonds and Karp). Of all minimum cuts the one nearest to the sink is
// taken, namely around the nodes that still reach the sink: it leaves the least to recompute.
//
//===----------------------------------------------------------------------===//

#include "KeepPlanner.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>

using namespace meshwright::complete;

namespace {

constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max() / 4;

/// A directed network with capacities.
class FlowNetwork {
public:
  explicit FlowNetwork(unsigned numNodes) : edgesOf(numNodes) {}

  void add(unsigned from, unsigned to, int64_t capacity) {
    edgesOf[from].push_back(edges.size());
    edges.push_back({to, capacity});
    edgesOf[to].push_back(edges.size());
    edges.push_back({from, 0});
  }

  void saturate(unsigned source, unsigned sink) {
    while (augment(source, sink)) {
    }
  }

  /// The nodes from which `sink` is still reachable.
  llvm::SmallVector<bool, 0> findReaching(unsigned sink) const {
    llvm::SmallVector<bool, 0> reaching(edgesOf.size(), false);
    llvm::SmallVector<unsigned> queue = {sink};
    reaching[sink] = true;
    for (size_t next = 0; next < queue.size(); ++next)
      for (unsigned edge : edgesOf[queue[next]])
        if (unsigned from = edges[edge].to; edges[edge ^ 1].left > 0 && !reaching[from]) {
          reaching[from] = true;
          queue.push_back(from);
        }
    return reaching;
  }

private:
  /// Edges come in pairs: `left` is the residual capacity of an edge, and that of its twin is the flow to undo.
  struct Edge {
    unsigned to;
    int64_t left;
  };

  /// Pushes the flow of a shortest path. False if there is no path.
  bool augment(unsigned source, unsigned sink) {
    llvm::SmallVector<int, 0> arrival(edgesOf.size(), -1);
    llvm::SmallVector<unsigned> queue = {source};
    for (size_t next = 0; next < queue.size() && arrival[sink] < 0; ++next)
      for (unsigned edge : edgesOf[queue[next]])
        if (unsigned to = edges[edge].to; edges[edge].left > 0 && arrival[to] < 0 && to != source) {
          arrival[to] = static_cast<int>(edge);
          queue.push_back(to);
        }
    if (arrival[sink] < 0)
      return false;
    auto forEachEdge = [&](llvm::function_ref<void(Edge &, Edge &)> visit) {
      for (unsigned node = sink; node != source; node = edges[arrival[node] ^ 1].to)
        visit(edges[arrival[node]], edges[arrival[node] ^ 1]);
    };
    int64_t most = kUnbounded;
    forEachEdge([&](Edge &edge, Edge &) { most = std::min(most, edge.left); });
    forEachEdge([&](Edge &edge, Edge &twin) {
      edge.left -= most;
      twin.left += most;
    });
    return true;
  }

  llvm::SmallVector<Edge, 0> edges;
  llvm::SmallVector<llvm::SmallVector<unsigned, 4>, 0> edgesOf;
};

} // namespace

KeepPlan meshwright::complete::planKept(const KeepProblem &problem) {
  unsigned numValues = problem.values.size(), source = 2 * numValues, sink = source + 1;
  FlowNetwork network(sink + 1);
  for (auto [index, value] : llvm::enumerate(problem.values)) {
    unsigned in = 2 * index, out = in + 1;
    network.add(in, out, value.bytes);
    if (value.needed)
      network.add(out, sink, kUnbounded);
    network.add(source, in, value.price.value_or(kUnbounded));
    if (value.price)
      for (unsigned operand : value.operands)
        network.add(2 * operand + 1, in, kUnbounded);
  }
  network.saturate(source, sink);
  llvm::SmallVector<bool, 0> reaching = network.findReaching(sink);
  KeepPlan plan;
  plan.kept.assign(numValues, false);
  plan.computed.assign(numValues, false);
  // From the needed values back to the kept ones.
  llvm::SmallVector<bool, 0> wanted(numValues, false);
  for (unsigned index = numValues; index-- > 0;) {
    const KeepProblem::Value &value = problem.values[index];
    if (!wanted[index] && !value.needed)
      continue;
    plan.kept[index] = !reaching[2 * index];
    plan.computed[index] = reaching[2 * index];
    plan.cost += plan.kept[index] ? value.bytes : *value.price;
    if (plan.computed[index])
      for (unsigned operand : value.operands)
        wanted[operand] = true;
  }
  return plan;
}
