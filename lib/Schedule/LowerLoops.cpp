//===- LowerLoops.cpp - lowers sums, indices and invariants of loops ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Leaves only carried values, taken parts and stacks of loops, which are memory, and operations that differ between
// iterations. Passes after it never see two equal operations, one in a loop and one after it: the one in the loop would
// have been moved out.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/Net/Loops.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/Schedule/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshwright::schedule {
#define GEN_PASS_DEF_LOWERLOOPSPASS
#include "meshwright/Schedule/Passes.h.inc"
} // namespace meshwright::schedule

#define DEBUG_TYPE "dist-schedule-lower-loops"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

namespace {

/// Lowers the loops of one block.
class Lowerer {
public:
  Lowerer(Block &block, net::LoopNest &nest) : block(block), nest(nest) {}

  LogicalResult run();

  int64_t numHoisted = 0;

private:
  void lower(net::TotalOp op);
  void takeIndex(net::LoopOp loop);
  void hoist();
  void sort(net::LoopOp loop);

  Block &block;
  net::LoopNest &nest;
};

} // namespace

static bool isPartOfLoop(Operation *op) { return op->hasTrait<net::LoopPart>(); }

/// A sum over iterations is a carried value that begins at zero.
void Lowerer::lower(net::TotalOp op) {
  net::LoopOp loop = nest.getLoop(op);
  OpBuilder builder(loop);
  Value zero = net::NetBuilder(builder, op.getLoc()).splat(op.getType(), 0);
  nest.addBefore(zero.getDefiningOp(), loop);
  builder.setInsertionPoint(op);
  auto carry = net::CarryOp::create(builder, op.getLoc(), zero, op.getIndex());
  auto sum = net::AddOp::create(builder, op.getLoc(), op.getType(), carry, op.getValue());
  auto next = net::NextOp::create(builder, op.getLoc(), sum, carry);
  inherit(next, op, Inherit::Replacement);
  for (Operation *made : {carry.getOperation(), sum.getOperation(), next.getOperation()}) {
    inherit(made, op, Inherit::LoopPart);
    nest.add(made, op);
  }
  op.getResult().replaceAllUsesWith(next.getResult());
  op.erase();
}

/// Lets computations with the iteration number take it from a constant with all numbers.
void Lowerer::takeIndex(net::LoopOp loop) {
  auto isComputed = [](OpOperand &use) { return !isPartOfLoop(use.getOwner()) || use.getOperandNumber() == 0; };
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : loop.getIndex().getUses())
    if (!isa<net::EndLoopOp>(use.getOwner()) && isComputed(use))
      uses.push_back(&use);
  if (uses.empty())
    return;
  OpBuilder builder(loop);
  Value numbers = net::NetBuilder(builder, loop.getLoc())
                      .iota(builder.getI32Type(), {static_cast<int64_t>(loop.getCount())}, /*dim=*/0);
  nest.addBefore(numbers.getDefiningOp(), loop);
  builder.setInsertionPointAfter(loop);
  auto index = net::TakeOp::create(builder, loop.getLoc(), loop.getIndex().getType(), numbers, loop.getIndex());
  nest.add(index, loop);
  inherit(index, loop, Inherit::LoopPart);
  for (OpOperand *use : uses)
    use->set(index.getResult());
}

/// Moves loop-invariant operations, with everything they depend on, before the loop.
void Lowerer::hoist() {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (isPartOfLoop(&op) || !nest.getLoop(&op))
      continue;
    net::LoopOp loop = nest.getLoop(&op);
    nest.hoist(&op);
    numHoisted += nest.getLoop(&op) != loop;
  }
}

/// Carried values come first in the body, and what becomes of them last.
void Lowerer::sort(net::LoopOp loop) {
  SmallVector<Operation *> carried, becoming;
  for (Operation *op = loop; op != nest.getEnd(loop); op = op->getNextNode())
    if (nest.getLoop(op) != loop)
      continue;
    else if (isa<net::CarryOp>(op))
      carried.push_back(op);
    else if (isa<net::NextOp>(op))
      becoming.push_back(op);
  for (Operation *op : llvm::reverse(carried))
    op->moveAfter(loop);
  for (Operation *op : becoming)
    op->moveBefore(nest.getEnd(loop));
}

LogicalResult Lowerer::run() {
  for (net::TotalOp op : llvm::make_early_inc_range(block.getOps<net::TotalOp>()))
    lower(op);
  for (net::LoopOp loop : llvm::make_early_inc_range(block.getOps<net::LoopOp>()))
    takeIndex(loop);
  hoist();
  for (net::LoopOp loop : block.getOps<net::LoopOp>())
    sort(loop);
  for (net::AssignOp op : block.getOps<net::AssignOp>())
    if (nest.getLoop(op))
      return op.emitOpError() << "assigns @" << op.getVariable()
                              << " in every iteration of a loop; a step assigns it once";
  return success();
}

namespace {

struct LowerLoopsPass : schedule::impl::LowerLoopsPassBase<LowerLoopsPass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isExternal())
        continue;
      Block &block = func.getBody().front();
      FailureOr<net::LoopNest> nest = net::LoopNest::find(block);
      if (failed(nest))
        return signalPassFailure();
      if (nest->empty())
        continue;
      Lowerer lowerer(block, *nest);
      if (failed(lowerer.run()))
        return signalPassFailure();
      numHoisted += lowerer.numHoisted;
    }
  }
};

} // namespace
