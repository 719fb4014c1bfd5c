//===- IterationValues.cpp - stacks values of loops for backward ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the stacks that exist only for the backward twin of a forward loop, and creates further stacks and takes on
// demand, with the placements of the stacked values. Takes of stacks and constants are cloned in the twin instead of
// being stacked.
//
//===----------------------------------------------------------------------===//

#include "IterationValues.h"
#include "dialects/Dist/Dist.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::complete;

IterationValues::IterationValues(Block &block, const net::LoopNest &loops) : loops(loops) {
  llvm::DenseSet<Operation *> hasSeveral;
  for (auto stack : block.getOps<net::StackOp>()) {
    net::LoopOp forward = loops.getLoop(stack);
    if (net::getRole(forward) != net::Role::Forward || loops.getParent(forward) || stack->use_empty())
      continue;
    // A stack in another placement is the result of an exchange, which recomputation must not repeat.
    auto operands = dist::kOperandsAttr.get(stack);
    if ((operands && operands[0] != dist::getMapping(stack.getValue())) || dist::kComputesAttr.isOn(stack) ||
        !net::getUserName(stack).empty())
      continue;
    // True if all users are takes by iterations of one backward loop.
    net::LoopOp twin;
    bool isAlone = llvm::all_of(stack->getUsers(), [&](Operation *user) {
      auto take = dyn_cast<net::TakeOp>(user);
      net::LoopOp reader = take ? loops.getLoop(take) : net::LoopOp();
      bool fits = reader && net::getRole(reader) == net::Role::Backward && !loops.getParent(reader) &&
                  take.getIndex() == reader.getIndex() && (!twin || twin == reader);
      twin = reader;
      return fits;
    });
    if (!isAlone)
      continue;
    auto [known, isNew] = twins.try_emplace(forward, twin);
    if (!isNew && known->second != twin)
      hasSeveral.insert(forward);
    stacks.insert({stack.getValue(), stack});
  }
  for (Operation *forward : hasSeveral)
    twins.erase(forward);
  stacks.remove_if([&](const auto &entry) { return !twins.contains(loops.getLoop(entry.second)); });
}

bool IterationValues::isForBackward(net::StackOp stack) const { return stacks.lookup(stack.getValue()) == stack; }

SmallVector<OpOperand *> IterationValues::getReads(Value value) const {
  SmallVector<OpOperand *> reads;
  if (net::StackOp stack = stacks.lookup(value))
    for (Operation *take : stack->getUsers())
      for (OpOperand &use : take->getUses())
        reads.push_back(&use);
  return reads;
}

net::LoopOp IterationValues::getForward(Value value) const {
  Operation *maker = value.getDefiningOp();
  net::LoopOp loop = maker && !net::leavesLoop(maker) ? loops.getLoop(maker) : net::LoopOp();
  return loop && twins.contains(loop) ? loop : net::LoopOp();
}

Operation *IterationValues::getPlace(Operation *reader) const {
  Operation *place = reader;
  for (net::LoopOp loop = loops.getLoop(reader); loop && loops.getParent(loop); loop = loops.getParent(loop))
    place = loop;
  return place;
}

/// The mapping of a stack whose parts have `mapping`; iterations are not split.
static dist::MappingAttr addIterations(dist::MappingAttr mapping) {
  SmallVector<dist::DigitsAttr> dims{dist::DigitsAttr::get(mapping.getContext(), {})};
  llvm::append_range(dims, mapping.getDims());
  return dist::MappingAttr::get(mapping.getContext(), dims, mapping.getPartialKind(), mapping.getPartialAxes(),
                                mapping.getSupport());
}

/// Places `op`, a stack or take of parts with the placement `part`; does nothing in a program without placements.
static void place(Operation *op, dist::MappingAttr part) {
  if (!part)
    return;
  Builder builder(op->getContext());
  dist::MappingAttr whole = addIterations(part), index = dist::MappingAttr::getReplicated(op->getContext(), 0);
  bool takes = isa<net::TakeOp>(op);
  dist::kOperandsAttr.set(op, builder.getArrayAttr({takes ? whole : part, index}));
  dist::kResultsAttr.set(op, builder.getArrayAttr({takes ? part : whole}));
}

/// Gives `op`, made for `like`, a role and the attributes that it inherits.
static void describe(Operation *op, net::Role role, Operation *like) {
  net::setRole(op, role);
  inherit(op, like, Inherit::OtherRole);
}

/// The stack of the values of all iterations of `forward`.
Value IterationValues::getStack(OpResult value, net::LoopOp forward) {
  net::StackOp &stack = stacks[value];
  if (!stack) {
    auto element = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape{static_cast<int64_t>(forward.getCount())};
    llvm::append_range(shape, element.getShape());
    OpBuilder builder(loops.getEnd(forward));
    stack = net::StackOp::create(builder, value.getLoc(), element.clone(shape), value, forward.getIndex());
    describe(stack, net::Role::Forward, value.getOwner());
    place(stack, dist::getMapping(value));
  }
  return stack.getResult();
}

Value IterationValues::bring(Value value) {
  net::LoopOp forward = getForward(value);
  if (!forward)
    return value;
  net::LoopOp twin = twins.lookup(forward);
  if (value == forward.getIndex())
    return twin.getIndex();
  Value &known = brought[value];
  if (known)
    return known;
  auto result = cast<OpResult>(value);
  OpBuilder builder(twin);
  builder.setInsertionPointAfter(twin);
  Operation *made;
  if (auto take = dyn_cast<net::TakeOp>(result.getOwner())) {
    made = builder.clone(*take);
    made->setOperand(1, twin.getIndex());
  } else if (result.getOwner()->getNumOperands() == 0) {
    made = builder.clone(*result.getOwner());
  } else {
    made = net::TakeOp::create(builder, value.getLoc(), value.getType(), getStack(result, forward), twin.getIndex());
    place(made, dist::getMapping(value));
  }
  describe(made, net::Role::Backward, result.getOwner());
  return known = made->getResult(0);
}

void IterationValues::eraseUnread() {
  for (auto [value, stack] : stacks) {
    for (Operation *take : llvm::make_early_inc_range(stack->getUsers()))
      if (take->use_empty())
        take->erase();
    if (stack->use_empty())
      stack->erase();
  }
}
