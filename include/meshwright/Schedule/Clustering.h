//===- Clustering.h - which operations become one kernel --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Greedy and linear. Every operation has a *depth*: one more than the greatest depth that it depends on from outside
// its cluster. An operation joins the deepest cluster that it reads from; two clusters of equal depth that it reads
// from become one. Since every edge between clusters leads to a greater depth, no join can make a cycle.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_CLUSTERING_H
#define MESHWRIGHT_SCHEDULE_CLUSTERING_H

#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace meshwright::schedule {

struct ClusterProblem {
  /// How an operation reads a value: element by element in its own order; one value for each row of its domain; or in
  /// any other way, for which the value has to be in memory.
  enum class Access { Same, Row, Memory };
  struct Use {
    /// The node that makes the value; -1 where it is there from the start.
    int producer = -1;
    Access access = Access::Memory;
    /// Names the value, for operations that read the same one; -1 for what is not in memory.
    int value = -1;
    /// How many elements the value has.
    int64_t elements = 0;
  };
  struct Node {
    enum Kind { Map, Reduce, Barrier } kind = Barrier;
    /// The elements that it computes; of a reduction, those that it reads.
    int64_t elements = 0;
    /// The elements that a reduction of the innermost dimensions keeps; -1 for any other.
    int64_t kept = -1;
    llvm::SmallVector<Use, 4> uses;
    /// Which ranks run it, by a number for each set of them; only what the same ranks run is in one cluster.
    unsigned members = 0;
    /// Whether computing it again is worse than keeping it.
    bool expensive = false;
    /// Whether a library may compute it with the product that it reads, whose own result is in no memory then.
    bool finishing = false;
    /// Whether what it makes is only there for its own segment: a fetched parameter.
    bool passing = false;
    /// Whether it should run as soon as it can, because memory becomes free: an assignment.
    bool early = false;
    /// The node that it is not to run before, though it needs nothing of it; -1 where there is none. A node that
    /// computes again what was made long before is in the cluster of its trigger or in a later one.
    int trigger = -1;
    /// Of barriers: nodes that come before it, though it reads nothing of them. The end of a loop has its body here.
    llvm::SmallVector<unsigned, 0> behind;
    /// What should run before it, where the order leaves the choice: readers of the memory that it overwrites.
    llvm::SmallVector<unsigned, 0> after;
  };
  /// In order; producers come before their users.
  llvm::SmallVector<Node> nodes;
  /// The most operations in a cluster; a mask that is drawn by threefry has 130.
  unsigned limit = 512;
};

struct Clustering {
  /// For every node its cluster; -1 for barriers.
  llvm::SmallVector<int> clusterOf;
  /// For every node whether what it makes has to be in memory. Clusters that read another's value that is not compute
  /// it again.
  llvm::SmallVector<bool> stored;
  /// All clusters and barriers in an order in which they can run, the nodes of each: as in the problem, but early ones
  /// as soon as they can.
  llvm::SmallVector<llvm::SmallVector<unsigned>> order;
};

Clustering cluster(const ClusterProblem &problem);

} // namespace meshwright::schedule

#endif
