//===- Clustering.h - groups operations into kernels -------------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Greedy and linear. Every operation has a *depth*: one more than the greatest depth that it depends on from outside
// its cluster. An operation joins the deepest cluster that it reads from; two clusters of equal depth that it reads
// from become one. Since every edge between clusters leads to a greater depth, no join can make a cycle.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_KERNELS_CLUSTERING_H
#define MESHWRIGHT_KERNELS_CLUSTERING_H

#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace meshwright::schedule {

struct ClusterProblem {
  /// The way an operation reads a value: element by element in its own order; one value per row of its domain; or in
  /// any other way, for which the value has to be in memory.
  enum class Access { Same, Row, Memory };
  struct Use {
    /// The node that makes the value; -1 if the value exists before the first node.
    int producer = -1;
    Access access = Access::Memory;
    /// A number of the value, equal for operations that read the same one; -1 for values that are not in memory.
    int value = -1;
    /// The number of elements of the value.
    int64_t elements = 0;
  };
  struct Node {
    enum Kind { Map, Reduce, Barrier } kind = Barrier;
    /// The elements that the node computes; for a reduction, the elements that it reads.
    int64_t elements = 0;
    /// The elements that a reduction of the innermost dimensions keeps; -1 for any other.
    int64_t kept = -1;
    llvm::SmallVector<Use, 4> uses;
    /// The set of ranks that run the node, as a number. A cluster holds only nodes with equal sets.
    unsigned members = 0;
    /// True if recomputing the result costs more than storing and loading it.
    bool expensive = false;
    /// True if a library may compute the node as the epilogue of the GEMM that it reads; the GEMM's own result is then
    /// not stored.
    bool finishing = false;
    /// True if the result lives only within its own segment: a fetched parameter.
    bool passing = false;
    /// True for assignments: they run as soon as they can, since updates free gradients.
    bool assigns = false;
    /// True if the node is part of a loop.
    bool looped = false;
    /// True if the node receives data of other ranks. What reads it is to run late, while the data arrives.
    bool remote = false;
    /// The node that this one must not precede although it reads nothing of it; -1 if there is none. A node that
    /// recomputes an early value is placed in the cluster of its trigger or in a later one.
    int trigger = -1;
    /// Barriers only: nodes that must precede the barrier although it reads none of their results. The end of a loop
    /// lists the loop's body here.
    llvm::SmallVector<unsigned, 0> predecessors;
    /// Nodes that should run before this one if the order leaves a choice: readers of the memory that it overwrites.
    llvm::SmallVector<unsigned, 0> after;
  };
  /// In order; producers come before their users.
  llvm::SmallVector<Node> nodes;
  /// The most operations in a cluster; a mask that is drawn by threefry has 130.
  unsigned limit = 512;
};

struct Clustering {
  /// The cluster of every node; -1 for barriers.
  llvm::SmallVector<int> clusterOf;
  /// For every node, true if its result has to be in memory. A cluster that reads another cluster's unstored value
  /// recomputes it.
  llvm::SmallVector<bool> stored;
  /// All clusters and barriers in an order in which they can run, each with its nodes. The order is that of the
  /// problem, except for updates of variables and for items with small results, such as the loss. These run as soon as
  /// they can, right after the items that only they need, which in turn do not run before.
  llvm::SmallVector<llvm::SmallVector<unsigned>> order;
};

Clustering cluster(const ClusterProblem &problem);

} // namespace meshwright::schedule

#endif
