//===- Reduction.cpp - conversion of reduce, argmax and argmin ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A reduction of several tensors becomes one reduction per tensor if its body combines each tensor only with itself.
// The only other supported body is that of argmax and argmin.
//
//===----------------------------------------------------------------------===//

#include "Reduction.h"
#include "dialects/Dist/Conversions.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

/// The reduction whose elementwise combiner is the operation `combiner`; empty if there is none. Arithmetic on i1 is
/// logical.
static std::optional<ReduceKind> getReduceKind(StringRef combiner, Type element) {
  bool isLogical = element.isInteger(1);
  return llvm::StringSwitch<std::optional<ReduceKind>>(combiner)
      .Case("stablehlo.add", isLogical ? ReduceKind::Or : ReduceKind::Sum)
      .Case("stablehlo.multiply", isLogical ? ReduceKind::And : ReduceKind::Product)
      .Case("stablehlo.maximum", isLogical ? ReduceKind::Or : ReduceKind::Max)
      .Case("stablehlo.minimum", isLogical ? ReduceKind::And : ReduceKind::Min)
      .Case("stablehlo.and", ReduceKind::And)
      .Case("stablehlo.or", ReduceKind::Or)
      .Default(std::nullopt);
}

Attribute importer::getSplat(Value value) {
  DenseElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)) || !elements.isSplat())
    return {};
  return elements.getSplatValue<Attribute>();
}

/// The smallest or the largest integer of a type.
static APInt getExtreme(IntegerType type, bool smallest) {
  unsigned width = type.getWidth();
  if (type.isUnsigned() || width == 1)
    return smallest ? APInt::getMinValue(width) : APInt::getMaxValue(width);
  return smallest ? APInt::getSignedMinValue(width) : APInt::getSignedMaxValue(width);
}

bool importer::isNeutral(Attribute element, ReduceKind kind) {
  if (auto number = dyn_cast_or_null<FloatAttr>(element)) {
    APFloat value = number.getValue();
    switch (kind) {
    case ReduceKind::Sum:
      return value.isZero();
    case ReduceKind::Product:
      return value.isExactlyValue(1.0);
    case ReduceKind::Max:
    case ReduceKind::Min:
      return Attribute(dist::getNeutralElement(kind, number.getType())) == number;
    default:
      return false;
    }
  }
  auto number = dyn_cast_or_null<IntegerAttr>(element);
  if (!number)
    return false;
  APInt value = number.getValue();
  auto type = cast<IntegerType>(number.getType());
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Or:
    return value.isZero();
  case ReduceKind::Product:
    return value.isOne();
  case ReduceKind::And:
    return value.isAllOnes();
  case ReduceKind::Max:
  case ReduceKind::Min:
    return value == getExtreme(type, kind == ReduceKind::Max);
  case ReduceKind::Tree:
    break;
  }
  return false;
}

static StringRef getElementwise(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Sum:
    return "net.add";
  case ReduceKind::Product:
    return "net.multiply";
  case ReduceKind::Max:
    return "net.maximum";
  case ReduceKind::Min:
    return "net.minimum";
  case ReduceKind::And:
    return "net.and";
  case ReduceKind::Or:
    return "net.or";
  case ReduceKind::Tree:
    break;
  }
  return {};
}

Value importer::combine(Conversion &conversion, ReduceKind kind, Value lhs, Value rhs) {
  return conversion.createNamed(getElementwise(kind), lhs.getType(), {lhs, rhs});
}

Value importer::combineInit(Conversion &conversion, ReduceKind kind, Value init, Value result) {
  if (isNeutral(getSplat(init), kind))
    return result;
  Value repeated = conversion.broadcast(init, cast<RankedTensorType>(result.getType()).getShape(), {});
  return combine(conversion, kind, repeated, result);
}

/// Reduces operand `index` from the neutral element, then combines the result with any other initial value.
static Value reduceOne(Conversion &conversion, unsigned index, ReduceKind kind, ArrayRef<int64_t> dims) {
  Operation *op = conversion.getOp();
  RankedTensorType type = conversion.getType(index);
  Value init = op->getOperand(op->getNumResults() + index);
  Value result = op->getOperand(index);
  if (!dims.empty())
    result = conversion.create<net::ReduceOp>(type, kind, result, dims);
  return combineInit(conversion, kind, init, result);
}

//===----------------------------------------------------------------------===//
// argmax and argmin
//===----------------------------------------------------------------------===//

bool importer::isCompare(Value value, StringRef direction, Value lhs, Value rhs) {
  Operation *op = value.getDefiningOp();
  auto attribute = op ? op->getAttrOfType<StringAttr>("comparison_direction") : StringAttr();
  if (!attribute || op->getName().getStringRef() != "stablehlo.compare" || op->getNumOperands() != 2)
    return false;
  StringRef mirrored = llvm::StringSwitch<StringRef>(direction)
                           .Case("LT", "GT")
                           .Case("GT", "LT")
                           .Case("LE", "GE")
                           .Case("GE", "LE")
                           .Default(direction);
  if (op->getOperand(0) == lhs && op->getOperand(1) == rhs)
    return attribute.getValue() == direction;
  return op->getOperand(0) == rhs && op->getOperand(1) == lhs && attribute.getValue() == mirrored;
}

std::optional<std::pair<Value, Value>> importer::matchBinary(Value value, StringRef name) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getName().getStringRef() != name || op->getNumOperands() != 2)
    return std::nullopt;
  return std::pair(op->getOperand(0), op->getOperand(1));
}

/// The predicate if `value` is select(predicate, onTrue, onFalse); null otherwise.
static Value matchSelect(Value value, Value onTrue, Value onFalse) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getName().getStringRef() != "stablehlo.select" || op->getNumOperands() != 3 ||
      op->getOperand(1) != onTrue || op->getOperand(2) != onFalse)
    return {};
  return op->getOperand(0);
}

/// Matches a body that combines the (value, index) pairs (v, i) and (w, j) into
///   value: wins ? v : w           where wins = v > w or v != v
///   index: wins or (v == w and i < j) ? i : j
/// (with < for >): the pair with the largest value, NaN above all numbers, and the lowest index among equal values.
static std::optional<net::ArgKind> matchArgBody(Block &body) {
  Value v = body.getArgument(0), i = body.getArgument(1), w = body.getArgument(2), j = body.getArgument(3);
  Value wins = matchSelect(body.back().getOperand(0), v, w);
  Value takes = matchSelect(body.back().getOperand(1), i, j);
  if (!wins || !takes)
    return std::nullopt;
  auto better = matchBinary(wins, "stablehlo.or"), chosen = matchBinary(takes, "stablehlo.or");
  if (!better || !chosen || chosen->first != wins || !isCompare(better->second, "NE", v, v))
    return std::nullopt;
  auto tie = matchBinary(chosen->second, "stablehlo.and");
  if (!tie || !isCompare(tie->first, "EQ", v, w) || !isCompare(tie->second, "LT", i, j))
    return std::nullopt;
  if (isCompare(better->first, "GT", v, w))
    return net::ArgKind::Max;
  if (isCompare(better->first, "LT", v, w))
    return net::ArgKind::Min;
  return std::nullopt;
}

bool importer::isIndexAlong(Value value, int64_t dim) {
  if (auto broadcast = value.getDefiningOp<net::BroadcastOp>()) {
    const auto *position = llvm::find(broadcast.getDims(), dim);
    return position != broadcast.getDims().end() &&
           isIndexAlong(broadcast.getOperand(), position - broadcast.getDims().begin());
  }
  auto iota = value.getDefiningOp<net::IotaOp>();
  return iota && static_cast<int64_t>(iota.getDim()) == dim;
}

/// Converts argmax and argmin. Returns nothing, without an error, for any other reduction.
static std::optional<SmallVector<Value>> convertArg(Conversion &conversion, Block &body, ArrayRef<int64_t> dims) {
  Operation *op = conversion.getOp();
  if (op->getNumResults() != 2 || dims.size() != 1)
    return std::nullopt;
  std::optional<net::ArgKind> kind = matchArgBody(body);
  if (!kind || !isIndexAlong(op->getOperand(1), dims.front()))
    return std::nullopt;
  // The initial pair must never win: its value is the worst, its index the lowest.
  ReduceKind reduce = *kind == net::ArgKind::Max ? ReduceKind::Max : ReduceKind::Min;
  if (conversion.getOperandType(0).getElementType().isInteger(1))
    reduce = *kind == net::ArgKind::Max ? ReduceKind::Or : ReduceKind::And;
  if (!isNeutral(getSplat(op->getOperand(2)), reduce) || !isNeutral(getSplat(op->getOperand(3)), ReduceKind::Sum))
    return std::nullopt;
  Type types[] = {conversion.getType(0), conversion.getType(1)};
  auto arg =
      net::ArgReduceOp::create(conversion.getBuilder(), op->getLoc(), types, *kind, op->getOperand(0), dims.front());
  conversion.annotate(arg);
  return SmallVector<Value>{arg.getValue(), arg.getIndex()};
}

//===----------------------------------------------------------------------===//
// The conversion
//===----------------------------------------------------------------------===//

/// Sorts and checks the dimensions, and checks the initial values, which are scalars of the operands' element types.
static LogicalResult verifyReduce(Conversion &conversion, MutableArrayRef<int64_t> dims) {
  unsigned count = conversion.getOp()->getNumResults();
  llvm::sort(dims);
  for (unsigned index = 0; index < count; ++index) {
    RankedTensorType type = conversion.getOperandType(index), init = conversion.getOperandType(count + index);
    if (init.getRank() != 0 || init.getElementType() != type.getElementType() ||
        conversion.getType(index).getElementType() != type.getElementType())
      return conversion.error() << "reduces " << type << " from " << init << " to " << conversion.getType(index);
    if (type.getShape() != conversion.getOperandType(0).getShape())
      return conversion.error() << "reduces " << type << " together with " << conversion.getOperandType(0);
    int64_t rank = type.getRank();
    for (size_t next = 0; next < dims.size(); ++next)
      if (dims[next] < 0 || dims[next] >= rank || (next > 0 && dims[next] == dims[next - 1]))
        return conversion.error() << "reduces dimension " << dims[next]
                                  << ", which is given twice or is not one of the operand's " << rank;
  }
  return success();
}

FailureOr<SmallVector<ReduceKind>> importer::getReduceKinds(Conversion &conversion, Block &body, StringRef other) {
  SmallVector<ReduceKind> kinds;
  unsigned count = conversion.getOp()->getNumResults();
  for (unsigned index = 0; index < count; ++index) {
    StringRef combiner = getCombiner(body, index, index, count + index);
    std::optional<ReduceKind> kind = getReduceKind(combiner, conversion.getType(index).getElementType());
    if (!kind)
      return conversion.error() << "has a body that is not known for result " << index
                                << "; add, multiply, maximum, minimum, and, or of its own two elements are, and "
                                << other;
    kinds.push_back(*kind);
  }
  return kinds;
}

static Converted convertReduce(Conversion &conversion) {
  Operation *op = conversion.getOp();
  unsigned count = op->getNumResults();
  if (failed(conversion.expectPairs()))
    return failure();
  FailureOr<SmallVector<int64_t>> dims = conversion.getDims("dimensions");
  if (failed(dims) || failed(verifyReduce(conversion, *dims)))
    return failure();
  Block *body = getBody(conversion, 2 * count, count);
  if (!body)
    return failure();
  if (std::optional<SmallVector<Value>> results = convertArg(conversion, *body, *dims))
    return *results;
  FailureOr<SmallVector<ReduceKind>> kinds = getReduceKinds(conversion, *body, "argmax and argmin over an iota");
  if (failed(kinds))
    return failure();
  SmallVector<Value> results;
  for (auto [index, kind] : llvm::enumerate(*kinds))
    results.push_back(reduceOne(conversion, index, kind, *dims));
  return results;
}

void importer::addReduction(ConverterMap &converters) { converters["stablehlo.reduce"] = convertReduce; }
