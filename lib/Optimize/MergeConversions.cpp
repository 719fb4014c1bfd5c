//===- MergeConversions.cpp - merges equal and adjacent conversions -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Partition plans each conversion by itself. This pass merges equal ones and moves reductions after the sums that add
// their results: reduce(a) + reduce(b) = reduce(a + b). It visits every operation once per rewrite, in order; a block
// is a straight line, so the first of two equal conversions dominates the second.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Interfaces.h"
#include "dialects/Net/Net.h"
#include "meshwright/Optimize/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include <map>

namespace meshwright::optimize {
#define GEN_PASS_DEF_MERGECONVERSIONSPASS
#include "meshwright/Optimize/Passes.h.inc"
} // namespace meshwright::optimize

#define DEBUG_TYPE "dist-optimize-merge-conversions"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;

//===----------------------------------------------------------------------===//
// Equal conversions
//===----------------------------------------------------------------------===//

/// A key that is equal for equal conversions: it leaves out only the user's name.
static SmallVector<const void *> getKey(Operation *op) {
  SmallVector<const void *> key{op->getName().getAsOpaquePointer(),
                                op->getPropertiesAsAttribute().getAsOpaquePointer()};
  for (Value operand : op->getOperands())
    key.push_back(operand.getAsOpaquePointer());
  return key;
}

/// Replaces conversions by equal earlier ones; returns how many. A conversion inside a loop is not available after the
/// loop.
static unsigned mergeEqual(Block &block) {
  std::map<SmallVector<const void *>, Operation *> seen;
  SmallVector<SmallVector<SmallVector<const void *>>> madeInLoops;
  unsigned merged = 0;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (isa<net::LoopOp>(op))
      madeInLoops.emplace_back();
    if (isa<net::EndLoopOp>(op) && !madeInLoops.empty())
      for (const auto &key : madeInLoops.pop_back_val())
        seen.erase(key);
    if (!isa<ConversionOpInterface, MaskOp>(op))
      continue;
    auto [it, isNew] = seen.try_emplace(getKey(&op), &op);
    if (isNew) {
      if (!madeInLoops.empty())
        madeInLoops.back().push_back(it->first);
      continue;
    }
    op.replaceAllUsesWith(it->second);
    op.erase();
    ++merged;
  }
  return merged;
}

//===----------------------------------------------------------------------===//
// Reductions that meet
//===----------------------------------------------------------------------===//

/// The reduction of a partial sum that makes `value`, if it has a single use.
static Operation *getReduction(Value value) {
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<AllReduceOp, ReduceScatterOp>(op) || !value.hasOneUse())
    return nullptr;
  return cast<ConversionOpInterface>(op).getFrom().getPartialKind() == ReduceKind::Sum ? op : nullptr;
}

/// True if position i of the result depends on position i of the operand alone, in all dimensions.
static bool isPositional(const TensorRule &operand, const TensorRule &result) {
  auto equal = [](const auto &left, const auto &right) {
    return left.size() == right.size() && llvm::all_of(llvm::zip(left, right), [](auto pair) {
             auto &[a, b] = pair;
             return a.factor == b.factor && a.size == b.size && a.offset == b.offset;
           });
  };
  return operand.dims.size() == result.dims.size() &&
         llvm::all_of(llvm::zip(operand.dims, result.dims),
                      [&](auto pair) { return equal(std::get<0>(pair), std::get<1>(pair)); });
}

/// The operands of `op` in which it is linear and that are equal reductions, at least two; otherwise empty.
static ArrayRef<unsigned> findReducedOperands(Operation *op, const ShardingRule &rule) {
  for (const PartialRule &partial : rule.partials) {
    if (partial.kind != ReduceKind::Sum || partial.operands.size() < 2)
      continue;
    Operation *first = getReduction(op->getOperand(partial.operands.front()));
    // A reduce-scatter changes the shape of its value, so all operands have to be reduced by one.
    if (!first || (isa<ReduceScatterOp>(first) && partial.operands.size() != op->getNumOperands()))
      continue;
    bool areEqual = llvm::all_of(partial.operands, [&](unsigned operand) {
      Operation *other = getReduction(op->getOperand(operand));
      return other && other->getName() == first->getName() &&
             other->getPropertiesAsAttribute() == first->getPropertiesAsAttribute() &&
             isPositional(rule.operands[operand], rule.results[0]);
    });
    if (areEqual)
      return partial.operands;
  }
  return {};
}

/// Moves the reductions of operands after `op`; returns the number of reductions that this saves.
static unsigned joinReductions(Operation *op) {
  auto interface = dyn_cast<ShardingOpInterface>(op);
  if (!interface || op->getNumResults() != 1)
    return 0;
  ShardingRule rule = interface.getShardingRule();
  ArrayRef<unsigned> operands = findReducedOperands(op, rule);
  if (operands.empty())
    return 0;
  auto reduction = cast<ConversionOpInterface>(op->getOperand(operands.front()).getDefiningOp());
  // If fewer ranks compute the sum than reduce its terms, the reduction after it would lack members.
  if (kOnAttr.get(op) != kOnAttr.get(reduction))
    return 0;
  if (getElementTypeOrSelf(op->getResult(0)) != getElementTypeOrSelf(reduction.getInput()))
    return 0;
  IRMapping mapping;
  OpBuilder builder(op);
  builder.setInsertionPointAfter(op);
  Operation *after = builder.clone(*reduction, mapping);
  op->getResult(0).replaceAllUsesWith(after->getResult(0));
  after->setOperand(0, op->getResult(0));
  op->getResult(0).setType(reduction.getInput().getType());
  for (unsigned operand : operands) {
    Operation *old = op->getOperand(operand).getDefiningOp();
    op->setOperand(operand, cast<ConversionOpInterface>(old).getInput());
    old->erase();
  }
  kStageAttr.remove(after);
  inherit(after, op, Inherit::Companion);
  return operands.size() - 1;
}

namespace {

struct MergeConversionsPass : optimize::impl::MergeConversionsPassBase<MergeConversionsPass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      for (Block &block : func.getBody()) {
        numMerged += mergeEqual(block);
        // The joined reduction comes after its sum, where a later sum in the chain finds it.
        for (Operation &op : llvm::make_early_inc_range(block))
          numJoined += joinReductions(&op);
      }
  }
};

} // namespace
