//===- ReverseMode.cpp - reverse sweep over operations and loops ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Marks the active values (reachable from the sources through floats), then visits the active operations once, from
// last to first. The contributions to a value's cotangent are complete when the operation that defines it is reached;
// they are summed there. Loops become loops in the opposite direction (ReverseMode.h).
//
//===----------------------------------------------------------------------===//

#include "ReverseMode.h"
#include "dialects/Net/Interfaces.h"
#include "dialects/Net/NetBuilder.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

ReverseMode::ReverseMode(Block &block, const net::LoopNest &loops, ArrayRef<Value> sources,
                         const llvm::DenseSet<Value> &stopped)
    : block(block), loops(loops) {
  activate(sources, stopped);
}

/// Marks all values that depend on the sources. A value passed to the next iteration activates the carried value at its
/// beginning, so that loops are covered by the same worklist.
void ReverseMode::activate(ArrayRef<Value> sources, const llvm::DenseSet<Value> &stopped) {
  SmallVector<Value> next;
  auto reach = [&](Value value) {
    if (net::isFloat(value) && !stopped.contains(value) && active.insert(value).second)
      next.push_back(value);
  };
  for (Value source : sources)
    reach(source);
  while (!next.empty())
    for (Operation *user : next.pop_back_val().getUsers()) {
      for (Value result : user->getResults())
        reach(result);
      if (auto handed = dyn_cast<net::NextOp>(user))
        reach(handed.getCarry());
    }
}

LogicalResult ReverseMode::run(Value loss, RoleBuilder &builder, Value seed) {
  if (!isActive(loss))
    return success();
  contributions[loss].push_back(seed);
  // Collected first, because the sweep appends operations to the block.
  SmallVector<Operation *> forward;
  // The ends of loops have no results; the sweep mirrors them all the same.
  for (Operation &op : block)
    if (isa<net::LoopOp, net::EndLoopOp>(op) ||
        llvm::any_of(op.getResults(), [&](Value result) { return isActive(result); }))
      forward.push_back(&op);
  for (Operation *op : llvm::reverse(forward)) {
    builder.setScope(net::kScopeAttr.get(op));
    if (failed(visit(op, builder)))
      return failure();
  }
  return success();
}

Value ReverseMode::takeCotangent(Value value, RoleBuilder &builder) {
  auto *found = contributions.find(value);
  if (found == contributions.end() || found->second.empty())
    return {};
  Value sum = sumCotangents(builder, value.getLoc(), found->second);
  found->second.clear();
  return sum;
}

void ReverseMode::contribute(Value value, Value cotangent, size_t depth) {
  if (!cotangent || !isActive(value))
    return;
  Operation *maker = value.getDefiningOp();
  bool isCaptured = depth > 0 && !(maker && loops.contains(open[depth - 1].forward, maker));
  (isCaptured ? open[depth - 1].captured : contributions)[value].push_back(cotangent);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// The operations that take values out of `loop`, but not out of a loop inside it.
static SmallVector<Operation *> getLeaving(net::LoopOp loop, net::EndLoopOp end, const net::LoopNest &loops) {
  SmallVector<Operation *> leaving;
  for (Operation *op = loop; op != end; op = op->getNextNode())
    if (net::leavesLoop(op) && loops.getLoop(op) == loop)
      leaving.push_back(op);
  return leaving;
}

/// Opens the backward loop of `loop` if a value that leaves the loop has a cotangent. Values computed here precede it.
void ReverseMode::enter(net::LoopOp loop, RoleBuilder &builder) {
  OpenLoop entered;
  entered.forward = loop;
  SmallVector<Operation *> leaving = getLeaving(loop, loops.getEnd(loop), loops);
  for (Operation *op : leaving)
    if (Value cotangent = takeCotangent(op->getResult(0), builder))
      entered.leaving[op] = cotangent;
  if (entered.leaving.empty())
    return;
  // A carried value without a cotangent after the loop may still affect later iterations.
  net::NetBuilder build(builder, loop.getLoc());
  for (Operation *op : leaving)
    if (isa<net::NextOp>(op) && isActive(op->getOperand(1)) && !entered.leaving.contains(op))
      entered.leaving[op] = build.splatLike(op->getResult(0), 0);
  auto backward = net::LoopOp::create(builder, loop.getLoc(), loop.getCount(), !loop.getReverse());
  entered.index = backward.getIndex();
  forwardOf[backward] = loop;
  open.push_back(std::move(entered));
}

/// Closes the innermost backward loop. Contributions of its iterations to values from before the loop leave it as
/// totals.
void ReverseMode::leave(RoleBuilder &builder) {
  SmallVector<std::pair<Value, Value>> totals;
  for (auto &[value, parts] : open.back().captured) {
    Value sum = sumCotangents(builder, value.getLoc(), parts);
    totals.push_back({value, net::TotalOp::create(builder, value.getLoc(), sum.getType(), sum, open.back().index)});
  }
  net::EndLoopOp::create(builder, open.back().forward.getLoc(), open.back().index);
  open.pop_back();
  for (auto [value, total] : totals)
    contribute(value, total, open.size());
}

/// Called after all uses of the carried value in this iteration have contributed.
void ReverseMode::visitCarry(net::CarryOp op, RoleBuilder &builder) {
  Value carried = open.back().carried.lookup(op);
  if (!carried)
    return;
  Value cotangent = takeCotangent(op.getResult(), builder);
  if (!cotangent) {
    net::NetBuilder build(builder, op.getLoc());
    cotangent = build.splatLike(op.getResult(), 0);
  }
  Value handed = net::NextOp::create(builder, op.getLoc(), carried.getType(), cotangent, carried);
  contribute(op.getInit(), handed, open.size() - 1);
}

void ReverseMode::visitLeaving(Operation *op, RoleBuilder &builder) {
  Value cotangent = open.back().leaving.lookup(op), index = open.back().index;
  if (!cotangent)
    return;
  Value value = op->getOperand(0);
  if (auto next = dyn_cast<net::NextOp>(op)) {
    cotangent = net::CarryOp::create(builder, op->getLoc(), cotangent.getType(), cotangent, index);
    open.back().carried[next.getCarry().getDefiningOp()] = cotangent;
  } else if (isa<net::StackOp>(op)) {
    cotangent = net::TakeOp::create(builder, op->getLoc(), value.getType(), cotangent, index);
  }
  contribute(value, cotangent, open.size());
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

LogicalResult ReverseMode::visit(Operation *op, RoleBuilder &builder) {
  if (auto end = dyn_cast<net::EndLoopOp>(op)) {
    enter(end.getIndex().getDefiningOp<net::LoopOp>(), builder);
    return success();
  }
  net::LoopOp loop = loops.getLoop(op);
  // No value with a cotangent leaves this loop.
  if (loop && (open.empty() || open.back().forward != loop))
    return success();
  if (isa<net::LoopOp>(op)) {
    leave(builder);
    return success();
  }
  if (net::leavesLoop(op)) {
    visitLeaving(op, builder);
    return success();
  }
  if (auto carry = dyn_cast<net::CarryOp>(op)) {
    visitCarry(carry, builder);
    return success();
  }
  SmallVector<Value> results;
  for (Value result : op->getResults())
    results.push_back(takeCotangent(result, builder));
  if (llvm::none_of(results, [](Value cotangent) { return static_cast<bool>(cotangent); }))
    return success();
  if (auto take = dyn_cast<net::TakeOp>(op)) {
    Value stacked =
        net::StackOp::create(builder, op->getLoc(), take.getStack().getType(), results.front(), open.back().index);
    contribute(take.getStack(), stacked, open.size() - 1);
    return success();
  }
  BitVector wanted(op->getNumOperands());
  for (OpOperand &operand : op->getOpOperands())
    if (isActive(operand.get()))
      wanted.set(operand.getOperandNumber());
  if (wanted.none()) {
    // A source: its cotangent is a result.
    for (auto [result, cotangent] : llvm::zip_equal(op->getResults(), results))
      cotangents[result] = cotangent;
    return success();
  }
  return visitByRule(op, builder, results, wanted);
}

LogicalResult ReverseMode::visitByRule(Operation *op, RoleBuilder &builder, ArrayRef<Value> results,
                                       const BitVector &wanted) {
  auto rule = dyn_cast<net::DerivativeOpInterface>(op);
  if (!rule)
    return op->emitOpError() << "has no derivative, but a gradient has to pass it";
  FailureOr<SmallVector<Value>> operands = rule.differentiate(builder, results, wanted);
  if (failed(operands))
    return failure();
  for (auto [operand, cotangent] : llvm::zip_equal(op->getOpOperands(), *operands))
    if (wanted.test(operand.getOperandNumber()))
      contribute(operand.get(), cotangent, open.size());
  return success();
}
