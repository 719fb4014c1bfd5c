//===- ExpandSelections.cpp - gradients of pooling, element by element ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows of n elements are n strided slices of the operand: slice k holds element k of every window.
//
//   number  the k that a window selects, by comparing slices one after the other
//   result  the sum over k of `source` where number = k and 0 elsewhere, spread to where the windows show element k
//
//===----------------------------------------------------------------------===//

#include "ExpandSelections.h"
#include "dialects/Net/NetBuilder.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace meshwright;
using net::CompareDirection;
using net::shapeOf;

/// Larger windows are searched by loops: the code grows with the elements of a window.
static constexpr int64_t kMostElements = 64;

namespace {

class Expansion {
public:
  Expansion(net::SelectAndScatterOp op, OpBuilder &builder)
      : op(op), build(builder, op.getLoc()), source(op.getSource()), places(shapeOf(op.getSource())),
        padded(build.pad(op.getOperand(), 0, op.getLow(), op.getHigh(), SmallVector<int64_t>(getRank(), 0))) {}

  Value run();

private:
  int64_t getRank() const { return static_cast<int64_t>(places.size()); }
  /// The index in the operand on which element `shown` of the window stands at place 0 of dimension `dim`.
  int64_t getFirst(ArrayRef<int64_t> shown, int64_t dim) {
    net::WindowDim window = op.getWindow(dim);
    return window.findSlice(shown[dim], places[dim]).first - window.low;
  }
  /// The places of the window along `dim` from which element `shown` is inside, and before which it is.
  std::pair<int64_t, int64_t> findInside(ArrayRef<int64_t> shown, int64_t dim);
  /// Element `shown` of every window; zero outside of the operand.
  Value show(ArrayRef<int64_t> shown);
  /// True where element `shown` of a window is inside; null if it always is.
  Value isInside(ArrayRef<int64_t> shown);
  /// The number of the element that each window selects; that of no element where all of a window is outside.
  Value select(ArrayRef<SmallVector<int64_t>> elements);
  /// The sum that windows add to the elements that they show as `shown`; null if that is none.
  Value place(Value addends, ArrayRef<int64_t> shown);

  net::SelectAndScatterOp op;
  net::NetBuilder build;
  Value source;
  ArrayRef<int64_t> places;
  /// The operand with zeros in the gaps before and after it.
  Value padded;
};

} // namespace

std::pair<int64_t, int64_t> Expansion::findInside(ArrayRef<int64_t> shown, int64_t dim) {
  int64_t first = getFirst(shown, dim), stride = op.getStrides()[dim], extent = shapeOf(op.getOperand())[dim];
  int64_t begin = std::clamp<int64_t>(llvm::divideCeilSigned(-first, stride), 0, places[dim]);
  return {begin, std::clamp<int64_t>(llvm::divideCeilSigned(extent - first, stride), begin, places[dim])};
}

Value Expansion::show(ArrayRef<int64_t> shown) {
  SmallVector<int64_t> starts, limits;
  for (int64_t dim = 0; dim != getRank(); ++dim) {
    auto [start, limit] = op.getWindow(dim).findSlice(shown[dim], places[dim]);
    starts.push_back(start);
    limits.push_back(limit);
  }
  return build.slice(padded, starts, limits, op.getStrides());
}

Value Expansion::isInside(ArrayRef<int64_t> shown) {
  Value inside;
  auto require = [&](int64_t dim, CompareDirection direction, int64_t place) {
    Value index = build.iota(build.builder.getI32Type(), places[dim], 0);
    Value holds = build.broadcast(build.compare(direction, index, build.splatLike(index, static_cast<double>(place))),
                                  places, dim);
    inside = inside ? build.binary<net::AndOp>(inside, holds) : holds;
  };
  for (int64_t dim = 0; dim != getRank(); ++dim) {
    auto [begin, end] = findInside(shown, dim);
    if (begin != 0)
      require(dim, CompareDirection::Ge, begin);
    if (end != places[dim])
      require(dim, CompareDirection::Lt, end);
  }
  return inside;
}

Value Expansion::select(ArrayRef<SmallVector<int64_t>> elements) {
  auto type = RankedTensorType::get(places, build.builder.getIntegerType(8));
  auto getNumber = [&](size_t index) { return build.splat(type, static_cast<double>(index)); };
  auto direction = op.getKind() == net::ArgKind::Max ? CompareDirection::Ge : CompareDirection::Le;
  Value none = getNumber(elements.size()), number = none, held;
  // False as long as a window may have been outside with all elements so far.
  bool hasFound = false;
  for (auto [index, shown] : llvm::enumerate(elements)) {
    Value element = show(shown), takes = isInside(shown);
    bool isAlwaysInside = !takes;
    if (held) {
      Value keeps = build.compare(direction, held, element);
      if (!hasFound)
        keeps = build.binary<net::AndOp>(keeps, build.compare(CompareDirection::Ne, number, none));
      Value replaces = build.unary<net::NotOp>(keeps);
      takes = takes ? build.binary<net::AndOp>(takes, replaces) : replaces;
    }
    number = takes ? build.select(takes, getNumber(index), number) : getNumber(index);
    held = held ? build.select(takes, element, held) : element;
    hasFound |= isAlwaysInside;
  }
  return number;
}

Value Expansion::place(Value addends, ArrayRef<int64_t> shown) {
  SmallVector<int64_t> begins, ends, steps(getRank(), 1), low, high, interior;
  for (int64_t dim = 0; dim != getRank(); ++dim) {
    auto [begin, end] = findInside(shown, dim);
    if (begin == end)
      return {};
    int64_t stride = op.getStrides()[dim], first = getFirst(shown, dim);
    begins.push_back(begin);
    ends.push_back(end);
    low.push_back(first + begin * stride);
    high.push_back(shapeOf(op.getOperand())[dim] - 1 - (first + (end - 1) * stride));
    interior.push_back(stride - 1);
  }
  return build.pad(build.slice(addends, begins, ends, steps), 0, low, high, interior);
}

Value Expansion::run() {
  SmallVector<SmallVector<int64_t>> elements = net::listElements(op.getSizes());
  Value number = select(elements), zero = build.splatLike(source, 0), sum;
  // Windows add in their order: the earlier of two with a common element shows it last.
  for (size_t index = elements.size(); index-- != 0;) {
    Value isSelected = build.compare(CompareDirection::Eq, number, build.splatLike(number, static_cast<double>(index)));
    if (Value term = place(build.select(isSelected, source, zero), elements[index]))
      sum = sum ? build.add(sum, term) : term;
  }
  return sum ? sum : build.splatLike(op.getOperand(), 0);
}

/// True if the operation is expanded.
static bool isExpanded(net::SelectAndScatterOp op) {
  int64_t elements = 1;
  for (int64_t size : op.getSizes())
    elements = llvm::MulOverflow(elements, size, elements) ? kMostElements + 1 : elements;
  bool isDilated = llvm::any_of(op.getBaseDilation(), [](int64_t dilation) { return dilation != 1; });
  bool isEmpty =
      net::typeOf(op.getOperand()).getNumElements() == 0 || net::typeOf(op.getSource()).getNumElements() == 0;
  return elements <= kMostElements && !isDilated && !isEmpty;
}

void schedule::expandSelections(Block &block) {
  for (auto op : llvm::make_early_inc_range(block.getOps<net::SelectAndScatterOp>())) {
    if (!isExpanded(op))
      continue;
    OpBuilder builder(op);
    InheritingListener listener(op);
    builder.setListener(&listener);
    Value result = Expansion(op, builder).run();
    inherit(result.getDefiningOp(), op, Inherit::Replacement);
    op.getResult().replaceAllUsesWith(result);
    op.erase();
  }
}
