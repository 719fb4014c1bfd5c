//===- FormConditionals.cpp - the last of several steps as a region ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operation is late if only the last accumulation step needs it. Late operations can follow all others, in their
// order, because nothing that other steps need reads a late value.
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/Loops.h"
#include "meshwright/Partition/Conditionals.h"
#include "meshwright/Partition/Passes.h"
#include "meshwright/Support/NeededTimes.h"
#include "llvm/ADT/SetVector.h"

namespace meshwright::partition {
#define GEN_PASS_DEF_FORMCONDITIONALSPASS
#include "meshwright/Partition/Passes.h.inc"
} // namespace meshwright::partition

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::partition;

/// The operations of `func` that `last` alone needs or that nothing needs, the last one first; none if all of them are
/// of the second kind. A loop moves as a whole.
static FailureOr<llvm::SetVector<Operation *>> findLate(func::FuncOp func, const Mesh &mesh, NamedAttribute last) {
  Block &block = func.getBody().front();
  FailureOr<NeededTimes> times = NeededTimes::find(func, mesh);
  FailureOr<net::LoopNest> nest = net::LoopNest::find(block);
  if (failed(times) || failed(nest))
    return failure();
  auto isOfLast = [&](Operation &op) {
    DictionaryAttr needed = times->get(&op);
    return !needed || needed.get(last.getName()) == last.getValue();
  };
  llvm::SetVector<Operation *> late;
  bool isNeeded = false;
  for (Operation *end = block.getTerminator()->getPrevNode(), *begin; end; end = begin->getPrevNode()) {
    net::LoopOp loop = isa<net::EndLoopOp>(end) ? nest->getOutermost(end) : net::LoopOp();
    begin = loop ? loop.getOperation() : end;
    auto part = llvm::make_range(begin->getIterator(), std::next(end->getIterator()));
    // With two steps the last one alone needs the sum so far, but `dist.accumulate`, which both run, names it.
    auto isReadLate = [&](Operation &op) {
      return llvm::all_of(op.getUsers(), [&](Operation *user) {
        return late.contains(user) || isa<func::ReturnOp>(user) || (loop && nest->getOutermost(user) == loop);
      });
    };
    if (!llvm::all_of(part, isOfLast) || !llvm::all_of(part, isReadLate))
      continue;
    for (Operation &op : llvm::reverse(part)) {
      isNeeded |= times->get(&op) != nullptr;
      late.insert(&op);
    }
  }
  return isNeeded ? late : llvm::SetVector<Operation *>();
}

/// Removes the entry of `axis` from the times of an assignment.
static void dropAxis(net::AssignOp assign, StringAttr axis) {
  NamedAttrList during(kDuringAttr.get(assign));
  during.erase(axis);
  if (during.empty())
    kDuringAttr.remove(assign);
  else
    kDuringAttr.set(assign, during.getDictionary(assign.getContext()));
}

/// Moves `late` operations, of which the last one is the first here, into a conditional at the end of `block`.
static void moveIntoConditional(Block &block, const llvm::SetVector<Operation *> &late, NamedAttribute last) {
  auto isOutside = [&](OpOperand &use) { return !late.contains(use.getOwner()); };
  SmallVector<Value> yielded;
  for (Operation *op : llvm::reverse(late))
    llvm::copy_if(op->getResults(), std::back_inserter(yielded),
                  [&](Value result) { return llvm::any_of(result.getUses(), isOutside); });
  auto builder = OpBuilder::atBlockTerminator(&block);
  Location loc = late.front()->getLoc();
  auto when = WhenOp::create(builder, loc, TypeRange(ValueRange(yielded)), builder.getDictionaryAttr(last));
  Block &body = when.getBody().emplaceBlock();
  for (auto [value, result] : llvm::zip_equal(yielded, when.getResults()))
    value.replaceUsesWithIf(result, isOutside);
  for (Operation *op : late) {
    op->moveBefore(&body, body.begin());
    if (auto assign = dyn_cast<net::AssignOp>(op); assign && kDuringAttr.isOn(op))
      dropAxis(assign, last.getName());
  }
  builder.setInsertionPointToEnd(&body);
  YieldOp::create(builder, loc, yielded);
}

LogicalResult partition::formConditionals(ModuleOp module) {
  MeshOp meshOp = findMesh(module);
  if (!meshOp)
    return success();
  Mesh mesh = meshOp.getMesh();
  std::optional<Axis> steps = mesh.find(AxisKind::Steps);
  if (!steps || mesh.getSize(*steps) == 1)
    return success();
  Builder builder(module.getContext());
  NamedAttribute last(mesh.getName(*steps), builder.getDenseI64ArrayAttr(mesh.getSize(*steps) - 1));
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.isExternal())
      continue;
    auto late = findLate(func, mesh, last);
    if (failed(late))
      return failure();
    if (!late->empty())
      moveIntoConditional(func.getBody().front(), *late, last);
  }
  return success();
}

namespace {

struct FormConditionalsPass : partition::impl::FormConditionalsPassBase<FormConditionalsPass> {
  void runOnOperation() override {
    if (failed(formConditionals(getOperation())))
      signalPassFailure();
  }
};

} // namespace
