//===- ApplyFacts.cpp - what holds of floats, but not of residues ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exact arithmetic compares residues in a pseudo-random order, and exp of one is another one. So 1 > 0 may be false,
// and a score that a mask lowers by 1e308 keeps its weight. Tools that partition know better, this compiler among them,
// and leave such comparisons out or hide scores by minus infinity. This table says the same of both programs. It shares
// nothing with the passes that simplify a step (Simplify, HideScores): a mistake there does not undo itself here.
//
// A mask is evaluated element by element: a maximum counts as that of an ordinary number if every row has a score that
// no mask hides, whatever the data.
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/Loops.h"
#include "dialects/Net/NetBuilder.h"
#include "dialects/Net/Traits.h"
#include "meshwright/Import/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

namespace meshwright::importer {
#define GEN_PASS_DEF_APPLYFACTSPASS
#include "meshwright/Import/Passes.h.inc"
} // namespace meshwright::importer

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;
using net::elementTypeOf;
using net::shapeOf;

using Index = SmallVector<int64_t, 6>;

/// Whether `x` and `y` satisfy `direction`.
static bool holds(net::CompareDirection direction, double x, double y) {
  switch (direction) {
  case net::CompareDirection::Eq:
    return x == y;
  case net::CompareDirection::Ne:
    return x != y;
  case net::CompareDirection::Lt:
    return x < y;
  case net::CompareDirection::Le:
    return x <= y;
  case net::CompareDirection::Gt:
    return x > y;
  case net::CompareDirection::Ge:
    return x >= y;
  }
  llvm_unreachable("a direction");
}

/// The number as a double; nothing if that would round it, or it is no number.
static std::optional<double> toDouble(APFloat number) {
  bool loses;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
  return loses || number.isNaN() ? std::nullopt : std::optional(number.convertToDouble());
}

//===----------------------------------------------------------------------===//
// Elements that are known without data
//===----------------------------------------------------------------------===//

/// For an operation that moves elements of its only operand, the index of that which `index` has in the result.
static std::optional<Index> findSource(Operation *op, ArrayRef<int64_t> index) {
  return llvm::TypeSwitch<Operation *, std::optional<Index>>(op)
      .Case([&](net::BroadcastOp broadcast) {
        return llvm::map_to_vector<6>(broadcast.getDims(), [&](int64_t dim) { return index[dim]; });
      })
      .Case([&](net::TransposeOp transpose) {
        Index source(index.size());
        for (auto [position, from] : llvm::zip_equal(index, transpose.getPermutation()))
          source[from] = position;
        return source;
      })
      .Case([&](net::SliceOp slice) {
        Index source;
        for (auto [position, start, step] : llvm::zip_equal(index, slice.getStarts(), slice.getSteps()))
          source.push_back(start + position * step);
        return source;
      })
      .Case([&](net::ReshapeOp reshape) {
        int64_t number = 0;
        for (auto [position, size] : llvm::zip_equal(index, shapeOf(reshape.getResult())))
          number = number * size + position;
        Index source(shapeOf(reshape.getOperand()));
        for (int64_t &position : llvm::reverse(source)) {
          int64_t size = position;
          position = number % size;
          number /= size;
        }
        return source;
      })
      .Default([](Operation *) { return std::nullopt; });
}

namespace {

/// The elements of values that follow from constants and indices alone.
class Elements {
public:
  /// The element of `value` at `index`, of truth values 0 or 1; nothing if it is not known, or no double. An integer
  /// that leaves its type is not known.
  std::optional<double> get(Value value, ArrayRef<int64_t> index) {
    steps = 0;
    return find(value, index);
  }

private:
  /// More operations than this are not followed for an element.
  static constexpr int kMaxSteps = 512;

  std::optional<double> find(Value value, ArrayRef<int64_t> index);
  static std::optional<double> compute(Operation *op, ArrayRef<double> x);

  int steps = 0;
};

} // namespace

/// The number of the element at `index` among those that a constant lists.
static uint64_t getNumber(DenseElementsAttr elements, ArrayRef<int64_t> index) {
  uint64_t number = 0;
  if (!elements.isSplat())
    for (auto [position, size] : llvm::zip_equal(index, elements.getType().getShape()))
      number = number * size + position;
  return number;
}

/// The float at `index`; nothing for integers.
static std::optional<APFloat> getFloat(net::ConstantOp constant, ArrayRef<int64_t> index) {
  auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!elements || !isa<FloatType>(elements.getElementType()))
    return std::nullopt;
  return *(elements.value_begin<APFloat>() + getNumber(elements, index));
}

/// The float or integer at `index`; nothing for one that no double holds.
static std::optional<double> getElement(net::ConstantOp constant, ArrayRef<int64_t> index) {
  if (std::optional<APFloat> number = getFloat(constant, index))
    return toDouble(*number);
  auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!elements)
    return std::nullopt;
  Type type = elements.getElementType();
  APInt integer = *(elements.value_begin<APInt>() + getNumber(elements, index));
  bool isUnsigned = type.isUnsignedInteger() || type.isInteger(1);
  if ((isUnsigned ? integer.getActiveBits() : integer.getSignificantBits()) > 53)
    return std::nullopt;
  return isUnsigned ? static_cast<double>(integer.getZExtValue()) : static_cast<double>(integer.getSExtValue());
}

/// `number`, if the type holds it without rounding.
static std::optional<double> fit(double number, Type type) {
  if (auto format = dyn_cast<FloatType>(type)) {
    APFloat rounded(number);
    bool loses;
    rounded.convert(format.getFloatSemantics(), APFloat::rmNearestTiesToEven, &loses);
    return loses ? std::nullopt : std::optional(number);
  }
  if (type.isInteger(1))
    return number != 0;
  int width = static_cast<int>(std::min(type.getIntOrFloatBitWidth(), 53u));
  double end = std::ldexp(1, type.isUnsignedInteger() ? width : width - 1);
  double begin = type.isUnsignedInteger() ? 0 : -end;
  return number >= begin && number < end && number == std::trunc(number) ? std::optional(number) : std::nullopt;
}

/// The element that `op` makes of the elements `x`, which are exact.
std::optional<double> Elements::compute(Operation *op, ArrayRef<double> x) {
  Type type = elementTypeOf(op->getResult(0));
  using Number = std::optional<double>;
  bool isLogic = type.isInteger(1);
  return llvm::TypeSwitch<Operation *, Number>(op)
      .Case([&](net::CompareOp compare) { return holds(compare.getDirection(), x[0], x[1]); })
      .Case([&](net::SelectOp) { return x[0] != 0 ? x[1] : x[2]; })
      .Case([&](net::ConvertOp) { return fit(x[0], type); })
      .Case([&](net::NotOp) { return isLogic ? Number(x[0] == 0) : std::nullopt; })
      .Case([&](net::AndOp) { return isLogic ? Number(x[0] != 0 && x[1] != 0) : std::nullopt; })
      .Case([&](net::OrOp) { return isLogic ? Number(x[0] != 0 || x[1] != 0) : std::nullopt; })
      .Case([&](net::XorOp) { return isLogic ? Number(x[0] != x[1]) : std::nullopt; })
      .Case([&](net::MaximumOp) { return std::max(x[0], x[1]); })
      .Case([&](net::MinimumOp) { return std::min(x[0], x[1]); })
      .Case([&](net::AddOp) { return isa<IntegerType>(type) ? fit(x[0] + x[1], type) : std::nullopt; })
      .Case([&](net::SubtractOp) { return isa<IntegerType>(type) ? fit(x[0] - x[1], type) : std::nullopt; })
      .Case([&](net::MultiplyOp) { return isa<IntegerType>(type) ? fit(x[0] * x[1], type) : std::nullopt; })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<double> Elements::find(Value value, ArrayRef<int64_t> index) {
  Operation *op = value.getDefiningOp();
  if (!op || ++steps > kMaxSteps)
    return std::nullopt;
  if (auto constant = dyn_cast<net::ConstantOp>(op))
    return getElement(constant, index);
  if (auto iota = dyn_cast<net::IotaOp>(op))
    return fit(static_cast<double>(index[iota.getDim()]), elementTypeOf(value));
  if (std::optional<Index> source = findSource(op, index))
    return find(op->getOperand(0), *source);
  if (!op->hasTrait<OpTrait::Elementwise>())
    return std::nullopt;
  // One operand may decide.
  bool isAnd = isa<net::AndOp>(op), isOr = isa<net::OrOp>(op);
  if ((isAnd || isOr) && elementTypeOf(value).isInteger(1))
    for (Value operand : op->getOperands())
      if (std::optional<double> known = find(operand, index); known && (*known != 0) == isOr)
        return isOr;
  if (auto select = dyn_cast<net::SelectOp>(op)) {
    std::optional<double> predicate = find(select.getPredicate(), index);
    return predicate ? find(*predicate != 0 ? select.getOnTrue() : select.getOnFalse(), index) : std::nullopt;
  }
  SmallVector<double, 3> operands;
  for (Value operand : op->getOperands()) {
    std::optional<double> known = find(operand, index);
    if (!known)
      return std::nullopt;
    operands.push_back(*known);
  }
  return compute(op, operands);
}

//===----------------------------------------------------------------------===//
// Scores that masks hide
//===----------------------------------------------------------------------===//

/// Whether adding a number so low to a score leaves exp of its distance from an ordinary one 0.
static bool isLowest(const APFloat &number) {
  APFloat half = APFloat::getLargest(number.getSemantics(), /*Negative=*/true);
  half.divide(APFloat(number.getSemantics(), 2), APFloat::rmNearestTiesToEven);
  return !number.isNaN() && number.compare(half) != APFloat::cmpGreaterThan;
}

static bool isLowest(Value value) {
  std::optional<APFloat> splat = net::getFloatSplat(value);
  return splat && isLowest(*splat);
}

/// True for a constant some element of which is as low.
static bool holdsLowest(Operation *op) {
  auto constant = dyn_cast<net::ConstantOp>(op);
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!elements || !isa<FloatType>(elements.getElementType()))
    return false;
  if (elements.isSplat())
    return isLowest(elements.getSplatValue<APFloat>());
  return llvm::any_of(elements.getValues<APFloat>(), [](const APFloat &number) { return isLowest(number); });
}

namespace {

/// Finds the masks of a block whose lowest numbers may be minus infinity.
class Masks {
public:
  explicit Masks(func::FuncOp func);

  /// True if `value` is only read, possibly after sums with others, by maxima of rows that no mask hides as a whole,
  /// and by exponentials of the distance from such a maximum.
  bool endsInSoftmax(Value value);

private:
  bool isGoodUse(OpOperand &use);
  bool isOrdinary(net::ReduceOp maximum);
  bool findsVisible(net::ReduceOp maximum);
  std::optional<bool> isHidden(Value value, ArrayRef<int64_t> index, int depth = 0);

  /// Sums and moves deeper than this are not followed.
  static constexpr int kMaxDepth = 64;

  Elements elements;
  /// Floats that numbers of masks reach other than through exponentials, which turn them into zeros.
  DenseSet<Value> low;
  DenseMap<Value, bool> ends;
  DenseMap<Operation *, bool> ordinary;
};

} // namespace

Masks::Masks(func::FuncOp func) {
  // Loops carry values from their end to their beginning: another round follows until nothing changes.
  for (bool changes = true; changes;) {
    changes = false;
    func.walk([&](Operation *op) {
      bool isLow = holdsLowest(op) || (!isa<net::ExpOp>(op) && llvm::any_of(op->getOperands(), [&](Value operand) {
                     return low.contains(operand);
                   }));
      if (auto carry = dyn_cast<net::CarryOp>(op))
        isLow |= low.contains(net::getNext(carry).getValue());
      for (Value result : op->getResults())
        if (isLow && net::isFloat(result))
          changes |= low.insert(result).second;
    });
  }
}

/// Whether masks hide the element at `index`, so that what is left of it is the lowest number; nothing if that depends
/// on data.
std::optional<bool> Masks::isHidden(Value value, ArrayRef<int64_t> index, int depth) {
  Operation *op = value.getDefiningOp();
  if (!low.contains(value))
    return false;
  if (!op || depth == kMaxDepth)
    return std::nullopt;
  if (auto constant = dyn_cast<net::ConstantOp>(op)) {
    std::optional<APFloat> number = getFloat(constant, index);
    return number ? std::optional(isLowest(*number)) : std::nullopt;
  }
  if (std::optional<Index> source = findSource(op, index))
    return isHidden(op->getOperand(0), *source, depth + 1);
  if (isa<net::ConvertOp>(op))
    return isHidden(op->getOperand(0), index, depth + 1);
  if (auto select = dyn_cast<net::SelectOp>(op)) {
    std::optional<double> predicate = elements.get(select.getPredicate(), index);
    return predicate ? isHidden(*predicate != 0 ? select.getOnTrue() : select.getOnFalse(), index, depth + 1)
                     : std::nullopt;
  }
  if (!isa<net::AddOp>(op))
    return std::nullopt;
  std::optional<bool> lhs = isHidden(op->getOperand(0), index, depth + 1);
  std::optional<bool> rhs = isHidden(op->getOperand(1), index, depth + 1);
  if (lhs.value_or(false) || rhs.value_or(false))
    return true;
  return lhs && rhs ? std::optional(false) : std::nullopt;
}

/// True if every row of `maximum` has an element that no mask hides.
bool Masks::findsVisible(net::ReduceOp maximum) {
  ArrayRef<int64_t> shape = shapeOf(maximum.getOperand()), dims = maximum.getDims();
  if (llvm::is_contained(shape, 0))
    return false;
  // Counts `index` on along the dimensions of rows, or those of the elements of a row; false at the end.
  auto next = [&](Index &index, bool inRow) {
    for (int64_t dim = static_cast<int64_t>(shape.size()) - 1; dim >= 0; --dim) {
      if (llvm::is_contained(dims, dim) != inRow)
        continue;
      if (++index[dim] < shape[dim])
        return true;
      index[dim] = 0;
    }
    return false;
  };
  Index index(shape.size());
  do {
    bool isSeen;
    do {
      std::optional<bool> hidden = isHidden(maximum.getOperand(), index);
      isSeen = hidden && !*hidden;
    } while (!isSeen && next(index, /*inRow=*/true));
    if (!isSeen)
      return false;
    for (int64_t dim : dims)
      index[dim] = 0;
  } while (next(index, /*inRow=*/false));
  return true;
}

bool Masks::isOrdinary(net::ReduceOp maximum) {
  auto [known, isNew] = ordinary.try_emplace(maximum);
  if (isNew) {
    bool is = maximum.getKind() == ReduceKind::Max && findsVisible(maximum);
    ordinary[maximum] = is;
    return is;
  }
  return known->second;
}

bool Masks::endsInSoftmax(Value value) {
  if (auto known = ends.find(value); known != ends.end())
    return known->second;
  // In a circle, which only a loop makes.
  ends[value] = false;
  bool isGood = !value.use_empty() && llvm::all_of(value.getUses(), [&](OpOperand &use) { return isGoodUse(use); });
  return ends[value] = isGood;
}

/// Follows what repeats or moves a maximum whole, and one with minus infinity, which changes nothing.
static Value getRowMaximum(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (net::movesWhole(op)) {
      value = op->getOperand(0);
      continue;
    }
    if (!isa<net::MaximumOp>(op))
      break;
    auto isNeutral = [&](unsigned operand) {
      std::optional<APFloat> bound = net::getFloatSplat(op->getOperand(operand));
      return bound && bound->isInfinity() && bound->isNegative();
    };
    if (!isNeutral(0) && !isNeutral(1))
      break;
    value = op->getOperand(isNeutral(0) ? 1 : 0);
  }
  return value;
}

bool Masks::isGoodUse(OpOperand &use) {
  Operation *user = use.getOwner();
  if (net::movesWhole(user) || isa<net::AddOp>(user))
    return endsInSoftmax(user->getResult(0));
  if (isa<net::ConvertOp>(user))
    return net::isFloat(user->getResult(0)) && endsInSoftmax(user->getResult(0));
  if (auto reduce = dyn_cast<net::ReduceOp>(user))
    return isOrdinary(reduce);
  if (!isa<net::SubtractOp>(user) || use.getOperandNumber() != 0)
    return false;
  auto maximum = getRowMaximum(user->getOperand(1)).getDefiningOp<net::ReduceOp>();
  return maximum && isOrdinary(maximum) &&
         llvm::all_of(user->getUsers(), [](Operation *reader) { return isa<net::ExpOp>(reader); });
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// A comparison of a truth value, which as a number is 0 or 1, with a constant: that value, its opposite or a constant;
/// null for other comparisons.
static Value compareTruth(net::CompareOp op) {
  auto getTruth = [](Value value) -> Value {
    auto convert = value.getDefiningOp<net::ConvertOp>();
    return convert && elementTypeOf(convert.getOperand()).isInteger(1) ? convert.getOperand() : Value();
  };
  Value left = getTruth(op.getLhs()), right = getTruth(op.getRhs());
  std::optional<APFloat> splat = net::getFloatSplat(left ? op.getRhs() : op.getLhs());
  std::optional<double> bound = splat ? toDouble(*splat) : std::nullopt;
  if (!(left || right) || !bound || op.getTotalOrder())
    return {};
  auto decide = [&](double truth) {
    return left ? holds(op.getDirection(), truth, *bound) : holds(op.getDirection(), *bound, truth);
  };
  bool ofFalse = decide(0), ofTrue = decide(1);
  Value truth = left ? left : right;
  if (ofTrue && !ofFalse)
    return truth;
  OpBuilder builder(op);
  net::NetBuilder build(builder, op.getLoc());
  Value made = ofTrue == ofFalse ? build.splatLike(op.getResult(), ofTrue) : build.unary<net::NotOp>(truth);
  inherit(made.getDefiningOp(), op, Inherit::Replacement);
  return made;
}

namespace {

struct ApplyFacts : importer::impl::ApplyFactsPassBase<ApplyFacts> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isDeclaration()) {
        decideComparisons(func);
        hideScores(func);
      }
  }

  void decideComparisons(func::FuncOp func) {
    func.walk([&](net::CompareOp op) {
      if (Value known = compareTruth(op)) {
        op.getResult().replaceAllUsesWith(known);
        op->erase();
        ++numComparisons;
      }
    });
  }

  void hideScores(func::FuncOp func) {
    Masks masks(func);
    SmallVector<OpOperand *> hiding;
    func.walk([&](net::SelectOp select) {
      for (OpOperand *operand : {&select.getOnTrueMutable(), &select.getOnFalseMutable()})
        if (isLowest(operand->get()) && masks.endsInSoftmax(select.getResult()))
          hiding.push_back(operand);
    });
    for (OpOperand *operand : hiding) {
      if (net::getFloatSplat(operand->get())->isInfinity())
        continue;
      OpBuilder builder(operand->getOwner());
      Value infinity = net::NetBuilder(builder, operand->getOwner()->getLoc())
                           .splatLike(operand->get(), -std::numeric_limits<double>::infinity());
      inherit(infinity.getDefiningOp(), operand->getOwner(), Inherit::Companion);
      operand->set(infinity);
      ++numHidden;
    }
  }
};

} // namespace
