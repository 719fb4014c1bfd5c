//===- SeparateSums.cpp - every stage adds up by itself -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Differentiation scatters the rows of a gradient into another contribution to it, where there is one. In a pipeline
// the other one may be of another stage, as that of a head which shares the table of an embedding: it would cross for
// every micro-batch. Afterwards what is scattered is a contribution of its own, and the two are added up. The operation
// that makes the whole has the name, and the placements, that the scatter had.
//
//===----------------------------------------------------------------------===//

#include "Exchanges.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/Complete/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshwright::complete {
#define GEN_PASS_DEF_SEPARATESUMSPASS
#include "meshwright/Complete/Passes.h.inc"
} // namespace meshwright::complete

using namespace mlir;
using namespace meshwright;
using namespace meshwright::complete;
using namespace meshwright::dist;

/// Lets `op` scatter into zeros, and adds the result to what it scattered into.
static void separate(net::ScatterOp op) {
  OpBuilder builder(op);
  net::NetBuilder build(builder, op.getLoc());
  Value other = op.getOperand();
  Value zeros = build.splatLike(other, 0.0);
  if (std::optional<net::Role> role = net::getRole(op))
    net::setRole(zeros.getDefiningOp(), *role);
  builder.setInsertionPointAfter(op);
  Value sum = build.add(other, op.getResult());
  op.getResult().replaceAllUsesExcept(sum, sum.getDefiningOp());
  op.getOperandMutable().assign(zeros);
  sum.getDefiningOp()->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op->removeDiscardableAttr(net::kNameAttr);
  op->removeDiscardableAttr(kResultsAttr);
}

namespace {

struct SeparateSumsPass : complete::impl::SeparateSumsPassBase<SeparateSumsPass> {
  void runOnOperation() override {
    SmallVector<net::ScatterOp> crossed;
    getOperation().walk([&](net::ScatterOp op) {
      Operation *other = op.getOperand().getDefiningOp();
      if (op.getKind() == net::ScatterKind::Add && other && isReceived(other, op))
        crossed.push_back(op);
    });
    llvm::for_each(crossed, separate);
    numSeparated += crossed.size();
  }
};

} // namespace
