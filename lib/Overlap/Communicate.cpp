//===- Communicate.cpp - overlaps communication with computation ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts the operations of a step in a new order, one after the other. What waits for a launch in flight is put off when
// it belongs to the update, and comes when the launch has been waited for; whatever else needs it makes it be waited
// for.
//
//     forward and backward   ..a a.b b........c.........
//     gradients in flight         [---a----][----b----]        a: waited for when c starts, two buckets later
//     their updates                         a.         b. c.
//
// A loop is one operation here: nothing comes between, and CommunicateInLoops has ordered what the body exchanges.
//
//===----------------------------------------------------------------------===//

#include "Launches.h"
#include "meshwright/Memory/Storage.h"
#include "meshwright/Overlap/Passes.h"
#include "meshwright/Overlap/Traffic.h"
#include "meshwright/Support/Bytes.h"
#include "meshwright/Support/Units.h"
#include "llvm/ADT/MapVector.h"
#include <algorithm>
#include <deque>

namespace meshwright::schedule {
#define GEN_PASS_DEF_COMMUNICATEPASS
#include "meshwright/Overlap/Passes.h.inc"
} // namespace meshwright::schedule

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;
using Purpose = Traffic::Purpose;

namespace {

/// Collectives that are issued as one, each with what takes over from it.
struct Launch {
  Purpose purpose;
  /// The place of this one among all.
  unsigned number = 0;
  SmallVector<dist::CollectiveOp> members, nexts;
  int64_t bytes = 0;
  /// The segments with which a fetch starts and for which it is.
  int64_t startsAt = 0, segment = 0;
  /// For a fetch: the bytes alive once it has started, including copies in another layout.
  int64_t liveBytes = 0;
  enum { Collecting, Started, Over } state = Collecting;
  /// The issued operations, the last of them with the results, and the amount computed before they were issued.
  SmallVector<dist::CollectiveOp, 2> issued;
  int64_t computedBefore = 0;
  /// Operations put off until the launch is over.
  SmallVector<Operation *> waiting;
};

struct Limits {
  int64_t bucketBytes, inFlight;
  bool lateReductions;
  /// Bytes of fetched parameters that may be alive; 0 for no bound.
  int64_t liveBytes;
};

/// Reorders one function.
class Scheduler {
public:
  Scheduler(func::FuncOp func, const net::LoopNest &nest, const Limits &limits)
      : block(func.getBody().front()), builder(func.getContext()), nest(nest), limits(limits), traffic(func, nest) {}

  void run();

  int64_t numLaunches = 0, numParts = 0, numStarts = 0;

private:
  // Operations.
  void process(Operation *op);
  void processReady();
  void prepare(Operation *op);
  void demand(Operation *op);
  void emit(Operation *op);
  void place(Operation *op);
  void demandLoop(net::LoopOp loop);
  void sendFrom(Operation *op);
  Launch *findPending(Operation *op);
  bool isEmitted(Operation *op) const { return emitted.contains(op); }

  // Launches.
  Launch &create(Purpose purpose);
  void add(Launch &launch, dist::CollectiveOp op);
  void join(dist::CollectiveOp op);
  void start(Launch &launch);
  dist::CollectiveOp issue(ArrayRef<dist::CollectiveOp> members, ValueRange inputs, ValueRange likes);
  void finish(Launch &launch);
  void replace(Launch &launch, ValueRange values);
  void endBackward();
  void finishAll();

  // Fetches.
  void makeFetches(ArrayRef<Operation *> ops);
  void startFetches(Operation *before);
  void countReaders(dist::CollectiveOp member);
  void countRead(Operation *reader);

  Attribute getKey(dist::CollectiveOp op);

  Block &block;
  OpBuilder builder;
  const net::LoopNest &nest;
  const Limits &limits;
  Traffic traffic;
  llvm::DenseSet<Operation *> emitted;
  /// Kernels and products so far.
  int64_t computed = 0;
  std::deque<Launch> launches;
  llvm::DenseMap<Operation *, Launch *> launchOf;
  /// For operations that are put off, for what.
  llvm::DenseMap<Operation *, Launch *> putOff;
  llvm::DenseMap<Operation *, unsigned> positions;
  llvm::MapVector<Attribute, Launch *> buckets;
  /// Buckets that have not started, in order.
  SmallVector<Launch *> unsent;
  SmallVector<Launch *> fetches;
  size_t nextFetch = 0;
  /// The fetched values that an operation reads, and the number of remaining readers of each.
  llvm::DenseMap<Operation *, SmallVector<Operation *, 2>> fetchedBy;
  llvm::DenseMap<Operation *, int64_t> readersLeft, fetchedBytes;
  /// Bytes of fetched values that are in flight or still read.
  int64_t live = 0;
  std::deque<Launch *> inFlight;
  /// Operations that were put off for launches that are over now.
  std::deque<Operation *> ready;
  bool backwardIsOver = false;
};

} // namespace

static int64_t getInteger(Operation *op, StringRef name, int64_t otherwise) {
  auto attr = op->getAttrOfType<IntegerAttr>(name);
  return attr ? attr.getInt() : otherwise;
}

static bool isGradient(const Launch *launch) { return launch->purpose == Purpose::Gradient; }

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// The youngest bucket that `op` has to wait for; null where there is none.
Launch *Scheduler::findPending(Operation *op) {
  Launch *result = nullptr;
  SmallVector<Operation *> stack = {op};
  llvm::DenseSet<Operation *> visited;
  while (!stack.empty()) {
    for (Value operand : stack.pop_back_val()->getOperands()) {
      Operation *maker = operand.getDefiningOp();
      if (!maker || isEmitted(maker) || !visited.insert(maker).second)
        continue;
      Launch *launch = launchOf.lookup(maker);
      if (launch && launch->purpose != Purpose::Gradient && launch->purpose != Purpose::Update)
        continue;
      if (!launch)
        launch = putOff.lookup(maker);
      if (launch && launch->state != Launch::Over) {
        if (!result || result->number < launch->number)
          result = launch;
        continue;
      }
      stack.push_back(maker);
    }
  }
  return result;
}

/// Emits `op`, puts it off, or leaves it to its users.
void Scheduler::process(Operation *op) {
  if (isEmitted(op) || launchOf.contains(op) || traffic.isOnDemand(op))
    return;
  if (nest.getLoop(op))
    return demand(op);
  bool isEarly = llvm::any_of(
      op->getOperands(), [&](Value operand) { return operand.getDefiningOp() && !isEmitted(operand.getDefiningOp()); });
  if (isEarly && isa<dist::ViewOp>(op))
    return;
  if (isEarly && traffic.isLate(op))
    if (Launch *launch = findPending(op)) {
      launch->waiting.push_back(op);
      putOff[op] = launch;
      return;
    }
  auto collective = dyn_cast<dist::CollectiveOp>(op);
  if (!collective || !isSingle(collective))
    demand(op);
  else if (traffic.getPurpose(collective) != Purpose::Fetch)
    join(collective);
}

/// Emits operations that were put off for launches that are over.
void Scheduler::processReady() {
  while (!ready.empty()) {
    Operation *op = ready.front();
    ready.pop_front();
    process(op);
  }
}

/// Emits what `op` needs; what is in flight comes last, so that it travels beside the rest.
void Scheduler::prepare(Operation *op) {
  auto isInFlight = [&](Operation *maker) {
    auto collective = dyn_cast<dist::CollectiveOp>(maker);
    return collective && isSingle(collective);
  };
  net::LoopOp own = nest.getOutermost(op);
  auto isOwn = [&](Operation *maker) { return own && nest.contains(own, maker); };
  for (Value operand : op->getOperands())
    if (Operation *maker = operand.getDefiningOp();
        maker && !isEmitted(maker) && !isOwn(maker) && (!isInFlight(maker) || nest.getLoop(maker)))
      demand(maker);
  for (unsigned index = 0; index < op->getNumOperands(); ++index) {
    Operation *maker = op->getOperand(index).getDefiningOp();
    if (!maker || isEmitted(maker) || isOwn(maker))
      continue;
    if (!launchOf.contains(maker))
      join(cast<dist::CollectiveOp>(maker));
    finish(*launchOf.lookup(maker));
  }
}

void Scheduler::demand(Operation *op) {
  if (net::LoopOp loop = nest.getOutermost(op))
    return demandLoop(loop);
  prepare(op);
  emit(op);
}

void Scheduler::emit(Operation *op) {
  if (isEmitted(op))
    return;
  place(op);
  countRead(op);
  sendFrom(op);
}

void Scheduler::place(Operation *op) {
  emitted.insert(op);
  op->moveBefore(block.getTerminator());
  computed += dist::isComputation(op);
}

/// Emits a whole loop, after all operations that its body needs from outside.
void Scheduler::demandLoop(net::LoopOp loop) {
  SmallVector<Operation *> body;
  for (Operation *op = loop; op != nest.getEnd(loop); op = op->getNextNode())
    body.push_back(op);
  body.push_back(nest.getEnd(loop));
  for (Operation *op : body)
    prepare(op);
  for (Operation *op : body)
    place(op);
  // Launches come after the loop.
  for (Operation *op : body) {
    countRead(op);
    sendFrom(op);
  }
}

/// Puts the gradients that `op` makes into their buckets at once.
void Scheduler::sendFrom(Operation *op) {
  // Uses are in no order of the program's.
  SmallVector<std::pair<unsigned, Operation *>> users;
  for (Operation *user : op->getUsers())
    users.push_back({positions.lookup(user), user});
  llvm::sort(users);
  for (auto [position, user] : users) {
    auto collective = dyn_cast<dist::CollectiveOp>(user);
    if (collective && traffic.getPurpose(collective) == Purpose::Gradient && !launchOf.contains(user))
      join(collective);
    auto view = dyn_cast<dist::ViewOp>(user);
    if (!view || !view->hasOneUse())
      continue;
    auto next = dyn_cast<dist::CollectiveOp>(*view->user_begin());
    if (next && traffic.getPurpose(next) == Purpose::Gradient)
      emit(view);
  }
}

//===----------------------------------------------------------------------===//
// Buckets
//===----------------------------------------------------------------------===//

Launch &Scheduler::create(Purpose purpose) {
  Launch &launch = launches.emplace_back();
  launch.purpose = purpose;
  launch.number = launches.size();
  return launch;
}

/// A key that is equal for all collectives that can be one launch.
Attribute Scheduler::getKey(dist::CollectiveOp op) {
  auto orNothing = [&](Attribute attribute) { return attribute ? attribute : Attribute(builder.getUnitAttr()); };
  SmallVector<Attribute> key = {
      getLaunchKey(op),
      orNothing(dist::kSegmentAttr.get(op)),
      orNothing(dist::kFetchAtAttr.get(op)),
      builder.getI64IntegerAttr(static_cast<int64_t>(traffic.getPurpose(op))),
  };
  // Gradients are made by all segments of backward.
  if (traffic.getPurpose(op) == Purpose::Gradient)
    key[1] = builder.getUnitAttr();
  if (dist::CollectiveOp next = traffic.getNext(op))
    key.push_back(getKey(next));
  return builder.getArrayAttr(key);
}

void Scheduler::add(Launch &launch, dist::CollectiveOp op) {
  launch.members.push_back(op);
  launchOf[op] = &launch;
  if (dist::CollectiveOp next = traffic.getNext(op)) {
    launch.nexts.push_back(next);
    launchOf[next] = &launch;
    // Views between the two are replaced with the results.
    for (Operation *between = next.getInputs().front().getDefiningOp(); between != op.getOperation();
         between = between->getOperand(0).getDefiningOp())
      launchOf[between] = &launch;
  }
  launch.bytes += getLaunchBytes(op);
}

/// Makes `op` part of a launch, and starts that when it is full.
void Scheduler::join(dist::CollectiveOp op) {
  prepare(op);
  // Preparing may have sent it.
  if (launchOf.contains(op))
    return;
  Purpose purpose = traffic.getPurpose(op);
  if (purpose != Purpose::Gradient && purpose != Purpose::Update) {
    Launch &launch = create(purpose);
    add(launch, op);
    start(launch);
    return;
  }
  Attribute key = getKey(op);
  Launch *&bucket = buckets[key];
  if (!bucket) {
    bucket = &create(purpose);
    unsent.push_back(bucket);
  }
  Launch &launch = *bucket;
  add(launch, op);
  if (launch.bytes < limits.bucketBytes)
    return;
  bucket = nullptr;
  if (purpose == Purpose::Update || !limits.lateReductions || backwardIsOver)
    start(launch);
}

/// One collective for `members`, whose results have the types of `likes`.
dist::CollectiveOp Scheduler::issue(ArrayRef<dist::CollectiveOp> members, ValueRange inputs, ValueRange likes) {
  SmallVector<Type> types;
  for (Value like : likes)
    types.push_back(dist::HandleType::get(builder.getContext(), dist::getTensorType(like.getType())));
  builder.setInsertionPoint(block.getTerminator());
  dist::CollectiveOp op = createLaunch(builder, members, inputs, types);
  emitted.insert(op);
  ++numLaunches;
  numParts += members.size();
  return op;
}

void Scheduler::start(Launch &launch) {
  SmallVector<Value> inputs, results;
  for (dist::CollectiveOp member : launch.members) {
    prepare(member);
    inputs.push_back(member.getInputs().front());
    results.push_back(member.getResult(0));
  }
  if (isGradient(&launch))
    while (llvm::count_if(inFlight, isGradient) >= 2)
      finish(**llvm::find_if(inFlight, isGradient));
  while (static_cast<int64_t>(inFlight.size()) >= limits.inFlight)
    finish(*inFlight.front());
  launch.issued.push_back(issue(launch.members, inputs, results));
  if (!launch.nexts.empty())
    launch.issued.push_back(issue(launch.nexts, launch.issued.back().getResults(), results));
  launch.state = Launch::Started;
  live += launch.liveBytes;
  launch.computedBefore = computed;
  inFlight.push_back(&launch);
  llvm::erase(unsent, &launch);
  for (auto &[key, bucket] : buckets)
    if (bucket == &launch)
      bucket = nullptr;
}

/// Waits for `launch`, or makes it blocking where nothing was computed since it started.
void Scheduler::finish(Launch &launch) {
  if (launch.state == Launch::Over)
    return;
  if (launch.state == Launch::Collecting)
    start(launch);
  launch.state = Launch::Over;
  inFlight.erase(llvm::find(inFlight, &launch));
  llvm::append_range(ready, launch.waiting);
  if (launch.computedBefore == computed) {
    for (dist::CollectiveOp op : launch.issued)
      for (Value result : op.getResults())
        result.setType(dist::getTensorType(result.getType()));
    replace(launch, launch.issued.back().getResults());
    return;
  }
  builder.setInsertionPoint(block.getTerminator());
  auto wait = dist::WaitOp::create(builder, launch.issued.back().getLoc(), launch.issued.back().getResults());
  emitted.insert(wait);
  numStarts += launch.issued.size();
  replace(launch, wait.getResults());
}

/// Lets the users of the members have `values`.
void Scheduler::replace(Launch &launch, ValueRange values) {
  builder.setInsertionPoint(block.getTerminator());
  for (auto [index, value] : llvm::enumerate(values)) {
    Value old = (launch.nexts.empty() ? launch.members : launch.nexts)[index].getResult(0);
    if (old.getType() != value.getType()) {
      value = dist::ViewOp::create(builder, value.getLoc(), old.getType(), value, 0);
      emitted.insert(value.getDefiningOp());
    }
    old.replaceAllUsesWith(value);
  }
}

/// Starts the gradients that are still here.
void Scheduler::endBackward() {
  backwardIsOver = true;
  for (auto next = llvm::find_if(unsent, isGradient); next != unsent.end(); next = llvm::find_if(unsent, isGradient)) {
    start(**next);
    processReady();
  }
}

/// Waits for the remaining launches, oldest first; the operations that this releases may start more.
void Scheduler::finishAll() {
  while (true) {
    endBackward();
    auto gradient = llvm::find_if(inFlight, isGradient);
    if (gradient != inFlight.end())
      finish(**gradient);
    else if (!unsent.empty())
      start(*unsent.front());
    else if (!inFlight.empty())
      finish(*inFlight.front());
    else
      return;
    processReady();
  }
}

//===----------------------------------------------------------------------===//
// Fetches
//===----------------------------------------------------------------------===//

/// Makes one launch of a segment's fetches for each kind, type and group.
void Scheduler::makeFetches(ArrayRef<Operation *> ops) {
  llvm::MapVector<Attribute, Launch *> known;
  for (Operation *op : ops) {
    auto collective = dyn_cast<dist::CollectiveOp>(op);
    if (!collective || traffic.getPurpose(collective) != Purpose::Fetch)
      continue;
    Launch *&launch = known[getKey(collective)];
    if (!launch) {
      launch = &create(Purpose::Fetch);
      launch->startsAt = getInteger(op, dist::kFetchAtAttr, 0);
      launch->segment = getInteger(op, dist::kSegmentAttr, launch->startsAt);
      fetches.push_back(launch);
    }
    add(*launch, collective);
    countReaders(collective);
    launch->liveBytes += fetchedBytes[collective];
  }
  llvm::sort(fetches, [](Launch *left, Launch *right) {
    return std::make_tuple(left->startsAt, left->segment, left->number) <
           std::make_tuple(right->startsAt, right->segment, right->number);
  });
}

/// Starts what is to start with the segment of `before` or an earlier one.
void Scheduler::startFetches(Operation *before) {
  if (launchOf.contains(before) || traffic.isOnDemand(before) || !dist::kSegmentAttr.isOn(before))
    return;
  // An operation without operands may stand anywhere, so its segment says nothing about the progress of the step.
  if (before->getNumOperands() == 0)
    return;
  int64_t segment = getInteger(before, dist::kSegmentAttr, -1);
  for (; nextFetch < fetches.size() && fetches[nextFetch]->startsAt <= segment; ++nextFetch) {
    Launch &fetch = *fetches[nextFetch];
    if (fetch.state != Launch::Collecting)
      continue;
    // Kernels of neighbouring segments may come in turns: what is still read counts, and the fetch comes a little
    // later.
    if (limits.liveBytes > 0 && live > 0 && live + fetch.liveBytes > limits.liveBytes)
      return;
    start(fetch);
  }
}

/// Finds the operations that read what `member` fetches, or copies of it in another layout, which count as it does.
void Scheduler::countReaders(dist::CollectiveOp member) {
  SmallVector<Operation *> stack = {member};
  llvm::DenseSet<Operation *> readers;
  int64_t &bytes = fetchedBytes[member];
  bytes = Storage::getBytes(member.getResult(0).getType());
  while (!stack.empty())
    for (Operation *user : stack.pop_back_val()->getUsers()) {
      if (!readers.insert(user).second)
        continue;
      fetchedBy[user].push_back(member);
      if (!Traffic::isLayout(user) || user->getNumOperands() != 1)
        continue;
      stack.push_back(user);
      bytes += isa<dist::KernelOp>(user) ? Storage::getBytes(user->getResult(0).getType()) : 0;
    }
  readersLeft[member] = readers.size();
}

void Scheduler::countRead(Operation *reader) {
  auto found = fetchedBy.find(reader);
  if (found == fetchedBy.end())
    return;
  for (Operation *member : found->second)
    if (--readersLeft[member] == 0)
      live -= fetchedBytes[member];
}

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

void Scheduler::run() {
  SmallVector<Operation *> ops;
  Operation *lastOfBackward = nullptr;
  for (Operation &op : block.without_terminator()) {
    positions[&op] = ops.size();
    ops.push_back(&op);
    bool isBackward = dist::isComputation(&op) && !traffic.isLate(&op);
    auto collective = dyn_cast<dist::CollectiveOp>(op);
    if (isBackward || (collective && traffic.getPurpose(collective) == Purpose::Gradient))
      lastOfBackward = &op;
  }
  // Values that exist from the start come first: fetches read them.
  for (Operation *op : ops)
    if (op->getNumOperands() == 0 && !isa<dist::KernelOp, dist::CollectiveOp>(op) && !nest.getLoop(op))
      emit(op);
  makeFetches(ops);
  for (Operation *op : ops) {
    startFetches(op);
    process(op);
    processReady();
    if (op == lastOfBackward)
      endBackward();
  }
  finishAll();
  // An operation without results is there for its effect.
  for (Operation *op : ops)
    if (!isEmitted(op) && !launchOf.contains(op) && (!op->use_empty() || op->getNumResults() == 0))
      demand(op);
  prepare(block.getTerminator());
  // Users first.
  for (Operation *op : llvm::reverse(ops))
    if (!isEmitted(op))
      op->erase();
}

namespace {

struct CommunicatePass : schedule::impl::CommunicatePassBase<CommunicatePass> {
  using CommunicatePassBase::CommunicatePassBase;

  void runOnOperation() override {
    Limits limits = {bucketSize.getBytes(), std::max<int64_t>(maxInFlight, 1), lateReductions, maxLive.getBytes()};
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isExternal() || func.getBody().front().getOps<dist::CollectiveOp>().empty())
        continue;
      FailureOr<net::LoopNest> nest = net::LoopNest::find(func.getBody().front());
      if (failed(nest))
        return signalPassFailure();
      Scheduler scheduler(func, *nest, limits);
      scheduler.run();
      numLaunches += scheduler.numLaunches;
      numParts += scheduler.numParts;
      numStarts += scheduler.numStarts;
    }
  }
};

} // namespace
