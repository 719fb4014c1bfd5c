//===- Clustering.cpp - groups operations into kernels --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Greedy joins in program order (Clustering.h has the invariant on depths), then a pass in reverse that sinks nodes
// into their only reading cluster, the choice of stored values, and an order in which updates come as soon as they can.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Kernels/Clustering.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include <queue>
#include <tuple>

using namespace llvm;
using namespace meshwright::schedule;

namespace {

using Access = ClusterProblem::Access;
using Node = ClusterProblem::Node;

class Greedy {
public:
  explicit Greedy(const ClusterProblem &problem)
      : problem(problem), depth(problem.nodes.size(), 0), clusterOf(problem.nodes.size(), -1),
        late(problem.nodes.size(), false), generated(problem.nodes.size(), false),
        isTrigger(problem.nodes.size(), false) {}

  Clustering run();

private:
  struct Cluster {
    unsigned depth = 0;
    int64_t elements = 0;
    unsigned members = 0;
    /// The number of rows that the row reductions keep; -1 while the cluster has none.
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
  int joinTrigger(unsigned index, unsigned deepest);
  int findSibling(const Node &node, unsigned wanted);
  void join(unsigned index, int cluster);
  void findUsers();
  void sink();
  bool canBeInside(unsigned index, int target);
  int findTarget(unsigned index);
  SmallVector<bool> chooseStored();
  SmallVector<SmallVector<unsigned>> sort(ArrayRef<bool> stored);

  const ClusterProblem &problem;
  SmallVector<Cluster> clusters;
  SmallVector<unsigned> depth;
  SmallVector<int> clusterOf;
  /// Reductions that are known only when their kernel ends.
  SmallVector<bool> late;
  /// Nodes that read no value of their own size, such as random masks; every reader recomputes them.
  SmallVector<bool> generated;
  /// Nodes that others are not to run before: they stay where they are.
  SmallVector<bool> isTrigger;
  /// The last cluster that reads a value as a whole.
  DenseMap<int, int> readers;
  /// For every node the nodes that use what it makes, and how.
  SmallVector<SmallVector<std::pair<unsigned, const ClusterProblem::Use *>, 2>> users;
};

} // namespace

/// True if `node` has one element for each row of `cluster`.
bool Greedy::isRowLevel(unsigned node, const Cluster &cluster) const {
  const Node &made = problem.nodes[node];
  return made.kind == Node::Reduce ||
         (cluster.rows >= 0 && made.elements == cluster.rows && made.elements != cluster.elements);
}

/// True if `node`, inside `cluster`, can read a value made by another member of it.
bool Greedy::canRead(const Node &node, const ClusterProblem::Use &use, const Cluster &cluster) const {
  if (node.members != cluster.members || use.access == Access::Memory || late[use.producer] ||
      cluster.size >= problem.limit)
    return false;
  bool row = isRowLevel(use.producer, cluster);
  if (node.elements == cluster.elements)
    return row ? use.access == Access::Row && use.elements == cluster.rows : use.access == Access::Same;
  return node.kind == Node::Map && node.elements == cluster.rows && row && use.access == Access::Same;
}

bool Greedy::canMerge(const Cluster &left, const Cluster &right) const {
  return left.depth == right.depth && left.elements == right.elements && left.members == right.members &&
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

/// The cluster of the trigger of node `index`, merged with what the node reads of the same depth; -1 where it cannot be
/// part of that. Everything else that it reads is less deep.
int Greedy::joinTrigger(unsigned index, unsigned deepest) {
  const Node &node = problem.nodes[index];
  if (clusterOf[node.trigger] < 0)
    return -1;
  int target = find(clusterOf[node.trigger]);
  const Cluster &cluster = clusters[target];
  bool whole = node.elements == cluster.elements, row = node.kind == Node::Map && node.elements == cluster.rows;
  bool fits = node.kind != Node::Reduce || cluster.rows < 0 || node.kept == cluster.rows;
  if ((!whole && !row) || !fits || node.members != cluster.members || cluster.size >= problem.limit)
    return -1;
  if (deepest < cluster.depth)
    return target;
  int read = findJoin(index, deepest);
  return read >= 0 && canMerge(clusters[read], clusters[target]) ? merge(read, target) : -1;
}

/// A cluster of depth `wanted` over the same domain that reads a value that `node` reads too.
int Greedy::findSibling(const Node &node, unsigned wanted) {
  for (const ClusterProblem::Use &use : node.uses) {
    if (use.access != Access::Same || use.elements != node.elements || use.value < 0)
      continue;
    auto reader = readers.find(use.value);
    if (reader == readers.end())
      continue;
    int sibling = find(reader->second);
    if (clusters[sibling].depth == wanted && clusters[sibling].elements == node.elements &&
        clusters[sibling].members == node.members && clusters[sibling].size < problem.limit)
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
    if (use.access == Access::Same && use.elements == cluster.elements && use.value >= 0)
      readers[use.value] = target;
}

void Greedy::findUsers() {
  users.resize(problem.nodes.size());
  for (auto [index, node] : enumerate(problem.nodes))
    for (const ClusterProblem::Use &use : node.uses)
      if (use.producer >= 0)
        users[use.producer].push_back({index, &use});
  for (auto [index, node] : enumerate(problem.nodes))
    generated[index] = node.kind == Node::Map && all_of(node.uses, [&](const ClusterProblem::Use &use) {
                         return use.elements < node.elements || (use.producer >= 0 && generated[use.producer]);
                       });
}

/// True if node `index` can be inside `target`: all readers there read it element by element or row by row.
bool Greedy::canBeInside(unsigned index, int target) {
  const Node &node = problem.nodes[index];
  const Cluster &into = clusters[target];
  if (into.size >= problem.limit || into.members != node.members)
    return false;
  bool row = node.elements == into.rows && node.elements != into.elements;
  return all_of(users[index], [&](auto &entry) {
    auto [user, use] = entry;
    return find(clusterOf[user]) != target ||
           (use->access != Access::Memory && (row || (use->access == Access::Same && node.elements == into.elements)));
  });
}

/// The cluster that node `index` can move into; -1 where there is none. It is the only one that reads what the node
/// makes; of what is generated the first, whose values the others then read.
int Greedy::findTarget(unsigned index) {
  SmallSetVector<int, 2> found;
  for (auto [user, use] : users[index]) {
    if (clusterOf[user] < 0)
      return -1;
    found.insert(find(clusterOf[user]));
  }
  auto isBefore = [&](int left, int right) { return clusters[left].depth < clusters[right].depth; };
  int target = *llvm::min_element(found, isBefore);
  bool isFirst = all_of(found, [&](int other) { return other == target || isBefore(target, other); });
  if (found.size() > 1 && (!generated[index] || !isFirst))
    return -1;
  return canBeInside(index, target) ? target : -1;
}

/// Moves what a single later cluster reads into it, the last first, so that chains move as a whole. Its operands are
/// made before, as everything that it depends on is less deep; who reads it beside that cluster is deeper.
void Greedy::sink() {
  constexpr unsigned kMaxReads = 2;
  for (size_t index = problem.nodes.size(); index-- > 0;) {
    const Node &node = problem.nodes[index];
    if (node.kind != Node::Map || users[index].empty() || isTrigger[index])
      continue;
    int target = findTarget(index);
    unsigned reads = count_if(
        node.uses, [&](const ClusterProblem::Use &use) { return use.value >= 0 && use.elements >= node.elements; });
    if (target < 0 || target == find(clusterOf[index]) || reads > kMaxReads)
      continue;
    --clusters[find(clusterOf[index])].size;
    clusterOf[index] = target;
    ++clusters[target].size;
  }
}

/// Stores values that other clusters read, unless these can recompute them by a few cheap operations from one value of
/// the same size that is in memory anyway: reading that costs the same and saves the store. The result of a GEMM's
/// epilogue is stored in place of the GEMM's result.
SmallVector<bool> Greedy::chooseStored() {
  constexpr unsigned kMaxOperations = 8;
  struct Recipe {
    bool exists = false;
    unsigned operations = 1;
    SmallSetVector<int, 2> sources;
  };
  SmallVector<bool> stored(problem.nodes.size(), true), passing(problem.nodes.size(), false);
  SmallVector<Recipe> recipes(problem.nodes.size());
  int numNodes = problem.nodes.size();
  for (auto [index, node] : enumerate(problem.nodes)) {
    // A value made of passing values alone passes, too.
    passing[index] = node.passing || (node.kind == Node::Map && !node.uses.empty() &&
                                      all_of(node.uses, [&](const ClusterProblem::Use &use) {
                                        return use.value < 0 || (use.producer >= 0 && passing[use.producer]);
                                      }));
    if (node.kind == Node::Barrier)
      continue;
    Recipe &recipe = recipes[index];
    recipe.exists = node.kind == Node::Map && !node.expensive && !node.finishing;
    for (const ClusterProblem::Use &use : node.uses) {
      bool whole = use.elements >= node.elements;
      bool made = use.producer >= 0 && !stored[use.producer];
      recipe.exists &= use.value < 0 || !whole || use.access == Access::Same;
      if (made) {
        const Recipe &operand = recipes[use.producer];
        recipe.exists &= operand.exists && whole;
        recipe.operations += operand.operations;
        recipe.sources.insert(operand.sources.begin(), operand.sources.end());
      } else if (whole && use.value >= 0) {
        recipe.sources.insert(use.producer >= 0 ? use.producer : numNodes + use.value);
      }
    }
    bool outside = false;
    for (auto [user, use] : users[index]) {
      if (clusterOf[user] == clusterOf[index])
        continue;
      outside = true;
      // Another segment would keep what was fetched for this one.
      recipe.exists &= problem.nodes[user].members == node.members ||
                       none_of(recipe.sources, [&](int source) { return source < numNodes && passing[source]; });
      recipe.exists &=
          clusterOf[user] >= 0 && use->access == Access::Same && clusters[clusterOf[user]].elements == node.elements;
    }
    recipe.exists &= recipe.operations <= kMaxOperations;
    stored[index] = outside && (!recipe.exists || recipe.sources.size() > 1);
  }
  return stored;
}

Clustering Greedy::run() {
  for (auto [index, node] : enumerate(problem.nodes)) {
    unsigned deepest = 0;
    for (const ClusterProblem::Use &use : node.uses)
      if (use.producer >= 0)
        deepest = std::max(deepest, depth[use.producer]);
    for (unsigned before : node.predecessors)
      deepest = std::max(deepest, depth[before]);
    unsigned floor = node.trigger < 0 ? deepest : std::max(deepest, depth[node.trigger]);
    if (node.trigger >= 0)
      isTrigger[node.trigger] = true;
    if (node.kind == Node::Barrier) {
      depth[index] = floor + 1;
      continue;
    }
    int target = -1;
    if (node.trigger >= 0 && depth[node.trigger] == floor)
      target = joinTrigger(index, deepest);
    else if (deepest > 0)
      target = findJoin(index, deepest);
    deepest = floor;
    if (target < 0)
      target = findSibling(node, deepest + 1);
    if (target < 0) {
      target = clusters.size();
      clusters.push_back({deepest + 1, node.elements, node.members});
    }
    join(index, target);
  }
  findUsers();
  sink();
  for (int &cluster : clusterOf)
    if (cluster >= 0)
      cluster = find(cluster);
  SmallVector<bool> stored = chooseStored();
  return {clusterOf, stored, sort(stored)};
}

namespace {

/// Clusters and barriers as items to be put in order: that of the problem, except for *branches*. The head of a branch
/// is an item that frees memory, such as an update or a sum, or a small one that another branch reads; all items that
/// only lead to the head are part of the branch. It runs as a whole as soon as everything that it reads from outside is
/// there, and not before.
///
/// Every path out of a branch leads through its head, so branches wait for each other no more than their heads do.
class Sorter {
public:
  Sorter(const ClusterProblem &problem, ArrayRef<int> clusterOf, ArrayRef<bool> stored);
  SmallVector<SmallVector<unsigned>> run();

private:
  void addEdges();
  SmallVector<SmallSetVector<int, 2>> findRecomputers() const;
  SmallVector<int> orderByEdges() const;
  void findBranches();
  void findHeads();
  void findStaying();
  void release(int item);
  void finish(int item);

  const ClusterProblem &problem;
  ArrayRef<bool> stored;
  SmallVector<SmallVector<unsigned>> items;
  SmallVector<int> itemOf;
  /// The items that wait for an item: for its values, or until it has read memory that they overwrite.
  SmallVector<SmallSetVector<int, 4>> users, successors;
  SmallVector<unsigned> waiting, waitingSoftly;
  SmallVector<bool> done, small, stays, last;
  /// For every item the head of its branch, or -1; for every head the members of its branch, and the number of values
  /// from outside that one of these waits for.
  SmallVector<int> branchOf;
  SmallVector<SmallVector<int, 1>> members;
  SmallVector<unsigned> waitingAsBranch;
  /// Those that come last after all others.
  std::priority_queue<std::pair<bool, int>, std::vector<std::pair<bool, int>>, std::greater<>> ready;
  /// Items of branches by the branch's size, so that the shortest is first, and by its head.
  using InBranch = std::tuple<size_t, int, int>;
  std::priority_queue<InBranch, std::vector<InBranch>, std::greater<>> readyInBranch;
};

} // namespace

Sorter::Sorter(const ClusterProblem &problem, ArrayRef<int> clusterOf, ArrayRef<bool> stored)
    : problem(problem), stored(stored) {
  itemOf.resize(problem.nodes.size());
  DenseMap<int, int> itemOfCluster;
  for (unsigned index = 0; index < problem.nodes.size(); ++index) {
    itemOf[index] = items.size();
    if (clusterOf[index] >= 0) {
      auto [known, isNew] = itemOfCluster.insert({clusterOf[index], static_cast<int>(items.size())});
      itemOf[index] = known->second;
      if (!isNew) {
        items[known->second].push_back(index);
        continue;
      }
    }
    items.push_back({index});
  }
  done.resize(items.size(), false);
  addEdges();
  findBranches();
}

void Sorter::addEdges() {
  users.resize(items.size());
  successors.resize(items.size());
  waiting.resize(items.size(), 0);
  waitingSoftly.resize(items.size(), 0);
  SmallVector<SmallSetVector<int, 2>> recomputers = findRecomputers();
  for (auto [index, node] : enumerate(problem.nodes)) {
    int item = itemOf[index];
    for (const ClusterProblem::Use &use : node.uses)
      if (use.producer >= 0 && itemOf[use.producer] != item && users[itemOf[use.producer]].insert(item))
        ++waiting[item];
    if (node.trigger >= 0 && itemOf[node.trigger] != item && users[itemOf[node.trigger]].insert(item))
      ++waiting[item];
    for (unsigned before : node.predecessors)
      if (users[itemOf[before]].insert(item))
        ++waiting[item];
    for (unsigned before : node.after) {
      SmallVector<int, 4> readers = {itemOf[before]};
      append_range(readers, recomputers[before]);
      for (int reader : readers)
        if (reader != item && successors[reader].insert(item))
          ++waitingSoftly[item];
    }
  }
}

/// For every node the other items that compute it again, because it is not stored: they read what it reads.
SmallVector<SmallSetVector<int, 2>> Sorter::findRecomputers() const {
  SmallVector<SmallSetVector<int, 2>> recomputers(problem.nodes.size());
  for (size_t index = problem.nodes.size(); index-- > 0;)
    for (const ClusterProblem::Use &use : problem.nodes[index].uses) {
      if (use.producer < 0 || stored[use.producer] || problem.nodes[use.producer].kind == Node::Barrier)
        continue;
      SmallSetVector<int, 2> &found = recomputers[use.producer];
      if (itemOf[index] != itemOf[use.producer])
        found.insert(itemOf[index]);
      if (!stored[index])
        found.insert(recomputers[index].begin(), recomputers[index].end());
    }
  return recomputers;
}

/// Finds items of loops, whose order frees nothing, and those that receive data of other ranks or read it: it arrives
/// while others run. Readers that only lead to outputs come last.
void Sorter::findStaying() {
  stays.resize(items.size(), false);
  last.resize(items.size(), false);
  for (auto [index, node] : enumerate(problem.nodes)) {
    bool readsRemote = any_of(node.uses, [&](const ClusterProblem::Use &use) {
      return use.producer >= 0 && problem.nodes[use.producer].remote;
    });
    int item = itemOf[index];
    stays[item] = stays[item] || node.looped || node.remote || readsRemote;
    last[item] = last[item] || (readsRemote && !node.looped && !node.remote);
  }
  for (size_t item = 0; item < items.size(); ++item)
    last[item] = last[item] && all_of(users[item], [&](int user) { return users[user].empty(); });
}

/// Finds the heads that free memory: assignments, items that only assignments read, and items that make small values of
/// larger ones.
void Sorter::findHeads() {
  SmallVector<bool> assigns(items.size(), false);
  SmallVector<int64_t> made(items.size(), 0), read(items.size(), 0);
  for (auto [index, node] : enumerate(problem.nodes)) {
    int item = itemOf[index];
    assigns[item] = assigns[item] || node.assigns;
    for (const ClusterProblem::Use &use : node.uses) {
      if (use.producer < 0 || itemOf[use.producer] == item)
        continue;
      made[itemOf[use.producer]] = std::max(made[itemOf[use.producer]], use.elements);
      read[item] = std::max(read[item], use.elements);
    }
  }
  constexpr int64_t kFewElements = 1024;
  for (size_t item = 0; item < items.size(); ++item) {
    small[item] = made[item] <= kFewElements;
    bool onlyAssigned = all_of(users[item], [&](int user) { return assigns[user]; });
    bool sums = small[item] && read[item] > kFewElements;
    if (assigns[item] || (!users[item].empty() && (onlyAssigned || sums)))
      branchOf[item] = item;
  }
}

/// All items, users after what they wait for.
SmallVector<int> Sorter::orderByEdges() const {
  SmallVector<int> order;
  SmallVector<unsigned> left = waiting;
  for (size_t item = 0; item < items.size(); ++item)
    if (left[item] == 0)
      order.push_back(item);
  for (size_t next = 0; next < order.size(); ++next)
    for (int user : users[order[next]])
      if (--left[user] == 0)
        order.push_back(user);
  return order;
}

void Sorter::findBranches() {
  branchOf.resize(items.size(), -1);
  members.resize(items.size());
  waitingAsBranch.resize(items.size(), 0);
  small.resize(items.size(), false);
  findHeads();
  findStaying();
  SmallVector<int> order = orderByEdges();
  for (int item : reverse(order)) {
    auto branches = map_range(users[item], [&](int user) { return branchOf[user]; });
    auto isBranch = [](int branch) { return branch >= 0; };
    if (stays[item])
      branchOf[item] = -1;
    else if (branchOf[item] < 0 && !users[item].empty() && all_equal(branches))
      branchOf[item] = *branches.begin();
    else if (branchOf[item] < 0 && small[item] && any_of(branches, isBranch))
      branchOf[item] = item;
    if (branchOf[item] >= 0)
      members[branchOf[item]].push_back(item);
  }
  for (size_t item = 0; item < items.size(); ++item)
    for (int user : users[item])
      if (branchOf[user] >= 0 && branchOf[user] != branchOf[item])
        ++waitingAsBranch[branchOf[user]];
}

void Sorter::release(int item) {
  int branch = branchOf[item];
  if (waiting[item] != 0 || done[item] || (branch >= 0 && waitingAsBranch[branch] != 0))
    return;
  ready.push({last[item], item});
  if (branch >= 0 && waitingSoftly[item] == 0)
    readyInBranch.push({members[branch].size(), branch, item});
}

void Sorter::finish(int item) {
  done[item] = true;
  for (int user : users[item]) {
    int branch = branchOf[user];
    --waiting[user];
    if (branch >= 0 && branch != branchOf[item] && --waitingAsBranch[branch] == 0)
      for (int member : members[branch])
        release(member);
    else
      release(user);
  }
  for (int successor : successors[item])
    if (--waitingSoftly[successor] == 0)
      release(successor);
}

SmallVector<SmallVector<unsigned>> Sorter::run() {
  SmallVector<SmallVector<unsigned>> order;
  for (unsigned item = 0; item < items.size(); ++item)
    release(item);
  while (!ready.empty()) {
    int item = ready.top().second;
    if (readyInBranch.empty()) {
      ready.pop();
    } else {
      item = std::get<2>(readyInBranch.top());
      readyInBranch.pop();
    }
    if (done[item])
      continue;
    order.push_back(items[item]);
    finish(item);
  }
  return order;
}

SmallVector<SmallVector<unsigned>> Greedy::sort(ArrayRef<bool> stored) {
  return Sorter(problem, clusterOf, stored).run();
}

Clustering meshwright::schedule::cluster(const ClusterProblem &problem) { return Greedy(problem).run(); }
