//===- ReuseStacks.cpp - carried values from the stacks of the next -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An iteration sees what the one before has made of a carried value. Where both are stacked, the two stacks hold the
// same elements, shifted by an iteration:
//
//   iteration    0      1      2     ...   n - 1
//   carried      init   x(0)   x(1)  ...   x(n - 2)
//   next         x(0)   x(1)   x(2)  ...   x(n - 1)
//
// A product that sums over the iterations of the first stack, as of a recurrent weight's gradient, can do without it.
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/Loops.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/Schedule/Passes.h"
#include "meshwright/Support/Bytes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshwright::schedule {
#define GEN_PASS_DEF_REUSESTACKSPASS
#include "meshwright/Schedule/Passes.h.inc"
} // namespace meshwright::schedule

using namespace mlir;
using namespace meshwright;

/// The stack of `value` in `loop`, or null.
static net::StackOp findStack(Value value, net::LoopOp loop, const net::LoopNest &nest) {
  for (Operation *user : value.getUsers())
    if (auto stack = dyn_cast<net::StackOp>(user); stack && nest.getLoop(stack) == loop)
      return stack;
  return {};
}

/// The products that read `stack`, if they sum over its iterations and nothing else reads it.
static std::optional<SmallVector<net::DotOp>> findProducts(net::StackOp stack) {
  SmallVector<net::DotOp> products;
  for (OpOperand &use : stack->getUses()) {
    auto dot = dyn_cast<net::DotOp>(use.getOwner());
    if (!dot || dot.getLhs() == dot.getRhs() ||
        !llvm::is_contained(use.getOperandNumber() == 0 ? dot.getLhsContract() : dot.getRhsContract(), 0))
      return std::nullopt;
    products.push_back(dot);
  }
  return products;
}

/// Writes a product of `stack`, which holds a carried value, as those of `next`, the stack of what it becomes, and of
/// `init`, a stack of only the value that `loop` begins with.
static void rewrite(net::DotOp dot, Value stack, Value init, Value next, net::LoopOp loop) {
  bool isLhs = dot.getLhs() == stack;
  Value other = isLhs ? dot.getRhs() : dot.getLhs();
  ArrayRef<int64_t> dims = isLhs ? dot.getLhsContract() : dot.getRhsContract(),
                    otherDims = isLhs ? dot.getRhsContract() : dot.getLhsContract();
  int64_t dim = otherDims[llvm::find(dims, 0) - dims.begin()], count = static_cast<int64_t>(loop.getCount());
  // The iteration that sees the first value, and where those begin that see others and those that have made them.
  bool isReverse = loop.getReverse();
  int64_t first = isReverse ? count - 1 : 0, seen = isReverse ? 0 : 1, made = isReverse ? 1 : 0;
  OpBuilder builder(dot);
  net::NetBuilder build(builder, dot.getLoc());
  Operation *before = dot->getPrevNode();
  auto multiply = [&](Value part, Value others) {
    return build.dot(isLhs ? part : others, isLhs ? others : part, dot.getLhsBatch(), dot.getRhsBatch(),
                     dot.getLhsContract(), dot.getRhsContract(), net::elementTypeOf(dot));
  };
  Value begun = multiply(init, build.cut(other, dim, first, first + 1));
  Value known = build.cut(next, 0, made, made + count - 1);
  Value rest = multiply(known, build.cut(other, dim, seen, seen + count - 1));
  Value sum = build.add(begun, rest);
  for (Operation *op = before ? before->getNextNode() : &dot->getBlock()->front(); op != dot; op = op->getNextNode()) {
    inherit(op, dot, Inherit::Replacement);
    if (op != sum.getDefiningOp())
      net::kNameAttr.remove(op);
  }
  dot.getResult().replaceAllUsesWith(sum);
  dot.erase();
}

namespace {

struct ReuseStacksPass : schedule::impl::ReuseStacksPassBase<ReuseStacksPass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      // Sums whose order is fixed stay as they are.
      if (!func.isExternal() && !net::kSumPartsAttr.isOn(func))
        run(func.getBody().front());
  }

  void run(Block &block) {
    net::LoopNest nest = net::LoopNest::findBodies(block);
    for (auto stack : llvm::make_early_inc_range(block.getOps<net::StackOp>())) {
      auto carry = stack.getValue().getDefiningOp<net::CarryOp>();
      net::LoopOp loop = nest.getLoop(stack);
      if (!carry || nest.getLoop(carry) != loop || loop.getCount() < 2)
        continue;
      net::StackOp next = findStack(net::getNext(carry).getValue(), loop, nest);
      std::optional<SmallVector<net::DotOp>> products = findProducts(stack);
      if (!next || !products || products->empty())
        continue;
      // Each result is written twice, and read once more.
      int64_t bytes = 0;
      for (net::DotOp dot : *products)
        bytes += getBytes(net::typeOf(dot));
      if (bytes > getBytes(net::typeOf(stack)))
        continue;
      // It stands where all products have it, so that none waits for what stands before another.
      net::EndLoopOp end = nest.getEnd(loop);
      OpBuilder builder(end->getContext());
      builder.setInsertionPointAfter(end);
      SmallVector<int64_t> shape{1};
      llvm::append_range(shape, net::shapeOf(carry));
      Value init = net::NetBuilder(builder, stack.getLoc()).reshape(carry.getInit(), shape);
      inherit(init.getDefiningOp(), stack, Inherit::Replacement);
      for (net::DotOp dot : *products)
        rewrite(dot, stack, init, next, loop);
      stack.erase();
      ++numStacks;
    }
  }
};

} // namespace
