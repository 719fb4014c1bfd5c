//===- Clustering.cpp - which operations become one kernel ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Schedule/Clustering.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include <queue>

using namespace llvm;
using namespace meshwright::schedule;

namespace {

using Access = ClusterProblem::Access;
using Node = ClusterProblem::Node;

class Greedy {
public:
  explicit Greedy(const ClusterProblem &problem)
      : problem(problem), depth(problem.nodes.size(), 0), clusterOf(problem.nodes.size(), -1),
        late(problem.nodes.size(), false) {}

  Clustering run();

private:
  struct Cluster {
    unsigned depth = 0;
    int64_t elements = 0;
    /// What the row reductions keep; -1 as long as there is none.
    int64_t rows = -1;
    unsigned size = 0;
    int mergedInto = -1;
  };

  int find(int cluster) {
    while (clusters[cluster].mergedInto >= 0)
      cluster = clusters[cluster].mergedInto;
    return cluster;
  }
  bool isRowLevel(unsigned node, const Cluster &cluster) const;
  bool canRead(const Node &node, const ClusterProblem::Use &use, const Cluster &cluster) const;
  bool canMerge(const Cluster &left, const Cluster &right) const;
  int merge(int left, int right);
  int findJoin(unsigned index, unsigned deepest);
  int findSibling(const Node &node, unsigned wanted);
  void join(unsigned index, int cluster);
  SmallVector<SmallVector<unsigned>> sort();

  const ClusterProblem &problem;
  SmallVector<Cluster> clusters;
  SmallVector<unsigned> depth;
  SmallVector<int> clusterOf;
  /// Reductions that are known only when their kernel ends.
  SmallVector<bool> late;
  /// The last cluster that reads a value as a whole.
  DenseMap<int, int> readers;
};

} // namespace

/// Whether `node` has one element for each row of `cluster`.
bool Greedy::isRowLevel(unsigned node, const Cluster &cluster) const {
  const Node &made = problem.nodes[node];
  return made.kind == Node::Reduce ||
         (cluster.rows >= 0 && made.elements == cluster.rows && made.elements != cluster.elements);
}

/// Whether `node` can read inside `cluster` what another of its members made.
bool Greedy::canRead(const Node &node, const ClusterProblem::Use &use, const Cluster &cluster) const {
  if (use.access == Access::Memory || late[use.producer] || cluster.size >= problem.limit)
    return false;
  bool row = isRowLevel(use.producer, cluster);
  if (node.elements == cluster.elements)
    return row ? use.access == Access::Row && use.elements == cluster.rows : use.access == Access::Same;
  return node.kind == Node::Map && node.elements == cluster.rows && row && use.access == Access::Same;
}

bool Greedy::canMerge(const Cluster &left, const Cluster &right) const {
  return left.depth == right.depth && left.elements == right.elements &&
         (left.rows < 0 || right.rows < 0 || left.rows == right.rows) && left.size + right.size < problem.limit;
}

int Greedy::merge(int left, int right) {
  if (left == right)
    return left;
  if (right < left)
    std::swap(left, right);
  clusters[right].mergedInto = left;
  clusters[left].size += clusters[right].size;
  clusters[left].rows = std::max(clusters[left].rows, clusters[right].rows);
  return left;
}

/// The cluster of depth `deepest` that node `index` joins, merged from all that it reads there; -1 where it cannot.
int Greedy::findJoin(unsigned index, unsigned deepest) {
  const Node &node = problem.nodes[index];
  SmallSetVector<int, 4> sources;
  for (const ClusterProblem::Use &use : node.uses) {
    if (use.producer < 0 || depth[use.producer] < deepest)
      continue;
    if (clusterOf[use.producer] < 0)
      return -1;
    int source = find(clusterOf[use.producer]);
    if (!canRead(node, use, clusters[source]))
      return -1;
    sources.insert(source);
  }
  for (int left : sources)
    for (int right : sources)
      if (!canMerge(clusters[left], clusters[right]))
        return -1;
  int result = -1;
  for (int source : sources)
    result = result < 0 ? source : merge(result, source);
  return result;
}

/// A cluster of depth `wanted` over the same domain that reads a value that `node` reads too.
int Greedy::findSibling(const Node &node, unsigned wanted) {
  for (const ClusterProblem::Use &use : node.uses) {
    if (use.access != Access::Same || use.elements != node.elements)
      continue;
    auto reader = readers.find(use.value);
    if (reader == readers.end())
      continue;
    int sibling = find(reader->second);
    if (clusters[sibling].depth == wanted && clusters[sibling].elements == node.elements &&
        clusters[sibling].size < problem.limit)
      return sibling;
  }
  return -1;
}

void Greedy::join(unsigned index, int target) {
  const Node &node = problem.nodes[index];
  Cluster &cluster = clusters[target];
  ++cluster.size;
  clusterOf[index] = target;
  depth[index] = cluster.depth;
  if (node.kind == Node::Reduce) {
    // The reduction of everything decides no rows; what it makes is known at the end.
    if (cluster.rows < 0 && node.kept > 1)
      cluster.rows = node.kept;
    late[index] = node.kept < 0 || node.kept != cluster.rows;
  }
  for (const ClusterProblem::Use &use : node.uses)
    if (use.access == Access::Same && use.elements == cluster.elements)
      readers[use.value] = target;
}

Clustering Greedy::run() {
  for (auto [index, node] : enumerate(problem.nodes)) {
    unsigned deepest = 0;
    for (const ClusterProblem::Use &use : node.uses)
      if (use.producer >= 0)
        deepest = std::max(deepest, depth[use.producer]);
    if (node.kind == Node::Barrier) {
      depth[index] = deepest + 1;
      continue;
    }
    int target = deepest > 0 ? findJoin(index, deepest) : -1;
    if (target < 0)
      target = findSibling(node, deepest + 1);
    if (target < 0) {
      target = clusters.size();
      clusters.push_back({deepest + 1, node.elements});
    }
    join(index, target);
  }
  for (int &cluster : clusterOf)
    if (cluster >= 0)
      cluster = find(cluster);
  return {clusterOf, sort()};
}

/// A topological order of clusters and barriers; among those that are ready the one with the earliest node.
SmallVector<SmallVector<unsigned>> Greedy::sort() {
  SmallVector<int> itemOf(problem.nodes.size());
  SmallVector<SmallVector<unsigned>> items;
  DenseMap<int, int> itemOfCluster;
  for (unsigned index = 0; index < problem.nodes.size(); ++index) {
    if (clusterOf[index] >= 0) {
      auto [known, isNew] = itemOfCluster.insert({clusterOf[index], static_cast<int>(items.size())});
      itemOf[index] = known->second;
      if (!isNew) {
        items[known->second].push_back(index);
        continue;
      }
    } else {
      itemOf[index] = items.size();
    }
    items.push_back({index});
  }
  SmallVector<SmallSetVector<int, 4>> users(items.size());
  SmallVector<unsigned> waiting(items.size(), 0);
  for (auto [index, node] : enumerate(problem.nodes))
    for (const ClusterProblem::Use &use : node.uses)
      if (use.producer >= 0 && itemOf[use.producer] != itemOf[index] &&
          users[itemOf[use.producer]].insert(itemOf[index]))
        ++waiting[itemOf[index]];
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (unsigned item = 0; item < items.size(); ++item)
    if (waiting[item] == 0)
      ready.push(item);
  SmallVector<SmallVector<unsigned>> order;
  while (!ready.empty()) {
    int item = ready.top();
    ready.pop();
    order.push_back(items[item]);
    for (int user : users[item])
      if (--waiting[user] == 0)
        ready.push(user);
  }
  return order;
}

Clustering meshwright::schedule::cluster(const ClusterProblem &problem) { return Greedy(problem).run(); }
