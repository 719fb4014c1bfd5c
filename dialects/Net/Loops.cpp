//===- Loops.cpp - verifiers and nest of counted loops --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops have no regions, so MLIR's dominance does not enforce their rules. `LoopNest::find` does, in one pass over a
// block with the innermost open loop as its state: an operation reads values of its own and of outer loops, and of
// finished inner loops only values that leave them (`net.next`, `net.stack`, `net.total`).
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/Loops.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

LogicalResult LoopOp::verify() {
  // loop_c1
  if (int64_t count = getCount(); count < 1 || count > std::numeric_limits<int32_t>::max())
    return emitOpError() << "has " << count << " iterations, not 1 to " << std::numeric_limits<int32_t>::max();
  return success();
}

/// Checks that `index` is the result of a loop.
static FailureOr<LoopOp> verifyIndex(Operation *op, Value index) {
  if (auto loop = index.getDefiningOp<LoopOp>())
    return loop;
  return op->emitOpError() << "is not in the loop of its index, which no net.loop makes";
}

/// Checks that `stack` has one element of type `element` per iteration.
static LogicalResult verifyStack(Operation *op, Value index, Type stack, Type element) {
  FailureOr<LoopOp> loop = verifyIndex(op, index);
  if (failed(loop))
    return failure();
  auto whole = cast<RankedTensorType>(stack), part = cast<RankedTensorType>(element);
  bool isStack = whole.getRank() == part.getRank() + 1 && whole.getElementType() == part.getElementType() &&
                 whole.getShape().drop_front() == part.getShape();
  if (!isStack || whole.getDimSize(0) != static_cast<int64_t>(loop->getCount()))
    return op->emitOpError() << "has a stack of " << whole << ", but its loop has " << loop->getCount()
                             << " iterations of " << part;
  return success();
}

// end_loop_c1
LogicalResult EndLoopOp::verify() { return verifyIndex(*this, getIndex()); }
// carry_c1, total_c1
LogicalResult CarryOp::verify() { return verifyIndex(*this, getIndex()); }
LogicalResult TotalOp::verify() { return verifyIndex(*this, getIndex()); }
// take_c1, take_c2
LogicalResult TakeOp::verify() { return verifyStack(*this, getIndex(), getStack().getType(), getType()); }
// stack_c1, stack_c2
LogicalResult StackOp::verify() { return verifyStack(*this, getIndex(), getType(), getValue().getType()); }

LogicalResult NextOp::verify() {
  // next_c1
  if (!getCarry().getDefiningOp<CarryOp>())
    return emitOpError() << "is for a value that no net.carry makes";
  return success();
}

bool net::leavesLoop(Operation *op) { return isa<NextOp, StackOp, TotalOp>(op); }

NextOp net::getNext(CarryOp carry) {
  for (OpOperand &use : carry->getUses())
    if (auto next = dyn_cast<NextOp>(use.getOwner());
        next && use.get() == next.getCarry() && use.getOperandNumber() == 1)
      return next;
  return {};
}

//===----------------------------------------------------------------------===//
// LoopNest
//===----------------------------------------------------------------------===//

/// The index of the loop to which `op` refers; null if it refers to none.
static Value getIndex(Operation *op) {
  if (auto next = dyn_cast<NextOp>(op))
    return next.getCarry().getDefiningOp<CarryOp>().getIndex();
  if (auto end = dyn_cast<EndLoopOp>(op))
    return end.getIndex();
  return isa<CarryOp, TakeOp, StackOp, TotalOp>(op) ? op->getOperand(1) : Value();
}

LoopOp LoopNest::getOutermost(Operation *op) const {
  LoopOp loop = getLoop(op);
  while (loop && getParent(loop))
    loop = getParent(loop);
  return loop;
}

bool LoopNest::contains(LoopOp loop, Operation *op) const {
  LoopOp mine = getLoop(op);
  while (mine && mine != loop)
    mine = getParent(mine);
  return mine == loop;
}

int64_t LoopNest::getIterations(Operation *op) const {
  int64_t iterations = 1;
  for (LoopOp loop = getLoop(op); loop; loop = getParent(loop))
    if (llvm::MulOverflow<int64_t>(iterations, loop.getCount(), iterations))
      return std::numeric_limits<int64_t>::max();
  return iterations;
}

Operation *LoopNest::hoist(Operation *user, ValueRange values) const {
  Operation *place = user;
  for (LoopOp loop = getLoop(user); loop; loop = getParent(loop)) {
    auto isMadeInside = [&](Value value) {
      Operation *maker = value.getDefiningOp();
      return maker && contains(loop, maker) && !(leavesLoop(maker) && getLoop(maker) == loop);
    };
    if (llvm::any_of(values, isMadeInside))
      break;
    place = loop;
  }
  return place;
}

// Overwrites an entry that exists: an operation that was erased may have had the same address.
void LoopNest::add(Operation *op, Operation *like) { loopOf[op] = getLoop(like); }

void LoopNest::addBefore(Operation *op, Operation *next) {
  LoopOp loop = getLoop(next);
  if (loop == next)
    loop = getParent(loop);
  loopOf[op] = loop;
}

void LoopNest::hoist(Operation *op) {
  Operation *place = hoist(op, op->getOperands());
  if (place == op)
    return;
  op->moveBefore(place);
  loopOf[op] = getParent(cast<LoopOp>(place));
}

/// Checks the operands of `op`: they are values of an iteration of its own loop or of one around it, or values that
/// leave a loop which has ended before `op`.
static LogicalResult verifyOperands(Operation *op, const LoopNest &nest) {
  for (Value operand : op->getOperands()) {
    Operation *maker = operand.getDefiningOp();
    LoopOp home = maker ? nest.getLoop(maker) : LoopOp();
    if (!home)
      continue;
    bool leaves = leavesLoop(maker);
    if (leaves && nest.contains(home, op))
      return op->emitOpError() << "reads in a loop what " << maker->getName() << " completes after it";
    if (!nest.contains(leaves ? nest.getParent(home) : home, op))
      return op->emitOpError() << "reads after a loop what " << maker->getName() << " makes in an iteration";
  }
  return success();
}

/// Checks that the initial value of a carried value, and a stack from which elements are taken, are defined before the
/// loop, and that a carried value has a `net.next`.
static LogicalResult verifyStart(Operation *op, const LoopNest &nest) {
  Operation *maker = isa<CarryOp, TakeOp>(op) ? op->getOperand(0).getDefiningOp() : nullptr;
  if (maker && nest.contains(nest.getLoop(op), maker))
    return op->emitOpError() << "starts from a value that its own loop makes";
  if (auto carry = dyn_cast<CarryOp>(op); carry && !getNext(carry))
    return op->emitOpError() << "has no net.next";
  return success();
}

/// Registers `op` in `current`, the innermost open loop, and opens a loop if `op` begins one.
void LoopNest::enter(Operation *op, LoopOp &current) {
  if (auto loop = dyn_cast<LoopOp>(op)) {
    parents[loop] = current;
    current = loop;
  }
  if (current)
    loopOf[op] = current;
}

/// Closes the loop `current` if `op` ends it.
void LoopNest::leave(Operation *op, LoopOp &current) {
  auto end = dyn_cast<EndLoopOp>(op);
  if (!end || !current)
    return;
  ends[current] = end;
  current = parents.lookup(current);
}

LoopNest LoopNest::findBodies(Block &block) {
  LoopNest nest;
  LoopOp current;
  for (Operation &op : block) {
    nest.enter(&op, current);
    nest.leave(&op, current);
  }
  return nest;
}

FailureOr<LoopNest> LoopNest::find(Block &block) {
  LoopNest nest;
  LoopOp current;
  llvm::DenseSet<Value> handedOn;
  for (Operation &op : block) {
    nest.enter(&op, current);
    if (Value index = getIndex(&op); index && (!current || index != current.getIndex()))
      return op.emitOpError() << "does not stand in the body of its loop";
    if (auto next = dyn_cast<NextOp>(op); next && !handedOn.insert(next.getCarry()).second)
      return op.emitOpError() << "is the second for one net.carry";
    if (failed(verifyStart(&op, nest)) || failed(verifyOperands(&op, nest)))
      return failure();
    nest.leave(&op, current);
  }
  if (current)
    return current.emitOpError() << "has no net.end_loop";
  return nest;
}
