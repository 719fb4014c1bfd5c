//===- Simplify.cpp - folding, CSE and dead code --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One forward sweep folds and merges, one backward sweep erases; both are linear in the number of operations. In
// contrast to MLIR's canonicalization and CSE, names are kept, operations of different roles and scopes may merge, and
// every operation is visited once. Loop-invariant operations are hoisted before their loop, so that an operation after
// a loop is never merged with one inside it.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "dialects/Net/Fold.h"
#include "dialects/Net/Loops.h"
#include "meshwright/Train/Passes.h"
#include "llvm/ADT/DenseSet.h"

#define DEBUG_TYPE "dist-train-simplify"

namespace meshwright::train {
#define GEN_PASS_DEF_SIMPLIFYPASS
#include "meshwright/Train/Passes.h.inc"
} // namespace meshwright::train

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

/// True for discardable attributes that distinguish operations.
static bool isSignificant(NamedAttribute attribute) {
  StringRef name = attribute.getName();
  return name != net::kRoleAttr && name != net::kScopeAttr && name != net::kNameAttr;
}

namespace {

/// Operations are equal if they compute the same from the same operands.
struct EqualOperations : llvm::DenseMapInfo<Operation *> {
  static unsigned getHashValue(const Operation *constant) {
    auto *op = const_cast<Operation *>(constant);
    return static_cast<unsigned>(llvm::hash_combine(op->getName(), op->hashProperties(),
                                                    hashRange(op->getResultTypes()), hashRange(op->getOperands())));
  }
  static bool isEqual(const Operation *first, const Operation *second) {
    if (first == second)
      return true;
    if (first == getEmptyKey() || first == getTombstoneKey() || second == getEmptyKey() || second == getTombstoneKey())
      return false;
    auto *left = const_cast<Operation *>(first), *right = const_cast<Operation *>(second);
    return left->getName() == right->getName() && left->getOperands() == right->getOperands() &&
           left->getResultTypes() == right->getResultTypes() && haveEqualAttributes(left, right);
  }

private:
  template <typename Range> static llvm::hash_code hashRange(Range range) {
    return llvm::hash_combine_range(range.begin(), range.end());
  }
  static bool haveEqualAttributes(Operation *left, Operation *right) {
    if (!left->getName().compareOpProperties(left->getPropertiesStorage(), right->getPropertiesStorage()))
      return false;
    auto leftSet = llvm::make_filter_range(left->getDiscardableAttrs(), isSignificant);
    auto rightSet = llvm::make_filter_range(right->getDiscardableAttrs(), isSignificant);
    return llvm::equal(leftSet, rightSet);
  }
};

class Simplifier {
public:
  Simplifier(Block &block, net::LoopNest &loops)
      : block(block), loops(loops), builder(block.getParentOp()->getContext()) {}

  void foldAndMerge();
  void dropDead();

private:
  /// Folds `op`, whose operands are folded, and merges it with an equal earlier operation. Returns the values of its
  /// results and erases it if they are other values.
  SmallVector<Value> visit(Operation *op);
  /// The folded value of the only result of `op`; null if there is none.
  Value fold(Operation *op);
  /// Replaces and erases `op`, unless that would lose one of two names. Returns true on success.
  bool replace(Operation *op, ValueRange values);

  Block &block;
  net::LoopNest &loops;
  OpBuilder builder;
  llvm::DenseSet<Operation *, EqualOperations> known;
};

} // namespace

bool Simplifier::replace(Operation *op, ValueRange values) {
  if (StringAttr name = net::kNameAttr.get(op)) {
    Operation *other = values.front().getDefiningOp();
    if (!other || net::kNameAttr.isOn(other) || other->getResult(0) != values.front())
      return false;
    net::kNameAttr.set(other, name);
  }
  op->replaceAllUsesWith(values);
  op->erase();
  return true;
}

Value Simplifier::fold(Operation *op) {
  auto rule = dyn_cast<net::FoldOpInterface>(op);
  if (!rule || op->getNumResults() != 1)
    return {};
  builder.setInsertionPoint(op);
  InheritingListener listener(op);
  builder.setListener(&listener);
  Value folded = rule.simplify(builder);
  builder.setListener(nullptr);
  // Operations built by a fold may fold again; each is simpler than the one it came from, so this terminates.
  for (Operation *made : listener.made) {
    loops.add(made, op);
    bool isResult = folded == made->getResult(0);
    SmallVector<Value> values = visit(made);
    if (isResult)
      folded = values.front();
  }
  return folded;
}

SmallVector<Value> Simplifier::visit(Operation *op) {
  // A broadcast of a value from before a loop stays next to its use, so that only the small value is alive across the
  // loop.
  if (!isa<net::BroadcastOp>(op))
    loops.hoist(op);
  if (Value folded = fold(op); folded && replace(op, folded))
    return {folded};
  auto [found, inserted] = known.insert(op);
  // The operands are visible to all equal operations, so they are visible where the hoisted one is placed.
  if (!inserted && !loops.contains(loops.getLoop(*found), op))
    loops.hoist(*found);
  auto values = llvm::to_vector_of<Value>((*found)->getResults());
  if (!inserted && !replace(op, values))
    values.assign(op->result_begin(), op->result_end());
  return values;
}

void Simplifier::foldAndMerge() {
  for (Operation &op : llvm::make_early_inc_range(block))
    if (isPure(&op) && op.getNumRegions() == 0 && op.getNumResults() != 0)
      visit(&op);
}

/// True if the operation is only needed by operations that read its results or are in its loop.
static bool isOnlyForReaders(Operation &op) {
  return isa<net::ReadOp>(op) || op.hasTrait<net::LoopPart>() || (isPure(&op) && !op.hasTrait<OpTrait::IsTerminator>());
}

void Simplifier::dropDead() {
  llvm::DenseSet<Operation *> needed;
  SmallVector<Operation *> next;
  auto need = [&](Operation *op) {
    if (op && needed.insert(op).second)
      next.push_back(op);
  };
  for (Operation &op : block)
    if (!isOnlyForReaders(op))
      need(&op);
  while (!next.empty()) {
    Operation *op = next.pop_back_val();
    for (Value operand : op->getOperands())
      need(operand.getDefiningOp());
    if (net::LoopOp loop = loops.getLoop(op)) {
      need(loop);
      need(loops.getEnd(loop));
    }
    if (auto carry = dyn_cast<net::CarryOp>(op))
      need(net::getNext(carry));
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (!needed.contains(&op))
      op.erase();
}

LogicalResult train::simplify(func::FuncOp func) {
  for (Block &block : func.getBody()) {
    FailureOr<net::LoopNest> loops = net::LoopNest::find(block);
    if (failed(loops))
      return failure();
    Simplifier simplifier(block, *loops);
    simplifier.foldAndMerge();
    simplifier.dropDead();
  }
  return success();
}

namespace {

struct SimplifyPass : train::impl::SimplifyPassBase<SimplifyPass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (failed(simplify(func)))
        return signalPassFailure();
  }
};

} // namespace
