//===- WidenSums.cpp - sums in 16 bit are rounded after they are reduced --===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A reduction of floats of 16 bits is taken in f32 by its kernel and rounded once. Where ranks reduce a part each, they
// would round, and overflow, before they add their parts up. Afterwards the reduction is in f32 and a conversion
// follows it: a sum does not pass a conversion, so ranks agree on it in f32, and round what they agree on.
//
// Gradients are left as they are: in which type they travel is what `reduce { communicate }` says.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/Complete/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshwright::complete {
#define GEN_PASS_DEF_WIDENSUMSPASS
#include "meshwright/Complete/Passes.h.inc"
} // namespace meshwright::complete

using namespace mlir;
using namespace meshwright;
using namespace meshwright::complete;

/// Whether `op` sums or multiplies floats that its kernel widens.
static bool isNarrowSum(net::ReduceOp op) {
  bool rounds = op.getKind() == dist::ReduceKind::Sum || op.getKind() == dist::ReduceKind::Product;
  return rounds && !op.getDims().empty() && net::isFloat(op.getResult()) &&
         net::elementTypeOf(op.getResult()).getIntOrFloatBitWidth() < 32;
}

/// Whether `value` becomes a gradient, or its own sum over several steps, by operations on it alone. What a gradient
/// passes before it is reduced is marked: `dist.travels` ends the search too.
static bool isGradient(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (net::getUserName(op).starts_with(net::kGradientPrefix) || dist::travels(op) || isa<net::AccumulateOp>(op))
      return true;
    if (!value.hasOneUse() || value.use_begin()->getOwner()->getNumResults() != 1)
      return false;
    value = value.use_begin()->getOwner()->getResult(0);
  }
  return false;
}

/// Rounds what `op` sums after it, instead of in it. The result keeps the names and the placements.
static void widen(net::ReduceOp op) {
  OpBuilder builder(op);
  net::NetBuilder build(builder, op.getLoc());
  Value operand = build.convert(op.getOperand(), builder.getF32Type());
  Value sum = build.reduce(op.getKind(), operand, op.getDims());
  Value result = build.convert(sum, net::elementTypeOf(op.getResult()));
  result.getDefiningOp()->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  for (StringRef name : {StringRef(net::kRoleAttr), StringRef(net::kScopeAttr), StringRef(dist::kStageAttr)})
    if (Attribute attribute = op->getDiscardableAttr(name))
      for (Value made : {operand, sum})
        made.getDefiningOp()->setDiscardableAttr(name, attribute);
  op.getResult().replaceAllUsesWith(result);
  op.erase();
}

namespace {

struct WidenSumsPass : complete::impl::WidenSumsPassBase<WidenSumsPass> {
  void runOnOperation() override {
    if (!dist::findMesh(getOperation()))
      return;
    SmallVector<net::ReduceOp> narrow;
    getOperation().walk([&](net::ReduceOp op) {
      if (isNarrowSum(op) && !isGradient(op.getResult()))
        narrow.push_back(op);
    });
    llvm::for_each(narrow, widen);
    numWidened += narrow.size();
  }
};

} // namespace
