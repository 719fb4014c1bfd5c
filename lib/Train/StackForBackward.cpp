//===- StackForBackward.cpp - forward values for backward loops -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An iteration of backward reads values of the forward iteration with the same number from stacks. Elements of stacks
// that forward took are taken from the same stack again. Operations that only rearrange elements or depend only on the
// iteration number are recomputed.
//
//===----------------------------------------------------------------------===//

#include "ReverseMode.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

/// The longest chain of operations that is recomputed.
static constexpr int kLongest = 8;

namespace {

/// Visits the block in order and replaces operands in backward loops that refer to forward loops.
class Stacker {
public:
  Stacker(Block &block, const llvm::DenseMap<Operation *, net::LoopOp> &forwardOf)
      : block(block), forwardOf(forwardOf), loops(net::LoopNest::findBodies(block)) {}

  void run();

private:
  /// A loop around the current operation.
  struct OpenLoop {
    net::LoopOp loop;
    /// Replacements in this loop of values of the forward iteration.
    llvm::DenseMap<Value, Value> known;
  };

  Value bring(Value value, int length = 0);
  Value make(Value value, size_t level, int length);
  Value makeAgain(OpResult value, OpBuilder &builder, int length);
  Value getStack(OpResult value, net::LoopOp forward);

  Block &block;
  const llvm::DenseMap<Operation *, net::LoopOp> &forwardOf;
  net::LoopNest loops;
  /// The open loops, innermost last.
  SmallVector<OpenLoop> open;
  Operation *reader = nullptr;
};

} // namespace

/// Gives `made`, made for `like`, a role and the attributes that it inherits.
static void describe(Operation *made, net::Role role, Operation *like) {
  net::setRole(made, role);
  inherit(made, like, Inherit::OtherRole);
}

/// True if recomputing `op` costs less than storing its result.
static bool isCheap(Operation *op) {
  if (!isPure(op) || isa<net::TakeOp>(op))
    return false;
  if (op->getNumOperands() == 0 || net::movesWhole(op))
    return true;
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  return type.getRank() == 0 && type.getElementType().isIntOrIndex();
}

/// Recomputes `value` by a clone of its operation with replaced operands.
Value Stacker::makeAgain(OpResult value, OpBuilder &builder, int length) {
  Operation *maker = value.getOwner();
  IRMapping mapping;
  for (Value operand : maker->getOperands())
    mapping.map(operand, bring(operand, length + 1));
  Operation *clone = builder.clone(*maker, mapping);
  forget(clone, Inherit::Clone);
  describe(clone, net::Role::Backward, reader);
  return clone->getResult(value.getResultNumber());
}

/// The stack of the values of all iterations of `forward`.
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

/// The replacement of `value`, from a forward iteration, in the open loop `level`.
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

/// The value that the current operation reads for `value`: itself, or a replacement if it is not visible there.
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
