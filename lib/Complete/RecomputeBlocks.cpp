//===- RecomputeBlocks.cpp - divides forward into blocks ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Divides the operations of forward into blocks in this order: scopes that match the globs of `blocks`, stretches
// between consecutive anchors, numbered scopes (or, where operations have a price, stretches of several of them), and
// runs of at most 512 remaining operations, since the cut of a block takes more than linear time. Linear in the number
// of operations.
//
//===----------------------------------------------------------------------===//

#include "RecomputeBlocks.h"
#include "Anchors.h"
#include "dialects/Dist/Interfaces.h"
#include "dialects/Net/Net.h"
#include "meshwright/Support/Glob.h"
#include "meshwright/Support/Scopes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::complete;

/// The largest number of operations of a block without a name.
static constexpr size_t kMost = 512;

static StringRef getScope(Operation *op) {
  auto scope = net::kScopeAttr.get(op);
  return scope ? scope.getValue() : StringRef();
}

namespace {

/// Assigns a block to every operation.
class Divider {
public:
  Divider(func::FuncOp func, ArrayRef<Operation *> ops, const RecomputePassOptions &options,
          const RecomputeLocations &locations)
      : func(func), ops(ops), options(options), locations(locations), blockOf(ops.size(), -1) {}

  FailureOr<SmallVector<RecomputeBlock, 0>> run();

private:
  LogicalResult addNamed();
  LogicalResult addAnchored();
  void addStretches(KeepPolicy policy);
  void addFound(KeepPolicy policy);
  void addRest(KeepPolicy policy);
  void add(int block, unsigned op);
  int create(KeepPolicy policy);
  Location locate(ArrayRef<Location> known, size_t index) {
    return index < known.size() ? known[index] : func.getLoc();
  }

  func::FuncOp func;
  ArrayRef<Operation *> ops;
  const RecomputePassOptions &options;
  const RecomputeLocations &locations;
  SmallVector<int, 0> blockOf;
  SmallVector<RecomputeBlock, 0> blocks;
};

} // namespace

int Divider::create(KeepPolicy policy) {
  blocks.emplace_back().policy = policy;
  return static_cast<int>(blocks.size()) - 1;
}

void Divider::add(int block, unsigned op) {
  blockOf[op] = block;
  blocks[block].members.push_back(op);
}

/// Blocks by globs of scopes.
LogicalResult Divider::addNamed() {
  llvm::MapVector<StringRef, int> known;
  GlobList globs(options.blocks);
  auto matches = [&](StringRef prefix) { return globs.match(prefix, /*isChanged=*/false); };
  // The search for a block ends at the largest one: globs of smaller ones see every scope here.
  llvm::SmallDenseSet<StringRef> scopes;
  for (Operation *op : ops)
    if (scopes.insert(getScope(op)).second)
      findScopePrefix(getScope(op), [&](StringRef prefix) { return matches(prefix) && false; });
  for (auto [index, op] : llvm::enumerate(ops)) {
    StringRef name = findScopePrefix(getScope(op), matches);
    if (name.empty())
      continue;
    auto [entry, isNew] = known.insert({name, 0});
    if (isNew) {
      entry->second = create(options.policy);
      globs.match(name);
    }
    add(entry->second, index);
  }
  if (std::optional<unsigned> index = globs.findUnmatched())
    return emitError(locate(locations.blocks, *index))
           << "block \"" << globs.get(*index) << "\" matches no scope of the " << ops.size()
           << " operations of forward";
  for (unsigned index : globs.findWithoutEffect())
    emitWarning(locate(locations.blocks, index))
        << "block \"" << globs.get(index)
        << "\" has no effect: earlier globs, or larger blocks, match all that it matches";
  return success();
}

/// Blocks between consecutive anchors: `SCOPE.in`, `SCOPE.out`, or the name of a value.
LogicalResult Divider::addAnchored() {
  AnchorFinder finder;
  llvm::StringMap<unsigned> values;
  for (auto [index, op] : llvm::enumerate(ops))
    if (StringRef name = net::getUserName(op); !name.empty())
      values.try_emplace(name, index);
  SmallVector<int64_t> cuts;
  SmallVector<unsigned> scoped;
  for (auto [index, anchor] : llvm::enumerate(options.anchors)) {
    if (auto value = values.find(anchor); value != values.end())
      cuts.push_back(value->second + 1);
    else if (finder.add(anchor))
      scoped.push_back(index);
    else
      return emitError(locate(locations.anchors, index))
             << "anchor \"" << anchor << "\" is not the name of a value and ends in neither \".in\" nor \".out\"";
  }
  for (Operation *op : ops)
    finder.visit(getScope(op), /*backward=*/false, /*passive=*/op->getNumOperands() == 0);
  for (auto [index, anchor] : llvm::zip(scoped, finder.getAnchors())) {
    if (anchor.entered[0] != 1)
      return emitError(locate(locations.anchors, index)) << "the block of anchor \"" << anchor.text << "\" is entered "
                                                         << anchor.entered[0] << " times forward, not once";
    cuts.push_back(anchor.out ? anchor.end[0] : anchor.begin[0]);
  }
  llvm::sort(cuts);
  for (size_t next = 1; next < cuts.size(); ++next) {
    int block = create(options.policy);
    for (int64_t op = cuts[next - 1]; op < cuts[next]; ++op)
      if (blockOf[op] < 0)
        add(block, op);
  }
  return success();
}

void Divider::addFound(KeepPolicy policy) {
  llvm::MapVector<StringRef, int> known;
  for (auto [index, op] : llvm::enumerate(ops)) {
    StringRef name = findBlock(getScope(op));
    if (name.empty() || blockOf[index] >= 0)
      continue;
    auto [entry, isNew] = known.insert({name, 0});
    if (isNew)
      entry->second = create(policy);
    add(entry->second, index);
  }
}

/// True if the scope `inner` is `outer` or inside of it.
static bool contains(StringRef outer, StringRef inner) {
  return outer.empty() || (inner.consume_front(outer) && (inner.empty() || inner.front() == '.'));
}

/// Divides forward where found scopes with a product begin. What follows without a product belongs to such a block if
/// it is in a found scope, as a norm, or in one that contains the block, as a pool: both read what the block would
/// recompute.
void Divider::addStretches(KeepPolicy policy) {
  llvm::SmallDenseSet<StringRef> ahead;
  for (Operation *op : ops)
    if (dist::isHeavy(op))
      ahead.insert(findBlock(getScope(op)));
  // The block to which the next operation may belong, and its scope.
  int block = -1;
  StringRef scope;
  for (auto [index, op] : llvm::enumerate(ops)) {
    if (op->getNumOperands() == 0 || blockOf[index] >= 0)
      continue;
    StringRef name = findBlock(getScope(op));
    bool isFull = block < 0 || blocks[block].members.size() >= kMost;
    if (name.empty()) {
      if (isFull || dist::isHeavy(op) || !contains(getScope(op), scope))
        block = -1;
    } else if (ahead.erase(name) || isFull) {
      block = create(policy);
      scope = name;
    }
    if (block >= 0)
      add(block, index);
  }
}

/// Divides all other operations into runs of bounded length, which bounds the time per block.
void Divider::addRest(KeepPolicy policy) {
  int block = -1;
  for (unsigned index = 0; index < ops.size(); ++index) {
    if (blockOf[index] >= 0)
      continue;
    if (block < 0 || blocks[block].members.size() >= kMost)
      block = create(policy);
    add(block, index);
  }
}

FailureOr<SmallVector<RecomputeBlock, 0>> Divider::run() {
  bool named = !options.blocks.empty() || !options.anchors.empty();
  if (failed(addNamed()) || (!options.anchors.empty() && failed(addAnchored())))
    return failure();
  KeepPolicy elsewhere = named ? KeepPolicy::Cut : options.policy;
  if (elsewhere == KeepPolicy::Cut || elsewhere == KeepPolicy::Cheap)
    addStretches(elsewhere);
  addFound(elsewhere);
  if (!named && options.policy == KeepPolicy::Nothing && blocks.empty())
    return func.emitError() << "no scope of the " << ops.size()
                            << " operations of forward ends in a number, as those of repeated blocks do; "
                               "blocks or anchors name what to recompute";
  // Runs are not blocks of the network: keeping nothing of them would recompute arbitrary stretches.
  addRest(elsewhere == KeepPolicy::Nothing ? KeepPolicy::Cut : elsewhere);
  return std::move(blocks);
}

FailureOr<SmallVector<RecomputeBlock, 0>> complete::divideIntoBlocks(func::FuncOp func, ArrayRef<Operation *> ops,
                                                                     const RecomputePassOptions &options,
                                                                     const RecomputeLocations &locations) {
  return Divider(func, ops, options, locations).run();
}
