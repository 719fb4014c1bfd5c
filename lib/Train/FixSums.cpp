//===- FixSums.cpp - fixes the order of sums of floats --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Afterwards every operation that sums floats states in how many parts it does so (`net.sum_parts`), and no part is
// rounded before the sum is complete. It is the last pass of Train: the serial program and those of all ranks are made
// of what it leaves, so that they add the same numbers in the same order.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "dialects/Dist/Interfaces.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/Train/Passes.h"
#include "mlir/IR/Matchers.h"

#define DEBUG_TYPE "dist-train-fix-sums"

namespace meshwright::train {
#define GEN_PASS_DEF_FIXSUMSPASS
#include "meshwright/Train/Passes.h.inc"
} // namespace meshwright::train

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

/// True if `op` combines floats in an order that shows in the result.
static bool isOrdered(Operation *op) {
  if (op->getNumResults() != 1 || !net::isFloat(op->getResult(0)))
    return false;
  if (auto reduce = dyn_cast<net::ReduceOp>(op))
    return !reduce.getDims().empty() &&
           (reduce.getKind() == ReduceKind::Sum || reduce.getKind() == ReduceKind::Product);
  if (auto scatter = dyn_cast<net::ScatterOp>(op))
    return scatter.getKind() == net::ScatterKind::Add || scatter.getKind() == net::ScatterKind::Multiply;
  return isa<net::DotOp>(op) || isa<net::ConvolutionOp>(op);
}

static bool isNarrow(Value value) { return net::elementTypeOf(value).getIntOrFloatBitWidth() < 32; }

/// Products of a batch are small, as those of attention; parts of fewer terms than this would take longer than the sum.
static constexpr int64_t kFewestTerms = 32;

/// True if `op` sums over images, as the gradient of a kernel does: its window is as large as they are. Other
/// convolutions sum over channels, for the parts of which they would make their result as many times.
static bool sumsImages(net::ConvolutionOp op) {
  int64_t window = 1, places = 1;
  for (unsigned index = 0; index < op.getStrides().size(); ++index) {
    window *= op.getWindow(index).size;
    places *= net::shapeOf(op.getResult())[op.getDims().getOutSpatial()[index]];
  }
  return op.getGroups() == 1 && window >= places;
}

/// The number of parts in which `op` can be summed: `parts`, or 1 where they are not equal or where it has no such
/// form.
static int64_t choosePartsOf(Operation *op, int64_t parts) {
  auto reduce = dyn_cast<net::ReduceOp>(op);
  auto scatter = dyn_cast<net::ScatterOp>(op);
  bool multiplies = (reduce && reduce.getKind() == ReduceKind::Product) ||
                    (scatter && scatter.getKind() == net::ScatterKind::Multiply);
  // A scatter rounds after every addition if it is in 16 bits.
  if (multiplies || (scatter && isNarrow(scatter.getResult())))
    return 1;
  net::kSumPartsAttr.set(op, Builder(op->getContext()).getI64IntegerAttr(1));
  dist::ShardingRule rule = cast<dist::ShardingOpInterface>(op).getShardingRule();
  const auto *summed =
      llvm::find_if(rule.factors, [](const dist::FactorInfo &factor) { return factor.reduction == ReduceKind::Tree; });
  if (summed == rule.factors.end() || summed->size % parts != 0)
    return 1;
  if (auto convolution = dyn_cast<net::ConvolutionOp>(op); convolution && !sumsImages(convolution))
    return 1;
  auto dot = dyn_cast<net::DotOp>(op);
  return dot && !dot.getLhsBatch().empty() && summed->size / parts < kFewestTerms ? 1 : parts;
}

/// Lets `op` sum in f32 and round afterwards. The result keeps the names.
static Operation *widen(Operation *op) {
  OpBuilder builder(op);
  net::NetBuilder build(builder, op->getLoc());
  Type narrow = net::elementTypeOf(op->getResult(0));
  Value sum;
  if (auto reduce = dyn_cast<net::ReduceOp>(op)) {
    Value operand = build.convert(reduce.getOperand(), builder.getF32Type());
    inherit(operand.getDefiningOp(), op, Inherit::Companion);
    sum = build.reduce(reduce.getKind(), operand, reduce.getDims());
  } else {
    // Products and convolutions round to the type of their result.
    sum = builder.clone(*op)->getResult(0);
    sum.setType(net::typeOf(sum).clone(builder.getF32Type()));
    net::kNameAttr.remove(sum.getDefiningOp());
  }
  Value result = build.convert(sum, narrow);
  inherit(sum.getDefiningOp(), op, Inherit::Companion);
  inherit(result.getDefiningOp(), op, Inherit::Replacement);
  net::kSumPartsAttr.remove(result.getDefiningOp());
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
  return sum.getDefiningOp();
}

/// Sums over the last dimensions of `reduce` first if others, which stay, stand between them and those before, and
/// returns the rest of the sum. Kernels add rows of the last dimensions by lanes and all else one by one: then it does
/// not matter how much of what stays a rank has.
static net::ReduceOp splitRows(net::ReduceOp reduce) {
  ArrayRef<int64_t> shape = net::shapeOf(reduce.getOperand());
  SmallVector<int64_t> rows, rest(reduce.getDims());
  int64_t dim = static_cast<int64_t>(shape.size()) - 1;
  for (; dim >= 0 && (shape[dim] == 1 || llvm::is_contained(rest, dim)); --dim)
    if (llvm::is_contained(rest, dim)) {
      llvm::erase(rest, dim);
      rows.insert(rows.begin(), dim);
    }
  bool isNothing = llvm::all_of(rows, [&](int64_t row) { return shape[row] == 1; });
  if (isNothing || rest.empty())
    return reduce;
  OpBuilder builder(reduce);
  net::NetBuilder build(builder, reduce.getLoc());
  Value ofRows = build.reduce(reduce.getKind(), reduce.getOperand(), rows);
  Value sum = build.reduce(reduce.getKind(), ofRows, rest);
  inherit(ofRows.getDefiningOp(), reduce, Inherit::Companion);
  inherit(sum.getDefiningOp(), reduce, Inherit::Replacement);
  net::kSumPartsAttr.set(ofRows.getDefiningOp(), builder.getI64IntegerAttr(1));
  reduce.getResult().replaceAllUsesWith(sum);
  reduce.erase();
  return sum.getDefiningOp<net::ReduceOp>();
}

/// Lets `op` scatter into zeros and adds the result to its operand, so that the parts of the updates begin at nothing.
static void separate(net::ScatterOp op) {
  if (matchPattern(op.getOperand(), m_AnyZeroFloat()))
    return;
  OpBuilder builder(op);
  net::NetBuilder build(builder, op.getLoc());
  Value other = op.getOperand();
  Value zeros = build.splatLike(other, 0.0);
  builder.setInsertionPointAfter(op);
  Value sum = build.add(other, op.getResult());
  op.getResult().replaceAllUsesExcept(sum, sum.getDefiningOp());
  op.getOperandMutable().assign(zeros);
  inherit(zeros.getDefiningOp(), op, Inherit::Companion);
  inherit(sum.getDefiningOp(), op, Inherit::Replacement);
  net::kSumPartsAttr.remove(sum.getDefiningOp());
  net::kNameAttr.remove(op);
}

namespace {

struct FixSumsPass : train::impl::FixSumsPassBase<FixSumsPass> {
  using FixSumsPassBase::FixSumsPassBase;

  void runOnOperation() override {
    auto number = [&](int64_t value) { return Builder(&getContext()).getI64IntegerAttr(value); };
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isExternal())
        continue;
      net::kSumPartsAttr.set(func, number(parts));
      SmallVector<Operation *> ordered;
      func.walk([&](Operation *op) {
        if (isOrdered(op))
          ordered.push_back(op);
      });
      for (Operation *op : ordered) {
        int64_t chosen = choosePartsOf(op, parts);
        numParted += chosen > 1;
        numWhole += chosen == 1;
        auto scatter = dyn_cast<net::ScatterOp>(op);
        if (scatter && chosen > 1)
          separate(scatter);
        if (!scatter && isNarrow(op->getResult(0)) && (chosen > 1 || isa<net::ReduceOp>(op)))
          op = widen(op);
        if (auto reduce = dyn_cast<net::ReduceOp>(op))
          op = splitRows(reduce);
        net::kSumPartsAttr.set(op, number(chosen));
      }
    }
  }
};

} // namespace
