//===- WidenSums.cpp - f32 accumulation of 16-bit sums --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel of a reduction of 16-bit floats accumulates in f32 and rounds once. If each rank reduces a part, it would
// round, and possibly overflow, before the parts are added. So the reduction becomes one in f32 with a conversion after
// it; partial sums do not pass conversions, so ranks reduce in f32 and round the total.
//
// Gradients are left alone: `reduce { communicate }` states the type of their reduction.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/Complete/Passes.h"
#include "meshwright/Support/Gradients.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshwright::complete {
#define GEN_PASS_DEF_WIDENSUMSPASS
#include "meshwright/Complete/Passes.h.inc"
} // namespace meshwright::complete

using namespace mlir;
using namespace meshwright;
using namespace meshwright::complete;

/// True if `op` sums or multiplies floats that its kernel widens.
static bool isNarrowSum(net::ReduceOp op) {
  bool rounds = op.getKind() == ReduceKind::Sum || op.getKind() == ReduceKind::Product;
  return rounds && !op.getDims().empty() && net::isFloat(op.getResult()) &&
         net::elementTypeOf(op.getResult()).getIntOrFloatBitWidth() < 32;
}

/// Moves the rounding from `op` to a conversion after it. The result keeps the names and placements.
static void widen(net::ReduceOp op) {
  OpBuilder builder(op);
  net::NetBuilder build(builder, op.getLoc());
  Value operand = build.convert(op.getOperand(), builder.getF32Type());
  Value sum = build.reduce(op.getKind(), operand, op.getDims());
  Value result = build.convert(sum, net::elementTypeOf(op.getResult()));
  inherit(result.getDefiningOp(), op, Inherit::Replacement);
  for (Value made : {operand, sum})
    inherit(made.getDefiningOp(), op, Inherit::Companion);
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
      if (isNarrowSum(op) && !becomesGradient(op.getResult()))
        narrow.push_back(op);
    });
    llvm::for_each(narrow, widen);
    numWidened += narrow.size();
  }
};

} // namespace
