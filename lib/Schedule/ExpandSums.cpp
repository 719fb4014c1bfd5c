//===- ExpandSums.cpp - sums in parts and trees ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A reduction or scatter of several parts (`net.sum_parts`) becomes one of each part and additions by a binary tree. A
// rank has neighbouring parts, a power of two of them, so that its tree is a subtree of the serial program's, and
// collectives do the rest of it. A conversion with `net.sum_parts` rounds each part. Products keep their parts: the
// library that computes them adds them. Convolutions keep the note that the order of their sums is fixed.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Interfaces.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/Schedule/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshwright::schedule {
#define GEN_PASS_DEF_EXPANDSUMSPASS
#include "meshwright/Schedule/Passes.h.inc"
} // namespace meshwright::schedule

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

namespace {

/// Replaces one operation by those of its parts.
class Expansion {
public:
  /// Each part is rounded by `rounding`, which is the one user of `op`, unless that is null.
  Expansion(Operation *op, int64_t parts, net::ConvertOp rounding)
      : op(op), rounding(rounding), parts(parts), builder(op), build(builder, op->getLoc()) {}

  void expandReduce(net::ReduceOp reduce);
  void replaceReduce(net::ReduceOp reduce) {
    replace(this->reduce(reduce.getKind(), reduce.getOperand(), reduce.getDims()));
  }
  /// A scatter into zeros, or a convolution: the sum of the same operation on parts of two operands.
  void expandOperands(unsigned first, unsigned second);

private:
  /// `value` as part of the place of `op`.
  Value keep(Value value);
  /// The sum of makePart(begin), ..., makePart(end - 1) by halves, so that few parts exist at a time.
  Value addTree(int64_t begin, int64_t end, llvm::function_ref<Value(int64_t)> makePart);
  Value reduce(ReduceKind kind, Value value, ArrayRef<int64_t> dims);
  Value round(Value part) {
    return rounding ? keep(build.convert(part, net::elementTypeOf(rounding.getResult()))) : part;
  }
  void replace(Value value);
  Value slice(Value value, int64_t dim, int64_t part);

  Operation *op;
  net::ConvertOp rounding;
  int64_t parts;
  OpBuilder builder;
  net::NetBuilder build;
};

} // namespace

Value Expansion::keep(Value value) {
  inherit(value.getDefiningOp(), op, Inherit::Replacement);
  net::kNameAttr.remove(value.getDefiningOp());
  net::kSumPartsAttr.remove(value.getDefiningOp());
  return value;
}

Value Expansion::addTree(int64_t begin, int64_t end, llvm::function_ref<Value(int64_t)> makePart) {
  if (end - begin == 1)
    return makePart(begin);
  int64_t middle = begin + static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(end - begin - 1)));
  Value left = addTree(begin, middle, makePart), right = addTree(middle, end, makePart);
  return keep(build.add(left, right));
}

/// The sum, rounded if parts are, is now `value`, which takes its name.
void Expansion::replace(Value value) {
  Operation *last = rounding ? rounding : op;
  inherit(value.getDefiningOp(), last, Inherit::Replacement);
  net::kSumPartsAttr.remove(value.getDefiningOp());
  last->getResult(0).replaceAllUsesWith(value);
  if (rounding)
    rounding.erase();
  op->erase();
}

/// Part number `part` of `value` along `dim`; the last one may be shorter.
Value Expansion::slice(Value value, int64_t dim, int64_t part) {
  int64_t size = net::shapeOf(value)[dim], extent = static_cast<int64_t>(llvm::divideCeil(size, parts));
  return keep(build.cut(value, dim, part * extent, std::min((part + 1) * extent, size)));
}

/// The reduction of `value` over `dims`. If dimensions that stay follow these, each of their elements is a column,
/// which kernels add one by one; but one column alone is a row, which they add by lanes. A rank that has one of several
/// computes it twice, side by side.
Value Expansion::reduce(ReduceKind kind, Value value, ArrayRef<int64_t> dims) {
  ArrayRef<int64_t> shape = net::shapeOf(value), columns = shape.drop_front(dims.back() + 1);
  if (columns.empty() || llvm::any_of(columns, [](int64_t size) { return size != 1; }))
    return keep(build.reduce(kind, value, dims));
  SmallVector<int64_t> two(shape), all = llvm::to_vector(llvm::seq<int64_t>(shape.size() - 1));
  two.back() = 2;
  Value column = keep(build.reshape(value, shape.drop_back()));
  Value sums = keep(build.reduce(kind, keep(build.broadcast(column, two, all)), dims));
  SmallVector<int64_t> limits(net::shapeOf(sums)), starts(limits.size(), 0), steps(limits.size(), 1);
  limits.back() = 1;
  return keep(build.slice(sums, starts, limits, steps));
}

void Expansion::expandReduce(net::ReduceOp reduce) {
  // The first summed dimension becomes parts x what is summed of each; the result has the parts where that was. What a
  // shorter last part lacks is zero, as it is on a rank.
  ArrayRef<int64_t> dims = reduce.getDims();
  Value operand = reduce.getOperand();
  SmallVector<int64_t> shape(net::shapeOf(operand)), inner, none(shape.size(), 0), missing(none);
  int64_t first = dims.front();
  auto extent = static_cast<int64_t>(llvm::divideCeil(shape[first], parts));
  missing[first] = extent * parts - shape[first];
  if (missing[first] != 0)
    operand = keep(build.pad(operand, 0.0, none, missing, none));
  shape[first] = extent;
  shape.insert(shape.begin() + first, parts);
  for (int64_t dim : dims)
    inner.push_back(dim + 1);
  Value sums = this->reduce(ReduceKind::Sum, keep(build.reshape(operand, shape)), inner);
  ArrayRef<int64_t> result = net::shapeOf(reduce.getResult());
  replace(addTree(0, parts, [&](int64_t part) {
    Value own = keep(build.cut(sums, first, part, part + 1));
    return round(keep(build.reshape(own, result)));
  }));
}

void Expansion::expandOperands(unsigned first, unsigned second) {
  dist::ShardingRule rule = cast<dist::ShardingOpInterface>(op).getShardingRule();
  unsigned factor =
      llvm::find_if(rule.factors, [](const dist::FactorInfo &info) { return info.reduction == ReduceKind::Tree; }) -
      rule.factors.begin();
  auto findDim = [&](unsigned operand) -> int64_t {
    for (auto [dim, uses] : llvm::enumerate(rule.operands[operand].dims))
      for (const dist::FactorUse &use : uses)
        if (use.factor == factor)
          return dim;
    llvm_unreachable("both operands have the dimension that is summed");
  };
  replace(addTree(0, parts, [&](int64_t part) {
    Value left = slice(op->getOperand(first), findDim(first), part);
    Value right = slice(op->getOperand(second), findDim(second), part);
    Operation *own = builder.clone(*op);
    own->setOperand(first, left);
    own->setOperand(second, right);
    Value sum = keep(own->getResult(0));
    if (isa<net::ConvolutionOp>(own))
      net::kSumPartsAttr.set(own, builder.getI64IntegerAttr(1));
    return round(sum);
  }));
}

/// The conversion that rounds the parts of the sum `op`; null if there is none.
static net::ConvertOp findRounding(Operation *op) {
  auto convert = op->getResult(0).hasOneUse() ? dyn_cast<net::ConvertOp>(*op->user_begin()) : net::ConvertOp();
  return convert && net::kSumPartsAttr.isOn(convert) ? convert : net::ConvertOp();
}

/// Checks that `convert` rounds the parts of a sum that this rank adds: afterwards it would be too late.
static LogicalResult checkRounding(net::ConvertOp convert) {
  Operation *sum = convert.getOperand().getDefiningOp();
  if (sum && sum->hasOneUse() && net::kSumPartsAttr.get(sum) == net::kSumPartsAttr.get(convert))
    return success();
  return convert.emitOpError() << "rounds the parts of a sum, but its operand is added over ranks already; "
                                  "reproducible needs the reduction after it";
}

namespace {

struct ExpandSumsPass : schedule::impl::ExpandSumsPassBase<ExpandSumsPass> {
  void runOnOperation() override {
    SmallVector<Operation *> ordered;
    SmallVector<net::ConvertOp> roundings;
    getOperation().walk([&](Operation *op) {
      if (auto convert = dyn_cast<net::ConvertOp>(op); convert && net::kSumPartsAttr.isOn(op))
        roundings.push_back(convert);
      else if (!isa<func::FuncOp>(op) && net::kSumPartsAttr.isOn(op))
        ordered.push_back(op);
    });
    if (llvm::any_of(roundings, [](net::ConvertOp convert) { return failed(checkRounding(convert)); }))
      return signalPassFailure();
    for (Operation *op : ordered) {
      int64_t parts = net::kSumPartsAttr.get(op).getInt();
      if (isa<net::DotOp>(op))
        continue;
      net::ConvertOp rounding = findRounding(op);
      if (parts == 1 && rounding)
        net::kSumPartsAttr.remove(std::exchange(rounding, net::ConvertOp()));
      Expansion expansion(op, parts, rounding);
      if (parts > 1) {
        if (auto reduce = dyn_cast<net::ReduceOp>(op))
          expansion.expandReduce(reduce);
        else if (isa<net::ConvolutionOp>(op))
          expansion.expandOperands(0, 1);
        else
          expansion.expandOperands(1, 2);
        ++numExpanded;
      } else if (auto reduce = dyn_cast<net::ReduceOp>(op)) {
        expansion.replaceReduce(reduce);
      } else if (!isa<net::ConvolutionOp>(op)) {
        net::kSumPartsAttr.remove(op);
      }
    }
  }
};

} // namespace
