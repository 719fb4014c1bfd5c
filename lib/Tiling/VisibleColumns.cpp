//===- VisibleColumns.cpp - the columns that a mask leaves ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes with what is known of all elements in a rectangle of rows and columns: the interval of integers, or that
// floats are zero, lowest (hidden by a mask), or ordinary. A causal mask compares the index of the row with that of the
// column, which decides it for whole rectangles; whatever else it is combined with then does not matter.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Tiling/VisibleColumns.h"
#include "dialects/Net/NetBuilder.h"
#include "dialects/Net/Traits.h"
#include "llvm/ADT/TypeSwitch.h"
#include <limits>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::tiling;
using net::CompareDirection;
using net::shapeOf;
using net::typeOf;

namespace {

/// A property of all elements of a value in a rectangle.
struct Fact {
  enum Kind {
    Unknown,
    /// Integers from `low` to `high`; false is 0 and true is 1.
    Numbers,
    /// Floats: so low that `exp` of a difference from any ordinary number is 0.
    Lowest,
    Zero,
    /// Made of products of the region and constants, and not hidden.
    Ordinary
  } kind = Unknown;
  int64_t low = 0, high = 0;

  static Fact numbers(int64_t low, int64_t high) { return {Numbers, low, high}; }
  bool is(int64_t number) const { return kind == Numbers && low == number && high == number; }
  bool operator==(const Fact &) const = default;
};

/// Rows and columns from their first to before their end.
struct Rectangle {
  int64_t top, bottom;
  Columns columns;
};

} // namespace

static bool hides(const APFloat &value, Hiding hiding) {
  if (!value.isNegative() || value.isNaN())
    return false;
  if (value.isInfinity() || hiding == Hiding::Infinity)
    return value.isInfinity();
  APFloat half = APFloat::getLargest(value.getSemantics(), /*Negative=*/true);
  APFloat two(value.getSemantics(), 2);
  half.divide(two, APFloat::rmNearestTiesToEven);
  return value.compare(half) != APFloat::cmpGreaterThan;
}

bool tiling::hides(Value value, Hiding hiding) {
  std::optional<APFloat> splat = net::getFloatSplat(value);
  return splat && ::hides(*splat, hiding);
}

static bool isFinite(const Fact &fact) { return fact.kind == Fact::Ordinary || fact.kind == Fact::Zero; }

static Fact getSplat(net::ConstantOp constant, Hiding hiding) {
  auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
  if (!splat)
    return {};
  if (auto type = dyn_cast<IntegerType>(splat.getElementType())) {
    APInt value = splat.getSplatValue<APInt>();
    if (value.getBitWidth() == 1)
      return Fact::numbers(value.getZExtValue(), value.getZExtValue());
    bool isUnsigned = type.isUnsigned();
    if (isUnsigned ? value.getActiveBits() > 62 : value.getSignificantBits() > 62)
      return {};
    int64_t number = isUnsigned ? static_cast<int64_t>(value.getZExtValue()) : value.getSExtValue();
    return Fact::numbers(number, number);
  }
  if (!isa<FloatType>(splat.getElementType()))
    return {};
  APFloat value = splat.getSplatValue<APFloat>();
  if (value.isZero())
    return {Fact::Zero};
  if (::hides(value, hiding))
    return {Fact::Lowest};
  return value.isFinite() ? Fact{Fact::Ordinary} : Fact();
}

/// True if the axis is a dimension of its own.
static bool isDimension(const std::optional<Digit> &digit, Value value) {
  return !digit || (digit->stride == 1 && digit->extent == shapeOf(value)[digit->dim]);
}

static Fact compare(CompareDirection direction, const Fact &lhs, const Fact &rhs) {
  if (lhs.kind != Fact::Numbers || rhs.kind != Fact::Numbers)
    return {};
  auto decide = [](bool always, bool never) {
    return always ? Fact::numbers(1, 1) : never ? Fact::numbers(0, 0) : Fact();
  };
  bool isSame = lhs.low == lhs.high && lhs == rhs, isApart = lhs.high < rhs.low || rhs.high < lhs.low;
  switch (direction) {
  case CompareDirection::Eq:
    return decide(isSame, isApart);
  case CompareDirection::Ne:
    return decide(isApart, isSame);
  case CompareDirection::Lt:
    return decide(lhs.high < rhs.low, lhs.low >= rhs.high);
  case CompareDirection::Le:
    return decide(lhs.high <= rhs.low, lhs.low > rhs.high);
  case CompareDirection::Gt:
    return decide(lhs.low > rhs.high, lhs.high <= rhs.low);
  case CompareDirection::Ge:
    return decide(lhs.low >= rhs.high, lhs.high < rhs.low);
  }
  return {};
}

/// The interval, if every number of it is one of `type`, which wraps at its ends.
static Fact fit(int64_t low, int64_t high, Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer || integer.getWidth() == 1 || integer.getWidth() > 64)
    return {};
  unsigned bits = std::min(integer.getWidth(), 62u) - (integer.isUnsigned() ? 0 : 1);
  int64_t most = (int64_t(1) << bits) - 1, least = integer.isUnsigned() ? 0 : -most - 1;
  return low >= least && high <= most ? Fact::numbers(low, high) : Fact();
}

namespace {

/// Derives the facts of one rectangle of a region.
class Evaluator {
public:
  Evaluator(const ScoreRegion &region, const Rectangle &rectangle, Hiding hiding,
            llvm::function_ref<bool(Value, const Rectangle &)> isVisibleMaximum)
      : rectangle(rectangle), hiding(hiding), isVisibleMaximum(isVisibleMaximum) {
    for (const Member &member : region.members)
      facts[member.op] = evaluate(member);
  }

  Fact get(Value value) const {
    Operation *maker = value.getDefiningOp();
    if (auto known = facts.find(maker); known != facts.end())
      return known->second;
    auto constant = dyn_cast_or_null<net::ConstantOp>(maker);
    return constant ? getSplat(constant, hiding) : Fact();
  }

private:
  Fact evaluate(const Member &member) const;
  Fact evaluateIota(net::IotaOp iota, const Labels &labels) const;
  Fact subtract(net::SubtractOp op) const;

  const Rectangle &rectangle;
  Hiding hiding;
  llvm::function_ref<bool(Value, const Rectangle &)> isVisibleMaximum;
  DenseMap<Operation *, Fact> facts;
};

} // namespace

Fact Evaluator::evaluateIota(net::IotaOp iota, const Labels &labels) const {
  Type type = typeOf(iota.getResult()).getElementType();
  for (unsigned axis : {kRows, kColumns}) {
    if (!labels[axis] || labels[axis]->dim != iota.getDim())
      continue;
    return axis == kRows ? fit(rectangle.top, rectangle.bottom - 1, type)
                         : fit(rectangle.columns.begin, rectangle.columns.end - 1, type);
  }
  return fit(0, shapeOf(iota.getResult())[iota.getDim()] - 1, type);
}

/// A hidden score minus the maximum of its row is as low, if that is the maximum of some scores that are not hidden.
Fact Evaluator::subtract(net::SubtractOp op) const {
  Fact lhs = get(op.getLhs()), rhs = get(op.getRhs());
  if (lhs.kind == Fact::Numbers && rhs.kind == Fact::Numbers)
    return fit(lhs.low - rhs.high, lhs.high - rhs.low, net::elementTypeOf(op.getResult()));
  if (lhs.kind == Fact::Lowest && (isFinite(rhs) || isVisibleMaximum(getRepeated(op.getRhs()), rectangle)))
    return {Fact::Lowest};
  if (lhs.kind == Fact::Zero && rhs.kind == Fact::Zero)
    return lhs;
  return isFinite(lhs) && isFinite(rhs) ? Fact{Fact::Ordinary} : Fact();
}

Fact Evaluator::evaluate(const Member &member) const {
  Operation *op = member.op;
  if (isa<net::DotOp>(op))
    return {isWide(member.results[0]) ? Fact::Ordinary : Fact::Unknown};
  if (auto constant = dyn_cast<net::ConstantOp>(op))
    return getSplat(constant, hiding);
  if (auto iota = dyn_cast<net::IotaOp>(op))
    return evaluateIota(iota, member.results[0]);
  SmallVector<Fact, 3> in = llvm::map_to_vector<3>(op->getOperands(), [&](Value operand) { return get(operand); });
  if (net::movesWhole(op))
    return in[0];
  auto isKind = [&](Fact::Kind kind) { return [kind](const Fact &fact) { return fact.kind == kind; }; };
  Type type = net::elementTypeOf(op->getResult(0));
  if (isa<net::ConvertOp>(op)) {
    if (isa<IntegerType>(type))
      return in[0].kind != Fact::Numbers ? Fact()
             : type.isInteger(1)         ? compare(CompareDirection::Ne, in[0], Fact::numbers(0, 0))
                                         : fit(in[0].low, in[0].high, type);
    return in[0].is(0) ? Fact{Fact::Zero} : in[0].kind == Fact::Numbers ? Fact{Fact::Ordinary} : in[0];
  }
  if (auto comparison = dyn_cast<net::CompareOp>(op))
    return compare(comparison.getDirection(), in[0], in[1]);
  if (isa<net::AndOp>(op) && type.isInteger(1))
    return in[0].is(0) || in[1].is(0) ? Fact::numbers(0, 0) : in[0].is(1) && in[1].is(1) ? in[0] : Fact();
  if (isa<net::OrOp>(op) && type.isInteger(1))
    return in[0].is(1) || in[1].is(1) ? Fact::numbers(1, 1) : in[0].is(0) && in[1].is(0) ? in[0] : Fact();
  if (isa<net::NotOp>(op) && type.isInteger(1))
    return in[0].is(0) ? Fact::numbers(1, 1) : in[0].is(1) ? Fact::numbers(0, 0) : Fact();
  if (isa<net::SelectOp>(op))
    return in[0].is(1) ? in[1] : in[0].is(0) || in[1] == in[2] ? in[2] : Fact();
  if (auto difference = dyn_cast<net::SubtractOp>(op))
    return subtract(difference);
  if (isa<net::AddOp>(op)) {
    if (llvm::all_of(in, isKind(Fact::Numbers)))
      return fit(in[0].low + in[1].low, in[0].high + in[1].high, type);
    if (llvm::any_of(in, isKind(Fact::Lowest)))
      return {Fact::Lowest};
    if (llvm::all_of(in, isKind(Fact::Zero)))
      return in[0];
    return llvm::all_of(in, isFinite) ? Fact{Fact::Ordinary} : Fact();
  }
  if (isa<net::MultiplyOp>(op) && isa<FloatType>(type)) {
    if (llvm::any_of(in, isKind(Fact::Zero)))
      return {Fact::Zero};
    return llvm::all_of(in, isFinite) ? Fact{Fact::Ordinary} : Fact();
  }
  if (isa<net::DivideOp>(op) && isa<FloatType>(type)) {
    if (in[0].kind == Fact::Zero)
      return in[0];
    return llvm::all_of(in, isKind(Fact::Ordinary)) ? in[0] : Fact();
  }
  if (isa<net::NegateOp>(op))
    return isFinite(in[0]) ? in[0] : Fact();
  if (isa<net::ExpOp>(op))
    return in[0].kind == Fact::Lowest ? Fact{Fact::Zero} : isFinite(in[0]) ? Fact{Fact::Ordinary} : Fact();
  if (isa<net::TanhOp>(op))
    return isFinite(in[0]) ? in[0] : Fact();
  // A sum of zeros, over an axis that the region does not count.
  auto reduce = dyn_cast<net::ReduceOp>(op);
  if (reduce && reduce.getKind() == ReduceKind::Sum && in[0].kind == Fact::Zero)
    return in[0];
  return {};
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

VisibleColumns::VisibleColumns(ArrayRef<ScoreRegion> regions, Hiding hiding) : hiding(hiding) {
  for (const ScoreRegion &region : regions)
    for (const Member &member : region.members)
      if (auto reduce = dyn_cast<net::ReduceOp>(member.op);
          reduce && reduce.getKind() == ReduceKind::Max && isWide(member.operands[0]))
        maxima[reduce] = &region;
}

bool VisibleColumns::isVisible(Operation *maximum, int64_t begin, int64_t end) const {
  const ScoreRegion &region = *maxima.lookup(maximum);
  auto [known, isNew] = visibleRows.try_emplace(maximum);
  if (isNew) {
    int64_t numRows = region.sizes[kRows], numColumns = region.sizes[kColumns];
    known->second.assign(numRows + 1, 0);
    for (int64_t row = 0; row != numRows; ++row) {
      bool isSeen = false;
      for (int64_t column : {std::min(row, numColumns - 1), int64_t(0), numColumns - 1}) {
        Rectangle cell = {row, row + 1, {column, column + 1}};
        Evaluator evaluator(region, cell, hiding, [](Value, const Rectangle &) { return false; });
        if ((isSeen = evaluator.get(maximum->getOperand(0)).kind == Fact::Ordinary))
          break;
      }
      known->second[row + 1] = known->second[row] + isSeen;
    }
  }
  return known->second[end] - known->second[begin] == end - begin;
}

SmallVector<Operation *> VisibleColumns::findVisible() const {
  SmallVector<Operation *> visible;
  for (auto [maximum, region] : maxima)
    if (isVisible(maximum, 0, region->sizes[kRows]))
      visible.push_back(maximum);
  return visible;
}

/// True if `op` is of a kind that is resized by its types alone.
static bool isResizable(Operation *op) {
  return op->hasTrait<OpTrait::Elementwise>() || net::movesWhole(op) ||
         llvm::TypeSwitch<Operation *, bool>(op)
             .Case<net::DotOp, net::ReduceOp, net::IotaOp, net::ConstantOp>([](Operation *) { return true; })
             .Default(false);
}

/// True if rows and columns are dimensions of their own in all values.
static bool haveDimensions(const ScoreRegion &region) {
  return llvm::all_of(region.members, [](const Member &member) {
    if (!isResizable(member.op))
      return false;
    for (unsigned axis : {kRows, kColumns}) {
      for (auto [operand, labels] : llvm::zip(member.op->getOperands(), member.operands))
        if (!isDimension(labels[axis], operand))
          return false;
      for (auto [result, labels] : llvm::zip(member.op->getResults(), member.results))
        if (!isDimension(labels[axis], result))
          return false;
    }
    return true;
  });
}

/// True if nothing is lost without the columns of `rectangle`.
bool VisibleColumns::mayLeaveOut(const ScoreRegion &region, int64_t begin, int64_t end, const Columns &columns) const {
  if (columns.size() == 0)
    return true;
  Rectangle rectangle = {begin, end, columns};
  auto isVisibleMaximum = [&](Value value, const Rectangle &inside) {
    Operation *maker = value.getDefiningOp();
    const ScoreRegion *other = maxima.lookup(maker);
    if (!other)
      return false;
    if (region.isTransposed)
      return other->sizes[kRows] == region.sizes[kColumns] &&
             isVisible(maker, inside.columns.begin, inside.columns.end);
    return other->sizes[kRows] == region.sizes[kRows] && isVisible(maker, inside.top, inside.bottom);
  };
  Evaluator evaluator(region, rectangle, hiding, isVisibleMaximum);
  for (const Member &member : region.members) {
    if (!member.dependent)
      continue;
    bool hasWide = false, hasZero = false, hasLowest = false;
    for (auto [operand, labels] : llvm::zip(member.op->getOperands(), member.operands)) {
      Fact::Kind kind = evaluator.get(operand).kind;
      hasWide |= isWide(labels);
      hasZero |= isWide(labels) && kind == Fact::Zero;
      hasLowest |= isWide(labels) && kind == Fact::Lowest;
    }
    const Labels &labels = member.results[0];
    bool isKept = isWide(labels) &&
                  llvm::any_of(member.op->getUsers(), [&](Operation *user) { return !region.inside.contains(user); });
    if (isKept && evaluator.get(member.op->getResult(0)).kind != Fact::Zero)
      return false;
    if (!hasWide || isWide(labels))
      continue;
    // Sums along rows or columns of zeros, and a maximum of scores of which others are not hidden.
    bool isMaximum = maxima.contains(member.op) && hasLowest && isVisible(member.op, begin, end);
    auto reduce = dyn_cast<net::ReduceOp>(member.op);
    bool isSum = isa<net::DotOp>(member.op) || (reduce && reduce.getKind() == ReduceKind::Sum);
    if (!isMaximum && !(isSum && hasZero))
      return false;
  }
  return true;
}

Columns VisibleColumns::find(const ScoreRegion &region, int64_t begin, int64_t end) const {
  int64_t numColumns = region.sizes[kColumns];
  Columns all = {0, numColumns};
  if (!haveDimensions(region))
    return all;
  int64_t step = llvm::alignTo(llvm::divideCeil(numColumns, 32), 16), last = step;
  while (last < numColumns && !mayLeaveOut(region, begin, end, {last, numColumns}))
    last += step;
  all.end = std::min(last, numColumns);
  for (int64_t first = (all.end - 1) / step * step; first > 0; first -= step)
    if (mayLeaveOut(region, begin, end, {0, first})) {
      all.begin = first;
      break;
    }
  return all;
}
