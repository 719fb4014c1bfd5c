//===- FixSums.cpp - fixes the order of sums of floats --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Afterwards every operation that sums floats states in how many parts it does so (`net.sum_parts`). It is the last
// pass of Train: the serial program and those of all ranks are made of what it leaves, so that they add the same
// numbers in the same order. A sum that travels in 16 bits between ranks has rounded parts everywhere.
//
//===----------------------------------------------------------------------===//

#include "JoinProducts.h"
#include "Program.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Dist/Interfaces.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/Support/Gradients.h"
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

/// True if a dimension of `size` has so many parts, of which the last one may be shorter.
static bool hasParts(int64_t size, int64_t parts) { return llvm::divideCeilSigned(size, parts) * (parts - 1) < size; }

/// The number of parts in which `op` can be summed: `parts`, or 1 where one of them would be empty or where it has no
/// such form.
static int64_t choosePartsOf(Operation *op, int64_t parts) {
  auto reduce = dyn_cast<net::ReduceOp>(op);
  auto scatter = dyn_cast<net::ScatterOp>(op);
  if ((reduce && reduce.getKind() == ReduceKind::Product) ||
      (scatter && scatter.getKind() == net::ScatterKind::Multiply))
    return 1;
  net::kSumPartsAttr.set(op, Builder(op->getContext()).getI64IntegerAttr(parts));
  dist::ShardingRule rule = cast<dist::ShardingOpInterface>(op).getShardingRule();
  const auto *summed =
      llvm::find_if(rule.factors, [](const dist::FactorInfo &factor) { return factor.reduction == ReduceKind::Tree; });
  if (summed == rule.factors.end() || !summed->splittable || !hasParts(summed->size, parts))
    return 1;
  if (auto convolution = dyn_cast<net::ConvolutionOp>(op); convolution && !sumsImages(convolution))
    return 1;
  auto dot = dyn_cast<net::DotOp>(op);
  return dot && !dot.getLhsBatch().empty() && summed->getPartSize() < kFewestTerms ? 1 : parts;
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

/// Lets a product that sums over neighbouring dimensions, the first of which has no `parts` parts, sum over one
/// instead.
static void mergeSummed(net::DotOp dot, int64_t parts) {
  ArrayRef<int64_t> left = dot.getLhsContract(), right = dot.getRhsContract();
  ArrayRef<int64_t> lhsShape = net::shapeOf(dot.getLhs());
  auto isRow = [](ArrayRef<int64_t> dims) {
    return llvm::all_of(llvm::seq<size_t>(1, dims.size()),
                        [&](size_t i) { return dims[i] == dims[0] + static_cast<int64_t>(i); });
  };
  if (left.size() < 2 || !dot.getLhsBatch().empty() || lhsShape[left[0]] % parts == 0 || !isRow(left) || !isRow(right))
    return;
  OpBuilder builder(dot);
  net::NetBuilder build(builder, dot.getLoc());
  auto merge = [&](Value value, ArrayRef<int64_t> dims) {
    SmallVector<int64_t> shape(net::shapeOf(value));
    for (size_t i = 1; i < dims.size(); ++i) {
      shape[dims[0]] *= shape[dims[0] + 1];
      shape.erase(shape.begin() + dims[0] + 1);
    }
    Value merged = build.reshape(value, shape);
    inherit(merged.getDefiningOp(), dot, Inherit::Companion);
    return merged;
  };
  Value lhs = merge(dot.getLhs(), left), rhs = merge(dot.getRhs(), right);
  Value sum = build.dot(lhs, rhs, {}, {}, left.front(), right.front(), net::elementTypeOf(dot.getResult()));
  inherit(sum.getDefiningOp(), dot, Inherit::Replacement);
  dot.getResult().replaceAllUsesWith(sum);
  dot.erase();
}

/// The conversion that `sum` passes before its reduction; null if there is none.
static net::ConvertOp findDeferred(Value sum) {
  auto convert = sum.hasOneUse() ? dyn_cast<net::ConvertOp>(*sum.user_begin()) : net::ConvertOp();
  return convert && dist::defersReduction(convert) ? convert : net::ConvertOp();
}

/// Rounds `op`, a sum in `parts` parts, where a strategy or the program asks for it: the parts of a sum that is rounded
/// before it is reduced over ranks are rounded. All other reductions of 16-bit floats are in f32, except gradients.
static Operation *chooseRounding(Operation *op, int64_t parts) {
  Value sum = op->getResult(0);
  net::ConvertOp deferred = findDeferred(sum);
  bool becomesNarrow = deferred && isNarrow(deferred.getResult());
  if (isNarrow(sum) && !isa<net::ScatterOp>(op)) {
    bool isKept = parts == 1 ? !isa<net::ReduceOp>(op) : !isa<net::ReduceOp>(op) || becomesGradient(sum);
    return isKept && (!deferred || becomesNarrow) ? op : widen(op);
  }
  if (!becomesNarrow || parts == 1)
    return op;
  if (isa<net::DotOp>(op)) {
    sum.setType(deferred.getResult().getType());
    inherit(op, deferred, Inherit::Replacement);
    deferred.getResult().replaceAllUsesWith(sum);
    deferred.erase();
  } else {
    net::kSumPartsAttr.set(deferred, Builder(op->getContext()).getI64IntegerAttr(parts));
  }
  return op;
}

/// The dimensions that `reduce` sums and after which none stays, and those before.
static std::pair<SmallVector<int64_t>, SmallVector<int64_t>> findRows(net::ReduceOp reduce) {
  ArrayRef<int64_t> shape = net::shapeOf(reduce.getOperand());
  SmallVector<int64_t> rows, rest(reduce.getDims());
  int64_t dim = static_cast<int64_t>(shape.size()) - 1;
  for (; dim >= 0 && (shape[dim] == 1 || llvm::is_contained(rest, dim)); --dim)
    if (llvm::is_contained(rest, dim)) {
      llvm::erase(rest, dim);
      rows.insert(rows.begin(), dim);
    }
  return {std::move(rows), std::move(rest)};
}

/// Lets `reduce` sum over `first`, and a second sum over its other dimensions, which are before those of `first`. The
/// second one replaces it.
static std::pair<net::ReduceOp, net::ReduceOp> sumFirst(net::ReduceOp reduce, ArrayRef<int64_t> first) {
  OpBuilder builder(reduce);
  net::NetBuilder build(builder, reduce.getLoc());
  SmallVector<int64_t> second =
      llvm::filter_to_vector(reduce.getDims(), [&](int64_t dim) { return !llvm::is_contained(first, dim); });
  Value inner = build.reduce(reduce.getKind(), reduce.getOperand(), first);
  Value outer = build.reduce(reduce.getKind(), inner, second);
  inherit(inner.getDefiningOp(), reduce, Inherit::Companion);
  inherit(outer.getDefiningOp(), reduce, Inherit::Replacement);
  reduce.getResult().replaceAllUsesWith(outer);
  reduce.erase();
  return {inner.getDefiningOp<net::ReduceOp>(), outer.getDefiningOp<net::ReduceOp>()};
}

/// Sums over the last dimensions of `reduce` first if others, which stay, stand between them and those before, and
/// returns the rest of the sum. Kernels add rows of the last dimensions by lanes and all else one by one: then it does
/// not matter how much of what stays a rank has.
static net::ReduceOp splitRows(net::ReduceOp reduce) {
  auto [rows, rest] = findRows(reduce);
  ArrayRef<int64_t> shape = net::shapeOf(reduce.getOperand());
  bool isNothing = llvm::all_of(rows, [&, shape](int64_t row) { return shape[row] == 1; });
  if (isNothing || rest.empty())
    return reduce;
  auto [ofRows, sum] = sumFirst(reduce, rows);
  net::kSumPartsAttr.set(ofRows, Builder(reduce.getContext()).getI64IntegerAttr(1));
  return sum;
}

/// Lets `reduce`, a sum over the batch and the sequence, say, sum over the second first, if it has `parts` parts: both
/// have some then, and ranks may share either.
static void splitSequence(net::ReduceOp reduce, int64_t parts) {
  SmallVector<int64_t> rest = findRows(reduce).second;
  if (reduce.getKind() != ReduceKind::Sum || rest.size() < 2 ||
      !hasParts(net::shapeOf(reduce.getOperand())[rest[1]], parts))
    return;
  SmallVector<int64_t> others = llvm::to_vector(llvm::drop_begin(reduce.getDims()));
  net::ReduceOp inner = sumFirst(reduce, others).first;
  if (isNarrow(inner.getResult()))
    widen(inner);
}

/// `value` in 16 bits, as the parts of a sum are rounded.
static Value roundParts(Value value, Type narrow, net::NetBuilder &build, Operation *like) {
  if (auto convert = value.getDefiningOp<net::ConvertOp>();
      convert && net::elementTypeOf(convert.getOperand()) == narrow)
    return convert.getOperand();
  Value rounded = build.convert(value, narrow);
  inherit(rounded.getDefiningOp(), like, Inherit::Companion);
  net::kSumPartsAttr.remove(rounded.getDefiningOp());
  dist::setDefersReduction(rounded.getDefiningOp());
  return rounded;
}

/// Lets `op` scatter into zeros and adds the result to its operand, so that the parts of the updates begin at nothing.
/// If their sum is rounded before its reduction, both are.
static void separate(net::ScatterOp op) {
  if (matchPattern(op.getOperand(), m_AnyZeroFloat()))
    return;
  OpBuilder builder(op);
  net::NetBuilder build(builder, op.getLoc());
  Value other = op.getOperand(), own = op.getResult();
  Operation *whole = other.getDefiningOp();
  Value zeros = build.splatLike(other, 0.0);
  inherit(zeros.getDefiningOp(), op, Inherit::Companion);
  builder.setInsertionPointAfter(op);
  net::ConvertOp deferred = findDeferred(own);
  Operation *last = op;
  if (deferred && isNarrow(deferred.getResult()) && !isNarrow(own)) {
    last = deferred;
    builder.setInsertionPointAfter(deferred);
    Type narrow = net::elementTypeOf(deferred.getResult());
    own = roundParts(own, narrow, build, op);
    other = roundParts(other, narrow, build, op);
  }
  Value sum = build.add(other, own);
  last->getResult(0).replaceAllUsesExcept(sum, sum.getDefiningOp());
  op.getOperandMutable().assign(zeros);
  inherit(sum.getDefiningOp(), last, Inherit::Replacement);
  net::kSumPartsAttr.remove(sum.getDefiningOp());
  net::kNameAttr.remove(op);
  if (last == op)
    return;
  dist::kDeferReductionAttr.remove(sum.getDefiningOp());
  last->erase();
  if (whole && whole->use_empty())
    whole->erase();
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
      for (auto dot : findOfFloats<net::DotOp>(func))
        mergeSummed(dot, parts);
      for (auto reduce : findOfFloats<net::ReduceOp>(func))
        splitSequence(reduce, parts);
      joinProducts(func, parts);
      SmallVector<Operation *> ordered;
      func.walk([&](Operation *op) {
        if (isOrdered(op))
          ordered.push_back(op);
      });
      SmallVector<int64_t> chosenParts;
      for (Operation *op : ordered) {
        chosenParts.push_back(choosePartsOf(op, parts));
        if (auto scatter = dyn_cast<net::ScatterOp>(op); scatter && chosenParts.back() > 1)
          separate(scatter);
      }
      for (auto [op, chosen] : llvm::zip(ordered, chosenParts)) {
        numParted += chosen > 1;
        numWhole += chosen == 1;
        op = chooseRounding(op, chosen);
        if (auto reduce = dyn_cast<net::ReduceOp>(op))
          op = splitRows(reduce);
        net::kSumPartsAttr.set(op, number(chosen));
      }
    }
  }
};

} // namespace
