//===- ReverseMode.cpp - cotangents of a block ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Train/ReverseMode.h"
#include "dialects/Net/Interfaces.h"
#include "dialects/Net/NetBuilder.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

ReverseMode::ReverseMode(Block &block, ArrayRef<Value> sources, const llvm::DenseSet<Value> &stopped) : block(block) {
  active.insert(sources.begin(), sources.end());
  for (Operation &op : block)
    if (llvm::any_of(op.getOperands(), [&](Value operand) { return isActive(operand); }))
      for (Value result : op.getResults())
        if (net::isFloat(result) && !stopped.contains(result))
          active.insert(result);
}

LogicalResult ReverseMode::run(Value loss, RoleBuilder &builder, Value seed) {
  if (!isActive(loss))
    return success();
  contributions[loss].push_back(seed);
  // What the sweep makes comes after the last operation it started from.
  SmallVector<Operation *> forward;
  for (Operation &op : block)
    if (llvm::any_of(op.getResults(), [&](Value result) { return isActive(result); }))
      forward.push_back(&op);
  for (Operation *op : llvm::reverse(forward)) {
    builder.setScope(op->getDiscardableAttr(net::kScopeAttr));
    if (failed(visit(op, builder)))
      return failure();
  }
  return success();
}

Value ReverseMode::takeCotangent(Value value, RoleBuilder &builder) {
  auto found = contributions.find(value);
  if (found == contributions.end())
    return {};
  Value sum = sumCotangents(builder, value.getLoc(), found->second);
  contributions.erase(found);
  return sum;
}

LogicalResult ReverseMode::visit(Operation *op, RoleBuilder &builder) {
  SmallVector<Value> results;
  for (Value result : op->getResults())
    results.push_back(takeCotangent(result, builder));
  if (llvm::none_of(results, [](Value cotangent) { return static_cast<bool>(cotangent); }))
    return success();
  BitVector wanted(op->getNumOperands());
  for (OpOperand &operand : op->getOpOperands())
    if (isActive(operand.get()))
      wanted.set(operand.getOperandNumber());
  if (wanted.none()) {
    // A source: its cotangent is what was asked for.
    for (auto [result, cotangent] : llvm::zip_equal(op->getResults(), results))
      cotangents[result] = cotangent;
    return success();
  }
  auto rule = dyn_cast<net::DerivativeOpInterface>(op);
  if (!rule)
    return op->emitOpError() << "has no derivative, but a gradient has to pass it";
  FailureOr<SmallVector<Value>> operands = rule.differentiate(builder, results, wanted);
  if (failed(operands))
    return failure();
  for (auto [operand, cotangent] : llvm::zip_equal(op->getOpOperands(), *operands))
    if (cotangent && wanted.test(operand.getOperandNumber()))
      contributions[operand.get()].push_back(cotangent);
  return success();
}
