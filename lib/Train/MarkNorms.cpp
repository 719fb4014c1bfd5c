//===- MarkNorms.cpp - defers reductions of norms in exported steps -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Without the marks, placement by bytes alone would reduce each term of a norm on its own: little traffic, but one
// wait per parameter. Marked additions defer the reduction to the end of the chain.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "dialects/Dist/Dist.h"
#include "meshwright/Train/Passes.h"

#define DEBUG_TYPE "dist-train-mark-norms"

namespace meshwright::train {
#define GEN_PASS_DEF_MARKNORMSPASS
#include "meshwright/Train/Passes.h.inc"
} // namespace meshwright::train

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

/// True if `value` is a reduction to a sum, or a marked sum of such.
static bool isReducedSum(Value value) {
  if (auto reduce = value.getDefiningOp<net::ReduceOp>())
    return reduce.getKind() == ReduceKind::Sum;
  return value.getDefiningOp() && dist::defersReduction(value.getDefiningOp());
}

namespace {

struct MarkNormsPass : train::impl::MarkNormsPassBase<MarkNormsPass> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> func = findStep(getOperation());
    if (failed(func))
      return signalPassFailure();
    for (auto add : func->getOps<net::AddOp>()) {
      auto type = cast<RankedTensorType>(add.getType());
      bool isScalar = type.getRank() == 0 && isa<FloatType>(type.getElementType());
      if (!isScalar || net::getRole(add) != net::Role::Optimize || !llvm::all_of(add->getOperands(), isReducedSum))
        continue;
      dist::setDefersReduction(add);
      ++numMarked;
    }
  }
};

} // namespace
