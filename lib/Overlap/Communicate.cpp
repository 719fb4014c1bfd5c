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

#include "FetchQueue.h"
#include "Launches.h"
#include "meshwright/Overlap/Passes.h"
#include "meshwright/Overlap/Traffic.h"
#include "meshwright/Support/Bytes.h"
#include "meshwright/Support/Units.h"
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
      : block(func.getBody().front()), builder(func.getContext()), nest(nest), limits(limits), traffic(func, nest),
        launches(traffic), fetches(limits.liveBytes) {}

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
  void join(dist::CollectiveOp op);
  void start(Launch &launch);
  dist::CollectiveOp issue(ArrayRef<dist::CollectiveOp> members, ValueRange inputs, ValueRange likes);
  void finish(Launch &launch);
  void replace(Launch &launch, ValueRange values);
  void endBackward();
  void finishAll();

  void startFetches(Operation *before);

  Block &block;
  OpBuilder builder;
  const net::LoopNest &nest;
  const Limits &limits;
  Traffic traffic;
  llvm::DenseSet<Operation *> emitted;
  /// Kernels and products so far.
  int64_t computed = 0;
  LaunchTable launches;
  FetchQueue fetches;
  /// For operations that are put off, for what.
  llvm::DenseMap<Operation *, Launch *> putOff;
  llvm::DenseMap<Operation *, unsigned> positions;
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
      Launch *launch = launches.find(maker);
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
  if (isEmitted(op) || launches.contains(op) || traffic.isOnDemand(op))
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
    if (!launches.contains(maker))
      join(cast<dist::CollectiveOp>(maker));
    finish(*launches.find(maker));
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
  fetches.countRead(op);
  sendFrom(op);
}

void Scheduler::place(Operation *op) {
  emitted.insert(op);
  op->moveBefore(block.getTerminator());
  computed += isComputation(op);
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
    fetches.countRead(op);
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
    if (collective && traffic.getPurpose(collective) == Purpose::Gradient && !launches.contains(user))
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

/// Makes `op` part of a launch, and starts that when it is full.
void Scheduler::join(dist::CollectiveOp op) {
  prepare(op);
  // Preparing may have sent it.
  if (launches.contains(op))
    return;
  Purpose purpose = traffic.getPurpose(op);
  if (purpose != Purpose::Gradient && purpose != Purpose::Update) {
    Launch &launch = launches.create(purpose);
    launches.add(launch, op);
    start(launch);
    return;
  }
  Launch &launch = launches.getBucket(op);
  launches.add(launch, op);
  if (launch.bytes < limits.bucketBytes)
    return;
  launches.close(launch);
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
  fetches.start(launch);
  launch.computedBefore = computed;
  inFlight.push_back(&launch);
  launches.start(launch);
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
  auto findNext = [&] { return llvm::find_if(launches.getUnsent(), isGradient); };
  for (auto next = findNext(); next != launches.getUnsent().end(); next = findNext()) {
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
    else if (!launches.getUnsent().empty())
      start(*launches.getUnsent().front());
    else if (!inFlight.empty())
      finish(*inFlight.front());
    else
      return;
    processReady();
  }
}

/// Starts what is to start with the segment of `before` or an earlier one.
void Scheduler::startFetches(Operation *before) {
  if (launches.contains(before) || traffic.isOnDemand(before) || !dist::kSegmentAttr.isOn(before))
    return;
  // An operation without operands may stand anywhere, so its segment says nothing about the progress of the step.
  if (before->getNumOperands() == 0)
    return;
  while (Launch *fetch = fetches.findNext(getInteger(before, dist::kSegmentAttr, -1)))
    start(*fetch);
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
    bool isBackward = isComputation(&op) && !traffic.isLate(&op);
    auto collective = dyn_cast<dist::CollectiveOp>(op);
    if (isBackward || (collective && traffic.getPurpose(collective) == Purpose::Gradient))
      lastOfBackward = &op;
  }
  // Values that exist from the start come first: fetches read them.
  for (Operation *op : ops)
    if (op->getNumOperands() == 0 && !isa<dist::KernelOp, dist::CollectiveOp>(op) && !nest.getLoop(op))
      emit(op);
  fetches.add(ops, traffic, launches);
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
    if (!isEmitted(op) && !launches.contains(op) && (!op->use_empty() || op->getNumResults() == 0))
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
