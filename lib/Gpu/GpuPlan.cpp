//===- GpuPlan.cpp - divides a kernel's plan into launches ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses the launches of a kernel and how their threads divide its loops. All choices depend only on the shapes of the
// kernel, so that sums are added in the same order on every GPU.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Gpu/GpuPlan.h"
#include "meshwright/Support/Bytes.h"
#include "llvm/ADT/bit.h"
#include <numeric>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;
using namespace meshwright::emit;

/// Threads of a block that computes elements, or short rows.
static constexpr unsigned kThreads = 256;
/// Threads for a row that is longer than this many elements for each of kThreads, and for a sum of as many.
static constexpr unsigned kMostThreads = 1024;
static constexpr int64_t kLong = 32;
/// Elements that a thread computes side by side, at most.
static constexpr int64_t kMostLanes = 8;
/// Groups of elements below which a thread has one element.
static constexpr int64_t kFew = 1 << 15;
/// The block of an accumulation whose outputs lie side by side: at most a warp's width of them, and threads in all.
static constexpr unsigned kSumWidth = 32;
static constexpr unsigned kSumThreads = 512;

// When sums are divided among blocks. The numbers decide the order of sums, so they are the same for every GPU; what
// they should be is reckoned for an H100: 132 multiprocessors of up to 2048 threads, a launch in 3 to 5 µs, and a load
// from memory in about 0.7 µs, of which a thread has a few under way.

/// A sum is divided where its threads would add so many elements, one after the other: in some 10 to 40 µs, of which
/// the division saves most and costs one launch.
static constexpr int64_t kDivided = 64;
/// But no thread gets fewer than this, so that what goes through scratch memory, an element for each block, is little
/// beside what is read.
static constexpr int64_t kPartElements = 16;
/// And not more threads than this, which are as many as run at a time: more would only leave more to add.
static constexpr int64_t kMostDivided = 1 << 18;

StringRef emit::stringifyMapping(GpuLaunchPlan::Mapping mapping) {
  switch (mapping) {
  case GpuLaunchPlan::Elements:
    return "elements";
  case GpuLaunchPlan::Rows:
    return "rows";
  case GpuLaunchPlan::Sums:
    return "sums";
  case GpuLaunchPlan::Parts:
    return "parts";
  case GpuLaunchPlan::Serial:
    return "serial";
  case GpuLaunchPlan::Copy:
    return "copy";
  case GpuLaunchPlan::Scatter:
    return "scatter";
  case GpuLaunchPlan::Search:
    return "search";
  case GpuLaunchPlan::Tiles:
    return "tiles";
  }
  llvm_unreachable("all mappings are covered");
}

namespace {

class LaunchPlanner {
public:
  LaunchPlanner(const KernelPlan &plan, ArrayRef<RankedTensorType> types, unsigned numInputs, bool keptFirst,
                int64_t alignment)
      : plan(plan), types(types), numInputs(numInputs), keptFirst(keptFirst), alignment(alignment) {}

  std::vector<GpuLaunchPlan> run();

private:
  bool addSums(unsigned reduction, bool afterRows);
  bool isKnown(const Node *node) const;
  void setSumShape(GpuLaunchPlan &launch, bool outerFirst) const;
  unsigned chooseLanes(ArrayRef<unsigned> loops, bool hasRest) const;
  void addRows();
  void addElements();
  bool divide(GpuLaunchPlan &launch) const;
  GpuLaunchPlan planParts(const GpuLaunchPlan &divided) const;
  std::vector<GpuLaunchPlan> divideSums();
  int64_t countIterations(ArrayRef<unsigned> loops) const;
  void setLoops(GpuLaunchPlan &launch, function_ref<bool(unsigned)> isOuter) const;

  const KernelPlan &plan;
  ArrayRef<RankedTensorType> types;
  unsigned numInputs;
  bool keptFirst;
  int64_t alignment;
  std::vector<GpuLaunchPlan> launches;
};

} // namespace

/// The threads that go along `number` elements together: a function of the number alone, because it decides the order
/// of sums.
static unsigned getDepth(int64_t number) {
  unsigned most = number > kLong * kThreads ? kMostThreads : kThreads;
  return static_cast<unsigned>(std::min<int64_t>(llvm::bit_ceil(static_cast<uint64_t>(number)), most));
}

int64_t LaunchPlanner::countIterations(ArrayRef<unsigned> loops) const {
  int64_t number = 1;
  for (unsigned loop : loops)
    number *= plan.variables[loop].extent;
  return number;
}

void LaunchPlanner::setLoops(GpuLaunchPlan &launch, function_ref<bool(unsigned)> isOuter) const {
  for (unsigned loop : plan.loops)
    (isOuter(loop) ? launch.outer : launch.inner).push_back(loop);
  launch.numOuter = countIterations(launch.outer);
  launch.numInner = countIterations(launch.inner);
}

/// How many elements of the last of `loops` are computed side by side: as many as the smallest of them fill 16 bytes,
/// so that all that are read and written along the loop are loaded and stored as vectors at multiples of their size.
/// One if the elements of a tensor along this loop do not lie side by side. `hasRest` says that elements after the last
/// group may be left.
unsigned LaunchPlanner::chooseLanes(ArrayRef<unsigned> loops, bool hasRest) const {
  if (loops.empty() || loops.back() != plan.loops.back())
    return 1;
  unsigned loop = loops.back();
  int64_t extent = plan.variables[loop].extent, smallest = kVectorBytes, grain = 0;
  auto isSuited = [&](const LinearForm &position, RankedTensorType type) {
    int64_t coefficient = position.getCoefficient(loop), bytes = getElementBytes(type.getElementType());
    bool isDerived = llvm::any_of(position.terms, [&](const auto &term) {
      return term.first != loop && plan.variables.isAlong(term.first, loop);
    });
    if (isDerived || (coefficient != 0 && coefficient != 1))
      return false;
    if (coefficient == 0)
      return true;
    smallest = std::min(smallest, bytes);
    grain = std::gcd(grain, position.constant * bytes);
    for (auto [variable, factor] : position.terms)
      if (variable != loop)
        grain = std::gcd(grain, factor * bytes);
    return true;
  };
  for (const auto &node : plan.nodes)
    if (node->kind == Node::Load && !isSuited(node->position, types[node->index]))
      return 1;
  for (const Store &store : plan.stores)
    if (!isSuited(store.position, types[numInputs + store.output]))
      return 1;
  if (grain % kVectorBytes != 0 || alignment < kVectorBytes)
    return 1;
  auto lanes = static_cast<unsigned>(std::min(kVectorBytes / smallest, kMostLanes));
  while (!hasRest && extent % lanes != 0)
    lanes /= 2;
  return extent < lanes ? 1 : lanes;
}

/// Chooses width and depth such that neighbouring threads read neighbouring memory.
void LaunchPlanner::setSumShape(GpuLaunchPlan &launch, bool outerFirst) const {
  launch.outerFirst = outerFirst;
  launch.depth = getDepth(launch.getNumSteps());
  // Where there are enough rows to occupy a GPU, a warp has one of its own.
  while (!outerFirst && launch.depth > kWarp && launch.numInner <= kLong * launch.depth / 2 &&
         launch.numOuter * launch.depth / 2 >= kMostDivided)
    launch.depth /= 2;
  uint64_t widest = outerFirst ? kSumWidth : std::max(kThreads / launch.depth, 1u);
  launch.width = std::min(llvm::bit_ceil(static_cast<uint64_t>(launch.numOuter)), widest);
  if (outerFirst)
    launch.depth = std::min(launch.depth, kSumThreads / launch.width);
}

/// True if `node` can be computed after the rows have been stored: from stored values, without values known only in its
/// row.
bool LaunchPlanner::isKnown(const Node *node) const {
  SmallPtrSet<const Node *, 16> visited;
  SmallVector<const Node *> worklist = {node};
  while (!worklist.empty()) {
    const Node *next = worklist.pop_back_val();
    bool isStored = llvm::any_of(plan.stores, [&](const Store &store) { return store.node == next; });
    if (isStored || !visited.insert(next).second)
      continue;
    if (next->kind == Node::RowResult)
      return false;
    llvm::append_range(worklist, next->operands);
    for (auto &[op, child] : next->extracts)
      worklist.push_back(child);
  }
  return true;
}

/// A launch for an accumulation, or its place in one with the same loops. False if some loops do not distinguish its
/// elements, or it needs a value known only within a row.
bool LaunchPlanner::addSums(unsigned index, bool afterRows) {
  const Reduction &reduction = plan.reductions[index];
  GpuLaunchPlan launch;
  launch.mapping = GpuLaunchPlan::Sums;
  setLoops(launch, [&](unsigned loop) { return reduction.position.uses(loop); });
  if (!plan.variables.isOfLoops(reduction.position) ||
      launch.numOuter != types[numInputs + *reduction.output].getNumElements() ||
      (afterRows && !isKnown(reduction.input)))
    return false;
  for (GpuLaunchPlan &other : launches)
    if (other.mapping == GpuLaunchPlan::Sums && other.stored.empty() != afterRows && other.outer == launch.outer) {
      other.reductions.push_back(index);
      return true;
    }
  launch.reductions.push_back(index);
  setSumShape(launch, !launch.outer.empty() && launch.outer.back() == plan.loops.back());
  if (afterRows)
    llvm::append_range(launch.stored, llvm::seq<unsigned>(0, plan.stores.size()));
  launches.push_back(std::move(launch));
  return true;
}

void LaunchPlanner::addRows() {
  GpuLaunchPlan launch;
  launch.mapping = GpuLaunchPlan::Rows;
  ArrayRef<unsigned> rows = ArrayRef(plan.loops).take_front(plan.numRowLoops);
  setLoops(launch, [&](unsigned loop) { return llvm::is_contained(rows, loop); });
  launch.lanes = keptFirst ? 1 : chooseLanes(launch.inner, /*hasRest=*/launch.inner.size() == 1);
  setSumShape(launch, keptFirst);
  for (auto [index, reduction] : llvm::enumerate(plan.reductions))
    if (reduction.row)
      launch.reductions.push_back(index);
  for (size_t index = 0; index < plan.stores.size(); ++index)
    launch.stores.push_back(index);
  launches.push_back(std::move(launch));
}

/// One launch for what is stored for every element of the domain, and one for what is stored once.
void LaunchPlanner::addElements() {
  GpuLaunchPlan all, once;
  all.mapping = once.mapping = GpuLaunchPlan::Elements;
  setLoops(all, [](unsigned) { return true; });
  all.width = kThreads;
  all.lanes = chooseLanes(all.outer, /*hasRest=*/false);
  while (all.lanes > 1 && all.numOuter < kFew * all.lanes)
    all.lanes /= 2;
  all.numOuter /= all.lanes;
  for (auto [index, store] : llvm::enumerate(plan.stores))
    (store.position.isConstant() ? once : all).stores.push_back(index);
  for (GpuLaunchPlan &launch : {std::ref(all), std::ref(once)})
    if (!launch.stores.empty())
      launches.push_back(std::move(launch));
}

/// Divides the sums of `launch` into a power of two of parts; false where there is nothing to gain, or what a row
/// stores in its columns needs the row's sums.
bool LaunchPlanner::divide(GpuLaunchPlan &launch) const {
  bool canBeDivided =
      launch.mapping == GpuLaunchPlan::Sums || (launch.mapping == GpuLaunchPlan::Rows && plan.numStages == 1);
  if (!canBeDivided || launch.numInner < kDivided * launch.depth)
    return false;
  unsigned depth = launch.outerFirst ? launch.depth : std::min(launch.depth, kThreads);
  int64_t most = std::min(launch.numInner / (depth * kPartElements),
                          kMostDivided / (launch.getNumGroups() * launch.width * depth));
  if (most < 2)
    return false;
  launch.parts = llvm::bit_floor(static_cast<uint64_t>(most));
  launch.depth = depth;
  return true;
}

/// The launch that adds what the blocks of `divided` leave, and stores what is known then.
GpuLaunchPlan LaunchPlanner::planParts(const GpuLaunchPlan &divided) const {
  GpuLaunchPlan launch;
  launch.mapping = GpuLaunchPlan::Parts;
  launch.outer = divided.outer;
  launch.numOuter = divided.numOuter;
  launch.numInner = divided.parts;
  launch.reductions = divided.reductions;
  launch.stores = divided.stores;
  setSumShape(launch, divided.outerFirst);
  return launch;
}

std::vector<GpuLaunchPlan> LaunchPlanner::divideSums() {
  std::vector<GpuLaunchPlan> all;
  for (GpuLaunchPlan &launch : launches) {
    bool isDivided = divide(launch);
    all.push_back(std::move(launch));
    if (isDivided)
      all.push_back(planParts(all.back()));
  }
  return all;
}

std::vector<GpuLaunchPlan> LaunchPlanner::run() {
  SmallVector<unsigned> later;
  bool hasRows = false;
  for (auto [index, reduction] : llvm::enumerate(plan.reductions)) {
    hasRows |= reduction.row;
    if (!reduction.row && reduction.input->stage > 0)
      later.push_back(index);
    else if (!reduction.row && !addSums(index, /*afterRows=*/false))
      return {GpuLaunchPlan()};
  }
  hasRows ? addRows() : addElements();
  for (unsigned index : later)
    if (!addSums(index, /*afterRows=*/true))
      return {GpuLaunchPlan()};
  return divideSums();
}

std::vector<GpuLaunchPlan> emit::planLaunches(const KernelPlan &plan, ArrayRef<RankedTensorType> types,
                                              unsigned numInputs, bool keptFirst, int64_t alignment) {
  return LaunchPlanner(plan, types, numInputs, keptFirst, alignment).run();
}
