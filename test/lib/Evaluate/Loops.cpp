//===- Loops.cpp - loops of the plain interpreter -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/Loops.h"
#include "test/lib/Evaluate/Evaluate.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::evaluate;

namespace {

/// Goes through operations in the order in which they are done.
struct Walker {
  const net::LoopNest &nest;
  llvm::function_ref<LogicalResult(Operation *, Iteration)> visit;

  /// The operations from `first` on, up to `last`, in an iteration of the loop around them.
  LogicalResult walk(Block::iterator first, Block::iterator last, Iteration iteration) {
    for (; first != last; ++first) {
      auto loop = dyn_cast<net::LoopOp>(*first);
      if (!loop) {
        if (failed(visit(&*first, iteration)))
          return failure();
        continue;
      }
      Block::iterator end(nest.getEnd(loop));
      int64_t count = loop.getCount();
      for (int64_t number = 0; number < count; ++number) {
        Iteration inner{loop.getReverse() ? count - 1 - number : number, number == 0};
        if (failed(visit(loop, inner)) || failed(walk(std::next(first), end, inner)))
          return failure();
      }
      first = end;
    }
    return success();
  }
};

} // namespace

LogicalResult evaluate::forEachDone(Block &block, llvm::function_ref<LogicalResult(Operation *, Iteration)> visit) {
  FailureOr<net::LoopNest> nest = net::LoopNest::find(block);
  if (failed(nest))
    return failure();
  return Walker{*nest, visit}.walk(block.begin(), block.end(), {});
}

Value evaluate::getBefore(Operation *op) {
  if (auto carry = dyn_cast<net::CarryOp>(op))
    return net::getNext(carry).getResult();
  return isa<net::StackOp, net::TotalOp>(op) ? op->getResult(0) : Value();
}

/// The part of `stack` with number `index`.
static Tensor take(RankedTensorType type, const Tensor &stack, int64_t index) {
  Tensor part(type);
  std::copy_n(stack.data.begin() + index * part.size(), part.size(), part.data.begin());
  return part;
}

static Tensor put(Tensor stack, const Tensor &part, int64_t index) {
  llvm::copy(part.data, stack.data.begin() + index * part.size());
  return stack;
}

static Tensor add(Tensor sum, const Tensor &term) {
  Type element = sum.type.getElementType();
  for (auto [left, right] : llvm::zip_equal(sum.data, term.data)) {
    if (sum.isFloat())
      left.f = roundTo(element, left.f + right.f);
    else
      left.i = wrapTo(element, left.i + right.i);
  }
  return sum;
}

std::optional<Tensor> evaluate::evaluateLoop(Operation *op, ArrayRef<const Tensor *> operands, Iteration iteration,
                                             const Tensor *before) {
  if (!isa<net::LoopOp, net::CarryOp, net::NextOp, net::TakeOp, net::StackOp, net::TotalOp>(op))
    return std::nullopt;
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (isa<net::LoopOp>(op)) {
    Tensor number(type);
    number.data[0].i = iteration.index;
    return number;
  }
  if (isa<net::CarryOp>(op))
    return iteration.isFirst ? *operands[0] : *before;
  if (isa<net::NextOp>(op))
    return *operands[0];
  if (isa<net::TakeOp>(op))
    return take(type, *operands[0], iteration.index);
  Tensor sofar = iteration.isFirst ? Tensor(type) : *before;
  return isa<net::StackOp>(op) ? put(std::move(sofar), *operands[0], iteration.index)
                               : add(std::move(sofar), *operands[0]);
}
