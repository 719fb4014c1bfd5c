//===- CommunicateInLoops.cpp - overlaps communication in a loop's body ---===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fetches of an iteration from stacks are known when it begins: they start there, in launches of a bucket's size in the
// order of their first readers. Reductions for a stack have no reader before the loop is over: they start in buckets,
// and are waited for at the end of the iteration.
//
//     iteration f1 f2 .f1........f2.......r1.........r2....
//     in flight [-f1-]                    [----r1----][-r2]
//               [------f2----]
//
// All other operations keep their places. The result does not differ between ranks.
//
//===----------------------------------------------------------------------===//

#include "Launches.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Net/Loops.h"
#include "meshwright/Overlap/Passes.h"
#include "meshwright/Overlap/Traffic.h"
#include "meshwright/Support/Bytes.h"
#include "meshwright/Support/Units.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include <algorithm>
#include <deque>

namespace meshwright::schedule {
#define GEN_PASS_DEF_COMMUNICATEINLOOPSPASS
#include "meshwright/Overlap/Passes.h.inc"
} // namespace meshwright::schedule

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

namespace {

/// Collectives that become one.
struct Bucket {
  SmallVector<dist::CollectiveOp> members;
  int64_t bytes = 0;
};

struct Limits {
  int64_t bucketBytes;
  size_t inFlight;
};

/// Works on the operations of one body, but not on those of loops in it.
class BodyScheduler {
public:
  BodyScheduler(net::LoopOp loop, const net::LoopNest &nest, const Limits &limits);

  void startFetches();
  void collectReductions();

  int64_t numLaunches = 0, numParts = 0, numStarts = 0;

private:
  bool isThereAtBegin(Operation *op) const;
  bool isFetch(Operation *op) const;
  SmallVector<Bucket> findFetches();
  void moveToBegin(ArrayRef<Bucket> fetches);
  Operation *getPlace(Operation *reader) const;
  Operation *findFirstReader(const Bucket &bucket) const;
  bool isReduction(Operation *op) const;
  void add(Bucket &bucket, dist::CollectiveOp op);
  bool isFull(const Bucket &bucket) const { return bucket.bytes >= limits.bucketBytes; }
  dist::CollectiveOp launch(const Bucket &bucket, bool start);
  void finish(const Bucket &bucket, dist::CollectiveOp launched);

  net::LoopOp loop;
  const net::LoopNest &nest;
  const Limits &limits;
  OpBuilder builder;
  SmallVector<Operation *> body;
  llvm::DenseMap<Operation *, unsigned> positions;
  /// Operations that depend only on stacks and on values made before the loop, by layout operations alone.
  llvm::DenseSet<Operation *> atBegin;
};

} // namespace

BodyScheduler::BodyScheduler(net::LoopOp loop, const net::LoopNest &nest, const Limits &limits)
    : loop(loop), nest(nest), limits(limits), builder(loop.getContext()) {
  for (Operation *op = loop->getNextNode(); op != nest.getEnd(loop); op = op->getNextNode()) {
    positions[op] = body.size();
    body.push_back(op);
    if (isThereAtBegin(op))
      atBegin.insert(op);
  }
}

bool BodyScheduler::isThereAtBegin(Operation *op) const {
  if (nest.getLoop(op) != loop || !(isa<net::TakeOp>(op) || Traffic::isLayout(op)))
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    Operation *maker = operand.getDefiningOp();
    return !maker || maker == loop || !nest.contains(loop, maker) || atBegin.contains(maker);
  });
}

/// True if anything is computed after `begin` and before `end`.
static bool computesBetween(Operation *begin, Operation *end) {
  for (Operation *op = begin->getNextNode(); op != end; op = op->getNextNode())
    if (isComputation(op))
      return true;
  return false;
}

void BodyScheduler::add(Bucket &bucket, dist::CollectiveOp op) {
  bucket.members.push_back(op);
  bucket.bytes += getLaunchBytes(op);
}

/// Issues `bucket` at the place of the builder.
dist::CollectiveOp BodyScheduler::launch(const Bucket &bucket, bool start) {
  SmallVector<Value> inputs;
  SmallVector<Type> types;
  for (dist::CollectiveOp member : bucket.members) {
    inputs.push_back(member.getInputs().front());
    Type type = member.getResult(0).getType();
    types.push_back(start ? Type(dist::HandleType::get(builder.getContext(), dist::getTensorType(type))) : type);
  }
  ++numLaunches;
  numParts += bucket.members.size();
  numStarts += start;
  return createLaunch(builder, bucket.members, inputs, types);
}

/// Lets the readers of `bucket` read what `launched` has made, and waits for it at the place of the builder where it
/// was only started.
void BodyScheduler::finish(const Bucket &bucket, dist::CollectiveOp launched) {
  ValueRange results = launched.getResults();
  if (launched.isStart())
    results = dist::WaitOp::create(builder, launched.getLoc(), launched.getResults()).getResults();
  for (auto [index, result] : llvm::enumerate(results)) {
    dist::CollectiveOp member = bucket.members[index];
    member.getResult(0).replaceAllUsesWith(result);
    member.erase();
  }
}

//===----------------------------------------------------------------------===//
// Fetches
//===----------------------------------------------------------------------===//

bool BodyScheduler::isFetch(Operation *op) const {
  auto collective = dyn_cast<dist::CollectiveOp>(op);
  return collective && nest.getLoop(op) == loop && isSingle(collective) && Traffic::isFetching(collective) &&
         atBegin.contains(collective.getInputs().front().getDefiningOp());
}

/// The operation of the body that `reader` is, or the loop in the body that it is in.
Operation *BodyScheduler::getPlace(Operation *reader) const {
  Operation *place = reader;
  for (net::LoopOp inner = nest.getLoop(reader); inner != loop; inner = nest.getParent(inner))
    place = inner;
  return place;
}

/// The first operation of the body that reads what `bucket` fetches.
Operation *BodyScheduler::findFirstReader(const Bucket &bucket) const {
  Operation *first = nullptr;
  for (dist::CollectiveOp member : bucket.members)
    for (Operation *user : member->getUsers())
      if (Operation *place = getPlace(user); !first || positions.lookup(place) < positions.lookup(first))
        first = place;
  return first;
}

/// The fetches of the body in buckets, in the order of their first readers.
SmallVector<Bucket> BodyScheduler::findFetches() {
  // By the positions of the first reader and of the fetch itself.
  SmallVector<std::pair<std::pair<unsigned, unsigned>, dist::CollectiveOp>> fetches;
  for (Operation *op : body)
    if (isFetch(op) && !op->use_empty()) {
      auto fetch = cast<dist::CollectiveOp>(op);
      fetches.push_back({{positions.lookup(findFirstReader({{fetch}})), positions.lookup(op)}, fetch});
    }
  llvm::sort(fetches, llvm::less_first());
  SmallVector<Bucket> buckets;
  llvm::DenseMap<Attribute, unsigned> open;
  for (auto [position, op] : fetches) {
    auto [known, isNew] = open.try_emplace(getLaunchKey(op), buckets.size());
    if (isNew || isFull(buckets[known->second])) {
      known->second = buckets.size();
      buckets.emplace_back();
    }
    add(buckets[known->second], op);
  }
  return buckets;
}

/// Moves the operands of `fetches` before everything else and leaves the builder after them.
void BodyScheduler::moveToBegin(ArrayRef<Bucket> fetches) {
  llvm::DenseSet<Operation *> needed;
  SmallVector<Operation *> stack;
  for (const Bucket &bucket : fetches)
    llvm::append_range(stack, bucket.members);
  while (!stack.empty())
    for (Value operand : stack.pop_back_val()->getOperands())
      if (Operation *maker = operand.getDefiningOp(); atBegin.contains(maker) && needed.insert(maker).second)
        stack.push_back(maker);
  Operation *place = loop;
  for (Operation *op : body)
    if (needed.contains(op)) {
      op->moveAfter(place);
      place = op;
    }
  builder.setInsertionPointAfter(place);
}

/// Starts all fetches where the body begins, as far as so many may be in flight.
void BodyScheduler::startFetches() {
  SmallVector<Bucket> fetches = findFetches();
  if (fetches.empty())
    return;
  moveToBegin(fetches);
  SmallVector<Operation *> readers;
  for (const Bucket &fetch : fetches)
    readers.push_back(findFirstReader(fetch));
  SmallVector<Operation *> over;
  for (auto [index, fetch] : llvm::enumerate(fetches)) {
    if (index >= limits.inFlight)
      builder.setInsertionPointAfter(over[index - limits.inFlight]);
    dist::CollectiveOp launched = launch(fetch, /*start=*/true);
    bool overlaps = computesBetween(launched, readers[index]);
    OpBuilder::InsertionGuard guard(builder);
    if (!overlaps) {
      for (auto [result, member] : llvm::zip_equal(launched.getResults(), fetch.members))
        result.setType(member.getResult(0).getType());
      --numStarts;
    }
    builder.setInsertionPoint(readers[index]);
    finish(fetch, launched);
    over.push_back(overlaps ? readers[index]->getPrevNode() : launched.getOperation());
  }
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// True if `op` is a reduction whose result only stacks of the loop take.
bool BodyScheduler::isReduction(Operation *op) const {
  auto collective = dyn_cast<dist::CollectiveOp>(op);
  return collective && nest.getLoop(op) == loop && isSingle(collective) && Traffic::isReducing(collective) &&
         !op->use_empty() && llvm::all_of(op->getUsers(), llvm::IsaPred<net::StackOp>);
}

/// Lets reductions leave when a bucket is full, and waits for them at the end of the body.
void BodyScheduler::collectReductions() {
  net::EndLoopOp end = nest.getEnd(loop);
  llvm::MapVector<Attribute, Bucket> open;
  SmallVector<net::StackOp> stacks;
  std::deque<std::pair<Bucket, dist::CollectiveOp>> inFlight;
  auto finishOldest = [&] {
    finish(inFlight.front().first, inFlight.front().second);
    inFlight.pop_front();
  };
  for (Operation *op = loop->getNextNode(); op != end; op = op->getNextNode()) {
    if (!isReduction(op))
      continue;
    auto reduction = cast<dist::CollectiveOp>(op);
    for (Operation *user : reduction->getUsers())
      stacks.push_back(cast<net::StackOp>(user));
    Bucket &bucket = open[getLaunchKey(reduction)];
    add(bucket, reduction);
    if (!isFull(bucket) || !computesBetween(op, end))
      continue;
    builder.setInsertionPointAfter(reduction);
    if (inFlight.size() == limits.inFlight)
      finishOldest();
    op = launch(bucket, /*start=*/true);
    inFlight.push_back({std::move(bucket), cast<dist::CollectiveOp>(op)});
    bucket = {};
  }
  if (stacks.empty())
    return;
  for (net::StackOp stack : stacks)
    stack->moveBefore(end);
  builder.setInsertionPoint(stacks.front());
  while (!inFlight.empty())
    finishOldest();
  for (auto &[key, bucket] : open)
    if (!bucket.members.empty())
      finish(bucket, launch(bucket, /*start=*/false));
}

namespace {

struct CommunicateInLoopsPass : schedule::impl::CommunicateInLoopsPassBase<CommunicateInLoopsPass> {
  using CommunicateInLoopsPassBase::CommunicateInLoopsPassBase;

  void runOnOperation() override {
    Limits limits = {bucketSize.getBytes(), static_cast<size_t>(std::max<int64_t>(maxInFlight, 1))};
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isExternal())
        continue;
      FailureOr<net::LoopNest> nest = net::LoopNest::find(func.getBody().front());
      if (failed(nest))
        return signalPassFailure();
      for (net::LoopOp loop : llvm::to_vector(func.getBody().front().getOps<net::LoopOp>()))
        schedule(loop, *nest, limits);
    }
  }

  void schedule(net::LoopOp loop, const net::LoopNest &nest, const Limits &limits) {
    BodyScheduler scheduler(loop, nest, limits);
    scheduler.startFetches();
    scheduler.collectReductions();
    numLaunches += scheduler.numLaunches;
    numParts += scheduler.numParts;
    numStarts += scheduler.numStarts;
  }
};

} // namespace
