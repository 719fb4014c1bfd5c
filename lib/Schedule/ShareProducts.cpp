//===- ShareProducts.cpp - one product for all iterations of a loop -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves products out of loops. A product of a part of a stack and of a value that is the same in all iterations becomes
// one product of the whole stack before the loop. A sum of products over the iterations becomes one product of stacks
// after it, and so does a stack of expressions of products with values that are the same in all iterations. Products of
// values that are carried stay. A recurrent layer computes all its inputs' products and all gradients of its weights
// this way, each in one large product instead of one per time. docs/decisions/0047 has the rule of what pays.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/Net/Loops.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/Schedule/Passes.h"
#include "meshwright/Support/Bytes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace meshwright::schedule {
#define GEN_PASS_DEF_SHAREPRODUCTSPASS
#include "meshwright/Schedule/Passes.h.inc"
} // namespace meshwright::schedule

#define DEBUG_TYPE "dist-schedule-share-products"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

namespace {

/// A carried value that only adds up: `next` is `carry` + `term`.
struct Sum {
  net::CarryOp carry;
  net::AddOp add;
  net::NextOp next;
  Value term;
};

/// The expression that a stack is computed by after the loop.
struct Expression {
  /// Operations that are computed after the loop, operands first.
  SetVector<Operation *> sunk;
  /// Values whose stacks they read.
  SetVector<Value> leaves;
  /// Bytes of the invariant operands of products, which an iteration need not read any more.
  int64_t saved = 0;
};

/// Expressions that are deeper are not looked at further.
constexpr int kDeepest = 64;

/// Moves products out of one loop. Invariant operations are not in its body any more.
class Sharer {
public:
  Sharer(net::LoopOp loop, net::LoopNest &nest)
      : loop(loop), end(nest.getEnd(loop)), count(static_cast<int64_t>(loop.getCount())), nest(nest) {}

  void run();

  int64_t numBefore = 0, numAfter = 0;

private:
  // The body.
  bool isOwn(Operation *op) const { return op && nest.getLoop(op) == loop; }
  bool isInvariant(Value value) const;
  std::optional<Sum> findSum(net::CarryOp carry) const;
  void collectStacks();

  // Stacks of values of all iterations.
  bool isPart(Value value) const;
  bool isStacked(Value value) const;
  Value stackOf(Value value);
  RankedTensorType stackedType(Value value) const;

  // Products before the loop.
  void splitJoined(net::DotOp dot);
  bool moveBefore(net::DotOp dot);

  // Sums and stacks after the loop.
  bool sinkProduct(Sum sum);
  bool sinkReduction(Sum sum);
  bool sinkStack(net::StackOp stack);
  bool collect(Value value, Operation *user, int depth, Expression &found) const;
  void replace(Sum sum, Value total);
  Value shareProduct(net::DotOp dot, OpBuilder &builder, Value lhs, Value rhs);
  void eraseDead();

  int64_t countNew(ArrayRef<Value> values) const;
  bool fits(int64_t bytes) const;
  Value keep(Value value, Operation *origin, Operation *next);

  net::LoopOp loop;
  net::EndLoopOp end;
  int64_t count;
  net::LoopNest &nest;
  /// The stacks that the loop makes, by their parts.
  llvm::MapVector<Value, Value> made;
  /// Bytes of the stacks that the loop takes parts of and makes, and of those that this pass has added.
  int64_t present = 0, added = 0;
};

} // namespace

static int64_t bytesOf(Value value) { return getBytes(net::typeOf(value)); }

/// `dims` of a part as those of its stack.
static SmallVector<int64_t> shift(ArrayRef<int64_t> dims) {
  return llvm::map_to_vector(dims, [](int64_t dim) { return dim + 1; });
}

/// `dims` of a part as those of its stack, and the iterations.
static SmallVector<int64_t> withIterations(ArrayRef<int64_t> dims) {
  SmallVector<int64_t> all{0};
  llvm::append_range(all, shift(dims));
  return all;
}

//===----------------------------------------------------------------------===//
// The body
//===----------------------------------------------------------------------===//

bool Sharer::isInvariant(Value value) const {
  Operation *maker = value.getDefiningOp();
  return !maker || !nest.contains(loop, maker);
}

std::optional<Sum> Sharer::findSum(net::CarryOp carry) const {
  net::NextOp next = net::getNext(carry);
  auto add = next.getValue().getDefiningOp<net::AddOp>();
  if (!add || !isOwn(add) || !add->hasOneUse())
    return std::nullopt;
  // The product and the sum read the carried value nowhere else.
  for (OpOperand &use : carry->getUses())
    if (use.getOwner() != add && use.getOwner() != next)
      return std::nullopt;
  bool first = add.getLhs() == carry.getResult(), second = add.getRhs() == carry.getResult();
  if (first == second)
    return std::nullopt;
  return Sum{carry, add, next, first ? add.getRhs() : add.getLhs()};
}

void Sharer::collectStacks() {
  SetVector<Value> stacks;
  for (Operation *op = loop; op != end; op = op->getNextNode()) {
    if (!isOwn(op))
      continue;
    if (auto take = dyn_cast<net::TakeOp>(op))
      stacks.insert(take.getStack());
    else if (auto stack = dyn_cast<net::StackOp>(op)) {
      made.insert({stack.getValue(), stack.getResult()});
      stacks.insert(stack.getResult());
    }
  }
  for (Value stack : stacks)
    present += bytesOf(stack);
}

//===----------------------------------------------------------------------===//
// Stacks
//===----------------------------------------------------------------------===//

RankedTensorType Sharer::stackedType(Value value) const {
  SmallVector<int64_t> shape{count};
  llvm::append_range(shape, net::shapeOf(value));
  return RankedTensorType::get(shape, net::elementTypeOf(value));
}

bool Sharer::isPart(Value value) const { return isOwn(value.getDefiningOp()) && value.getDefiningOp<net::TakeOp>(); }

bool Sharer::isStacked(Value value) const { return isPart(value) || made.contains(value); }

/// The bytes per iteration of those of `values` that have no stack yet.
int64_t Sharer::countNew(ArrayRef<Value> values) const {
  int64_t bytes = 0;
  for (Value value : SetVector<Value>(values.begin(), values.end()))
    if (!isInvariant(value) && !isStacked(value))
      bytes += bytesOf(value);
  return bytes;
}

/// True if stacks of `bytes` per iteration leave the memory of all stacks within twice that of those that were there.
bool Sharer::fits(int64_t bytes) const { return added + bytes * count <= present; }

/// `value`, which was made before `next`, in the part of the step of `origin`.
Value Sharer::keep(Value value, Operation *origin, Operation *next) {
  Operation *op = value.getDefiningOp();
  nest.addBefore(op, next);
  inherit(op, origin, Inherit::Replacement);
  net::kNameAttr.remove(op);
  return value;
}

/// The stack of a value of the body; a new one if there is none.
Value Sharer::stackOf(Value value) {
  if (isPart(value))
    return value.getDefiningOp<net::TakeOp>().getStack();
  Value &stack = made[value];
  if (!stack) {
    OpBuilder builder(end);
    auto op = net::StackOp::create(builder, value.getLoc(), stackedType(value), value, loop.getIndex());
    inherit(op, value.getDefiningOp(), Inherit::LoopPart);
    nest.add(op, loop);
    stack = op;
    added += bytesOf(stack);
  }
  return stack;
}

//===----------------------------------------------------------------------===//
// Before the loop
//===----------------------------------------------------------------------===//

/// One product over all iterations; one operand is a stack, the other one the same in all of them. The iterations come
/// first in the result.
Value Sharer::shareProduct(net::DotOp dot, OpBuilder &builder, Value lhs, Value rhs) {
  bool isLhs = lhs != dot.getLhs();
  net::NetBuilder build(builder, dot.getLoc());
  auto dimsOf = [](ArrayRef<int64_t> dims, bool stacked) { return stacked ? shift(dims) : SmallVector<int64_t>(dims); };
  Operation *next = &*builder.getInsertionPoint();
  Value product =
      build.dot(lhs, rhs, dimsOf(dot.getLhsBatch(), isLhs), dimsOf(dot.getRhsBatch(), !isLhs),
                dimsOf(dot.getLhsContract(), isLhs), dimsOf(dot.getRhsContract(), !isLhs), net::elementTypeOf(dot));
  keep(product, dot, next);
  int64_t position = dot.getLhsBatch().size() + (isLhs ? 0 : dot.getLhsFree().size());
  if (position == 0)
    return product;
  SmallVector<int64_t> permutation{position};
  for (int64_t dim = 0, rank = net::typeOf(product).getRank(); dim < rank; ++dim)
    if (dim != position)
      permutation.push_back(dim);
  Value moved = build.transpose(product, permutation);
  keep(moved, dot, next);
  return moved;
}

/// Divides a product of joined values, one of which is a part of a stack, into the products of both: [x, h] W is
/// x W1 + h W2.
void Sharer::splitJoined(net::DotOp dot) {
  for (bool isLhs : {true, false}) {
    Value joined = isLhs ? dot.getLhs() : dot.getRhs(), other = isLhs ? dot.getRhs() : dot.getLhs();
    ArrayRef<int64_t> contracted = isLhs ? dot.getLhsContract() : dot.getRhsContract();
    ArrayRef<int64_t> otherContracted = isLhs ? dot.getRhsContract() : dot.getLhsContract();
    auto join = joined.getDefiningOp<net::ConcatenateOp>();
    if (!join || !isOwn(join) || join->getNumOperands() < 2 || !isInvariant(other) || contracted.size() != 1 ||
        static_cast<int64_t>(join.getDim()) != contracted[0])
      continue;
    if (llvm::none_of(join.getOperands(), [&](Value value) { return isPart(value); }))
      continue;
    OpBuilder before(loop), inside(dot);
    net::NetBuilder slices(before, dot.getLoc()), products(inside, dot.getLoc());
    Value sum;
    int64_t begin = 0;
    for (Value part : join.getOperands()) {
      int64_t size = net::shapeOf(part)[contracted[0]], dim = otherContracted[0];
      Value rows = slices.cut(other, dim, begin, begin + size);
      begin += size;
      keep(rows, dot, loop);
      Value product = products.dot(isLhs ? part : rows, isLhs ? rows : part, dot.getLhsBatch(), dot.getRhsBatch(),
                                   dot.getLhsContract(), dot.getRhsContract(), net::elementTypeOf(dot));
      keep(product, dot, dot);
      if (sum) {
        product = products.add(sum, product);
        keep(product, dot, dot);
      }
      sum = product;
    }
    inherit(sum.getDefiningOp(), dot, Inherit::Replacement);
    dot.getResult().replaceAllUsesWith(sum);
    return;
  }
}

bool Sharer::moveBefore(net::DotOp dot) {
  for (bool isLhs : {true, false}) {
    Value part = isLhs ? dot.getLhs() : dot.getRhs(), same = isLhs ? dot.getRhs() : dot.getLhs();
    // A part that is converted is converted in the stack.
    Operation *conversion = part.getDefiningOp<net::ConvertOp>();
    Value taken = conversion ? conversion->getOperand(0) : part;
    if (!isPart(taken) || !isInvariant(same))
      continue;
    int64_t converted = conversion ? bytesOf(part) : 0;
    if (bytesOf(dot) + converted > bytesOf(same) || !fits(bytesOf(dot) + converted))
      continue;
    OpBuilder builder(loop);
    Value stack = taken.getDefiningOp<net::TakeOp>().getStack();
    if (net::elementTypeOf(taken) != net::elementTypeOf(part)) {
      stack = net::NetBuilder(builder, conversion->getLoc()).convert(stack, net::elementTypeOf(part));
      keep(stack, conversion, loop);
    }
    Value products = shareProduct(dot, builder, isLhs ? stack : dot.getLhs(), isLhs ? dot.getRhs() : stack);
    builder.setInsertionPoint(dot);
    auto result = net::TakeOp::create(builder, dot.getLoc(), dot.getType(), products, loop.getIndex());
    inherit(result, dot, Inherit::Replacement);
    nest.add(result, dot);
    dot.getResult().replaceAllUsesWith(result.getResult());
    added += (bytesOf(dot) + converted) * count;
    return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// After the loop
//===----------------------------------------------------------------------===//

/// Lets `total`, which is computed after the loop, take the place of a sum over its iterations.
void Sharer::replace(Sum sum, Value total) {
  Operation *next = total.getDefiningOp()->getNextNode();
  if (std::optional<llvm::APFloat> start = net::getFloatSplat(sum.carry.getInit()); !start || !start->isPosZero()) {
    OpBuilder builder(next);
    total = keep(net::NetBuilder(builder, sum.next.getLoc()).add(sum.carry.getInit(), total), sum.next, next);
  }
  inherit(total.getDefiningOp(), sum.next, Inherit::Replacement);
  sum.next.getResult().replaceAllUsesWith(total);
  sum.next.erase();
  sum.add.erase();
  sum.carry.erase();
}

/// A sum of products. Every iteration would read and write the sum, which has to be no smaller than what is stacked.
bool Sharer::sinkProduct(Sum sum) {
  auto dot = sum.term.getDefiningOp<net::DotOp>();
  if (!dot || !isOwn(dot) || !dot->hasOneUse() || isInvariant(dot.getLhs()) || isInvariant(dot.getRhs()))
    return false;
  int64_t bytes = countNew({dot.getLhs(), dot.getRhs()});
  if (bytes > bytesOf(dot) || !fits(bytes))
    return false;
  Value lhs = stackOf(dot.getLhs()), rhs = stackOf(dot.getRhs());
  OpBuilder builder(loop->getContext());
  builder.setInsertionPointAfter(end);
  Operation *next = &*builder.getInsertionPoint();
  Value total =
      net::NetBuilder(builder, dot.getLoc())
          .dot(lhs, rhs, shift(dot.getLhsBatch()), shift(dot.getRhsBatch()), withIterations(dot.getLhsContract()),
               withIterations(dot.getRhsContract()), net::elementTypeOf(dot));
  keep(total, dot, next);
  replace(sum, total);
  return true;
}

/// A sum of sums of a value that has a stack anyway.
bool Sharer::sinkReduction(Sum sum) {
  auto reduce = sum.term.getDefiningOp<net::ReduceOp>();
  if (!reduce || !isOwn(reduce) || !reduce->hasOneUse() || reduce.getKind() != ReduceKind::Sum ||
      !net::isFloat(reduce) || !isStacked(reduce.getOperand()))
    return false;
  OpBuilder builder(loop->getContext());
  builder.setInsertionPointAfter(end);
  Operation *next = &*builder.getInsertionPoint();
  Value total = net::NetBuilder(builder, reduce.getLoc())
                    .reduce(ReduceKind::Sum, stackOf(reduce.getOperand()), withIterations(reduce.getDims()));
  keep(total, reduce, next);
  replace(sum, total);
  return true;
}

/// Adds `value` to what is computed after the loop, or to the values that are stacked for that; true if it is computed
/// after it. `saved` grows by the operands that iterations need not read any more.
bool Sharer::collect(Value value, Operation *user, int depth, Expression &found) const {
  Operation *op = value.getDefiningOp();
  bool isOnlyHere = isOwn(op) && op->getNumResults() == 1 && depth < kDeepest &&
                    llvm::all_of(op->getUsers(), [&](Operation *other) { return other == user; });
  if (auto dot = dyn_cast_or_null<net::DotOp>(op); dot && isOnlyHere) {
    bool first = isInvariant(dot.getLhs()), second = isInvariant(dot.getRhs());
    if (first != second) {
      if (found.sunk.insert(op))
        found.saved += bytesOf(first ? dot.getLhs() : dot.getRhs());
      found.leaves.insert(first ? dot.getRhs() : dot.getLhs());
      return true;
    }
  } else if (isOnlyHere && op->hasTrait<OpTrait::Elementwise>()) {
    size_t numLeaves = found.leaves.size();
    bool holdsProduct = false;
    for (Value operand : op->getOperands())
      holdsProduct |= collect(operand, op, depth + 1, found);
    if (holdsProduct) {
      found.sunk.insert(op);
      return true;
    }
    while (found.leaves.size() > numLeaves)
      found.leaves.pop_back();
  }
  if (!isInvariant(value))
    found.leaves.insert(value);
  return false;
}

/// A stack of an expression of products with values that are the same in all iterations. Every iteration would read
/// those, which have to be no smaller than what is stacked in place of the results.
bool Sharer::sinkStack(net::StackOp stack) {
  Expression found;
  if (!collect(stack.getValue(), stack, 0, found))
    return false;
  int64_t bytes = countNew(found.leaves.getArrayRef()) - bytesOf(stack.getValue());
  if (bytes > found.saved || !fits(bytes))
    return false;
  llvm::DenseMap<Value, Value> shared;
  for (Value leaf : found.leaves)
    shared[leaf] = stackOf(leaf);
  OpBuilder builder(loop->getContext());
  builder.setInsertionPointAfter(end);
  Operation *next = &*builder.getInsertionPoint();
  // Operands come before what reads them.
  for (Operation *op : found.sunk) {
    Value result = op->getResult(0);
    if (auto dot = dyn_cast<net::DotOp>(op)) {
      bool isLhs = !isInvariant(dot.getLhs());
      shared[result] = shareProduct(dot, builder, isLhs ? shared.at(dot.getLhs()) : dot.getLhs(),
                                    isLhs ? dot.getRhs() : shared.at(dot.getRhs()));
      continue;
    }
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      if (Value stacked = shared.lookup(operand)) {
        operands.push_back(stacked);
        continue;
      }
      net::NetBuilder build(builder, op->getLoc());
      SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(1, net::typeOf(operand).getRank() + 1));
      Value repeated = build.broadcast(operand, stackedType(operand).getShape(), dims);
      keep(repeated, op, next);
      operands.push_back(repeated);
    }
    Operation *clone = builder.clone(*op);
    clone->setOperands(operands);
    clone->getResult(0).setType(stackedType(result));
    shared[result] = keep(clone->getResult(0), op, next);
  }
  Value all = shared.at(stack.getValue());
  inherit(all.getDefiningOp(), stack, Inherit::Replacement);
  added -= bytesOf(stack.getResult());
  made.erase(stack.getValue());
  stack.getResult().replaceAllUsesWith(all);
  stack.erase();
  return true;
}

void Sharer::eraseDead() {
  for (Operation *op = end->getPrevNode(); op != loop;) {
    Operation *previous = op->getPrevNode();
    // Stacks are remembered; those that are not read go when equal operations are merged.
    if (isOwn(op) && !isa<net::StackOp>(op) && isOpTriviallyDead(op))
      op->erase();
    op = previous;
  }
}

void Sharer::run() {
  collectStacks();
  auto visit = [&](auto kind, auto action) {
    using OpT = decltype(kind);
    SmallVector<OpT> found;
    for (Operation *op = loop; op != end; op = op->getNextNode())
      if (auto match = dyn_cast<OpT>(op); match && isOwn(op))
        found.push_back(match);
    for (OpT op : found)
      action(op);
  };
  visit(net::DotOp(), [&](net::DotOp dot) { splitJoined(dot); });
  eraseDead();
  visit(net::DotOp(), [&](net::DotOp dot) { numBefore += moveBefore(dot); });
  eraseDead();
  auto visitSums = [&](auto sink) {
    visit(net::CarryOp(), [&](net::CarryOp carry) {
      if (std::optional<Sum> sum = findSum(carry))
        numAfter += (this->*sink)(*sum);
    });
  };
  visitSums(&Sharer::sinkProduct);
  visit(net::StackOp(), [&](net::StackOp stack) { numAfter += sinkStack(stack); });
  // The values that products need have their stacks now.
  visitSums(&Sharer::sinkReduction);
  eraseDead();
}

namespace {

struct ShareProductsPass : schedule::impl::ShareProductsPassBase<ShareProductsPass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      // Sums whose order is fixed stay as they are.
      if (func.isExternal() || net::kSumPartsAttr.isOn(func))
        continue;
      Block &block = func.getBody().front();
      net::LoopNest nest = net::LoopNest::findBodies(block);
      // Inner loops come first: what leaves them may leave the outer one, too.
      SmallVector<net::LoopOp> loops = llvm::to_vector(block.getOps<net::LoopOp>());
      for (net::LoopOp loop : llvm::reverse(loops)) {
        Sharer sharer(loop, nest);
        sharer.run();
        numBefore += sharer.numBefore;
        numAfter += sharer.numAfter;
      }
    }
  }
};

} // namespace
