//===- StackForBackward.cpp - what backward reads of the trips of forward -===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A trip of backward belongs to the trip of forward with the same number: it takes from stacks what that one left
// there. Elements of stacks are taken again from where forward took them, and what only rearranges elements, or is made
// of the number of the trip, is made again.
//
//===----------------------------------------------------------------------===//

#include "lib/Train/ReverseMode.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

/// Of a chain of operations that are made again no more than so many are.
static constexpr int kLongest = 8;

namespace {

/// Sweeps over the block, and gives operations of backward what they are to read.
class Stacker {
public:
  Stacker(Block &block, const llvm::DenseMap<Operation *, net::LoopOp> &forwardOf)
      : block(block), forwardOf(forwardOf), loops(net::LoopNest::findBodies(block)) {}

  void run();

private:
  /// A loop that the sweep is in.
  struct OpenLoop {
    net::LoopOp loop;
    /// What stands in it for values of a trip of forward.
    llvm::DenseMap<Value, Value> known;
  };

  Value bring(Value value, int length = 0);
  Value make(Value value, size_t level, int length);
  Value makeAgain(OpResult value, OpBuilder &builder, int length);
  Value getStack(OpResult value, net::LoopOp forward);

  Block &block;
  const llvm::DenseMap<Operation *, net::LoopOp> &forwardOf;
  net::LoopNest loops;
  /// Innermost last.
  SmallVector<OpenLoop> open;
  Operation *reader = nullptr;
};

} // namespace

/// Gives what is made the role, and the scope of what it is made for.
static void describe(Operation *made, net::Role role, Operation *like) {
  net::setRole(made, role);
  if (Attribute scope = like->getAttr(net::kScopeAttr))
    made->setAttr(net::kScopeAttr, scope);
}

/// Whether it costs less to do `op` again than to keep what it makes.
static bool isCheap(Operation *op) {
  if (!isPure(op) || isa<net::TakeOp>(op))
    return false;
  if (op->getNumOperands() == 0 || isa<net::ReshapeOp, net::TransposeOp, net::BroadcastOp>(op))
    return true;
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  return type.getRank() == 0 && type.getElementType().isIntOrIndex();
}

/// `value` by a copy of its operation, which reads what stands for its operands.
Value Stacker::makeAgain(OpResult value, OpBuilder &builder, int length) {
  Operation *maker = value.getOwner();
  IRMapping mapping;
  for (Value operand : maker->getOperands())
    mapping.map(operand, bring(operand, length + 1));
  Operation *clone = builder.clone(*maker, mapping);
  clone->removeAttr(net::kNameAttr);
  describe(clone, net::Role::Backward, reader);
  return clone->getResult(value.getResultNumber());
}

/// The values of all trips of `forward`.
Value Stacker::getStack(OpResult value, net::LoopOp forward) {
  if (auto take = dyn_cast<net::TakeOp>(value.getOwner()))
    return take.getStack();
  auto element = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape{static_cast<int64_t>(forward.getCount())};
  llvm::append_range(shape, element.getShape());
  OpBuilder builder(loops.getEnd(forward));
  auto stack = net::StackOp::create(builder, value.getLoc(), element.clone(shape), value, forward.getIndex());
  describe(stack, net::Role::Forward, value.getOwner());
  loops.add(stack, forward);
  return stack;
}

/// What stands for `value`, of a trip of forward, in the open loop `level`.
Value Stacker::make(Value value, size_t level, int length) {
  Value index = open[level].loop.getIndex();
  net::LoopOp forward = forwardOf.lookup(open[level].loop);
  if (value == forward.getIndex())
    return index;
  auto result = cast<OpResult>(value);
  OpBuilder builder(level + 1 < open.size() ? open[level + 1].loop.getOperation() : reader);
  if (isCheap(result.getOwner()) && length < kLongest)
    return makeAgain(result, builder, length);
  Value stack = bring(getStack(result, forward), length);
  auto taken = net::TakeOp::create(builder, value.getLoc(), value.getType(), stack, index);
  describe(taken, net::Role::Backward, reader);
  return taken;
}

/// What an operation where the sweep is reads for `value`: the value itself where it is seen there.
Value Stacker::bring(Value value, int length) {
  Operation *maker = value.getDefiningOp();
  net::LoopOp home = maker ? loops.getLoop(maker) : net::LoopOp();
  if (home && net::leavesLoop(maker))
    home = loops.getParent(home);
  for (size_t level = 0; home && level < open.size(); ++level) {
    if (open[level].loop == home)
      return value;
    if (forwardOf.lookup(open[level].loop) != home)
      continue;
    if (Value known = open[level].known.lookup(value))
      return known;
    Value made = make(value, level, length);
    return open[level].known[value] = made;
  }
  return value;
}

void Stacker::run() {
  for (Operation &op : block) {
    if (auto loop = dyn_cast<net::LoopOp>(op))
      open.emplace_back().loop = loop;
    reader = &op;
    if (!open.empty())
      for (OpOperand &operand : op.getOpOperands())
        operand.set(bring(operand.get()));
    if (isa<net::EndLoopOp>(op))
      open.pop_back();
  }
}

void train::stackForBackward(Block &block, const llvm::DenseMap<Operation *, net::LoopOp> &forwardOf) {
  if (!forwardOf.empty())
    Stacker(block, forwardOf).run();
}
