//===- ExpandSums.cpp - sums in parts and trees ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A reduction or scatter of several parts (`net.sum_parts`) becomes one of each part and additions by a binary tree. A
// rank has neighbouring parts, a power of two of them, so that its tree is a subtree of the serial program's, and
// collectives do the rest of it. Products keep their parts: the library that computes them adds them. Convolutions keep
// the note that the order of their sums is fixed.
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
  Expansion(Operation *op, int64_t parts) : op(op), parts(parts), builder(op), build(builder, op->getLoc()) {}

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
  void replace(Value value);
  Value slice(Value value, int64_t dim, int64_t part);

  Operation *op;
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

/// The result of `op` is now `value`, which takes its name.
void Expansion::replace(Value value) {
  inherit(value.getDefiningOp(), op, Inherit::Replacement);
  net::kSumPartsAttr.remove(value.getDefiningOp());
  op->getResult(0).replaceAllUsesWith(value);
  op->erase();
}

/// Part number `part` of `value` along `dim`.
Value Expansion::slice(Value value, int64_t dim, int64_t part) {
  ArrayRef<int64_t> shape = net::shapeOf(value);
  SmallVector<int64_t> starts(shape.size(), 0), limits(shape), steps(shape.size(), 1);
  int64_t extent = shape[dim] / parts;
  starts[dim] = part * extent;
  limits[dim] = starts[dim] + extent;
  return keep(build.slice(value, starts, limits, steps));
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
  // The first summed dimension becomes parts x what is summed of each; the result has the parts where that was.
  ArrayRef<int64_t> dims = reduce.getDims();
  SmallVector<int64_t> shape(net::shapeOf(reduce.getOperand())), inner;
  int64_t first = dims.front();
  shape[first] /= parts;
  shape.insert(shape.begin() + first, parts);
  for (int64_t dim : dims)
    inner.push_back(dim + 1);
  Value sums = this->reduce(ReduceKind::Sum, keep(build.reshape(reduce.getOperand(), shape)), inner);
  ArrayRef<int64_t> result = net::shapeOf(reduce.getResult());
  replace(addTree(0, parts, [&](int64_t part) {
    SmallVector<int64_t> sumShape(net::shapeOf(sums)), starts(sumShape.size(), 0), limits(sumShape);
    starts[first] = part;
    limits[first] = part + 1;
    Value own = keep(build.slice(sums, starts, limits, SmallVector<int64_t>(sumShape.size(), 1)));
    return keep(build.reshape(own, result));
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
    return sum;
  }));
}

/// A product that is only rounded to 16 bits is rounded by the library.
static void foldRounding(net::DotOp dot) {
  if (!dot.getResult().hasOneUse())
    return;
  auto convert = dyn_cast<net::ConvertOp>(*dot.getResult().user_begin());
  if (!convert || !net::elementTypeOf(dot.getResult()).isF32() ||
      net::elementTypeOf(convert.getResult()) != net::elementTypeOf(dot.getLhs()))
    return;
  inherit(dot, convert, Inherit::Replacement);
  convert.getResult().replaceAllUsesWith(dot.getResult());
  dot.getResult().setType(convert.getResult().getType());
  convert.erase();
}

namespace {

struct ExpandSumsPass : schedule::impl::ExpandSumsPassBase<ExpandSumsPass> {
  void runOnOperation() override {
    SmallVector<Operation *> ordered;
    getOperation().walk([&](Operation *op) {
      if (!isa<func::FuncOp>(op) && net::kSumPartsAttr.isOn(op))
        ordered.push_back(op);
    });
    for (Operation *op : ordered) {
      int64_t parts = net::kSumPartsAttr.get(op).getInt();
      if (auto dot = dyn_cast<net::DotOp>(op)) {
        foldRounding(dot);
        continue;
      }
      Expansion expansion(op, parts);
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
