//===- Order.cpp - sorting, reversing and top-k ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sort becomes an argsort of its keys and a gather of every operand. The gather has a derivative, and a program that
// only uses the order, as argsort does, pays for nothing else.
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

static Converted convertReverse(Conversion &conversion) {
  if (failed(conversion.expect(1)))
    return failure();
  FailureOr<SmallVector<int64_t>> dims = conversion.getDims("dimensions");
  if (failed(dims))
    return failure();
  if (conversion.getOperandType(0) != conversion.getType())
    return conversion.error() << "turns " << conversion.getOperandType(0) << " into " << conversion.getType();
  return SmallVector<Value>{
      conversion.create<net::ReverseOp>(conversion.getType(), conversion.getOp()->getOperand(0), *dims)};
}

//===----------------------------------------------------------------------===//
// The order of a comparator
//===----------------------------------------------------------------------===//

namespace {

/// The order that the comparator of a sort computes.
struct Order {
  /// The operands with the keys, the most significant first.
  SmallVector<unsigned> keys;
  bool descending = false;
  /// True if floats are compared by the total order of their bits; empty without float keys.
  std::optional<bool> isTotal;
};

/// One comparison of the two elements of an operand.
struct KeyComparison {
  unsigned key;
  StringRef direction;
  /// The two elements are compared in the opposite order.
  bool isSwapped;
  std::optional<bool> isTotal;
};

} // namespace

static bool isNamed(Operation *op, StringRef name, unsigned operands) {
  return op && op->getName().getStringRef() == name && op->getNumOperands() == operands;
}

/// The operands of `value` if it is a comparison in that direction.
static std::optional<std::pair<Value, Value>> matchCompare(Value value, StringRef direction) {
  Operation *op = value.getDefiningOp();
  auto word = op ? op->getAttrOfType<StringAttr>("comparison_direction") : StringAttr();
  if (!isNamed(op, "stablehlo.compare", 2) || !word || word.getValue() != direction)
    return std::nullopt;
  return std::pair(op->getOperand(0), op->getOperand(1));
}

/// The value of a scalar float constant.
static std::optional<APFloat> getFloat(Value value) {
  Operation *op = value.getDefiningOp();
  auto elements =
      isNamed(op, "stablehlo.constant", 0) ? op->getAttrOfType<DenseFPElementsAttr>("value") : DenseFPElementsAttr();
  if (!elements || elements.getNumElements() != 1)
    return std::nullopt;
  return *elements.value_begin<APFloat>();
}

/// The argument x under JAX's canonicalization of zeros and NaNs before a comparison: `select(x != x, NaN, select(x ==
/// 0, 0, x))`. Null if `value` has another form.
static BlockArgument skipCanonical(Value value) {
  Operation *outer = value.getDefiningOp();
  if (!isNamed(outer, "stablehlo.select", 3))
    return {};
  Operation *inner = outer->getOperand(2).getDefiningOp();
  if (!isNamed(inner, "stablehlo.select", 3))
    return {};
  auto isNaN = matchCompare(outer->getOperand(0), "NE"), isZero = matchCompare(inner->getOperand(0), "EQ");
  std::optional<APFloat> nan = getFloat(outer->getOperand(1)), zero = getFloat(inner->getOperand(1));
  auto x = dyn_cast<BlockArgument>(inner->getOperand(2));
  if (!x || !isNaN || !isZero || !nan || !zero || !nan->isNaN() || !zero->isPosZero())
    return {};
  std::optional<APFloat> compared = getFloat(isZero->second);
  bool isCanonical = *isNaN == std::pair<Value, Value>(x, x) && isZero->first == x && compared && compared->isZero();
  return isCanonical ? x : BlockArgument();
}

/// Matches a comparison of the two elements of one operand.
static std::optional<KeyComparison> matchKey(Value value, Block &body) {
  Operation *op = value.getDefiningOp();
  auto direction = op ? op->getAttrOfType<StringAttr>("comparison_direction") : StringAttr();
  if (!isNamed(op, "stablehlo.compare", 2) || !direction)
    return std::nullopt;
  auto left = dyn_cast<BlockArgument>(op->getOperand(0)), right = dyn_cast<BlockArgument>(op->getOperand(1));
  bool isRaw = left && right;
  if (!isRaw) {
    left = skipCanonical(op->getOperand(0));
    right = skipCanonical(op->getOperand(1));
  }
  if (!left || !right || left.getOwner() != &body || right.getOwner() != &body)
    return std::nullopt;
  unsigned first = std::min(left.getArgNumber(), right.getArgNumber());
  if (left.getArgNumber() + right.getArgNumber() != 2 * first + 1 || first % 2 != 0)
    return std::nullopt;
  auto kind = op->getAttrOfType<StringAttr>("compare_type");
  std::optional<bool> isTotal;
  if (isa<FloatType>(getElementTypeOrSelf(left.getType())))
    isTotal = isRaw && kind && kind.getValue() == "TOTALORDER";
  return KeyComparison{first / 2, direction.getValue(), left.getArgNumber() != first, isTotal};
}

/// Adds the key of a comparison by `LT` or `GT` to `order`; false if it contradicts the keys before.
static bool addKey(Order &order, const KeyComparison &comparison) {
  bool descends = (comparison.direction == "GT") != comparison.isSwapped;
  if (comparison.direction != "LT" && comparison.direction != "GT")
    return false;
  if (!order.keys.empty() && order.descending != descends)
    return false;
  if (order.isTotal && comparison.isTotal && *order.isTotal != *comparison.isTotal)
    return false;
  order.descending = descends;
  if (comparison.isTotal)
    order.isTotal = comparison.isTotal;
  order.keys.push_back(comparison.key);
  return true;
}

/// Matches `x < x'` or `x < x' or (x = x' and rest)`, where `rest` has the same form for the next key.
static std::optional<Order> matchOrder(Block &body) {
  Order order;
  Value value = body.back().getOperand(0);
  for (;;) {
    Operation *either = value.getDefiningOp();
    bool isLast = !isNamed(either, "stablehlo.or", 2);
    std::optional<KeyComparison> less = matchKey(isLast ? value : either->getOperand(0), body);
    if (!less || !addKey(order, *less))
      return std::nullopt;
    if (isLast)
      return order;
    Operation *both = either->getOperand(1).getDefiningOp();
    if (!isNamed(both, "stablehlo.and", 2))
      return std::nullopt;
    std::optional<KeyComparison> equal = matchKey(both->getOperand(0), body);
    if (!equal || equal->key != less->key || equal->direction != "EQ")
      return std::nullopt;
    value = both->getOperand(1);
  }
}

//===----------------------------------------------------------------------===//
// Sorting
//===----------------------------------------------------------------------===//

/// Gathers the elements of `x` at `positions` along `dim`.
static Value takeAlong(net::NetBuilder &b, Value x, Value positions, int64_t dim) {
  SmallVector<int64_t> shape(net::shapeOf(positions)), others, vectors(shape);
  int64_t rank = shape.size();
  for (int64_t other = 0; other < rank; ++other)
    if (other != dim)
      others.push_back(other);
  vectors.push_back(1);
  auto dims = net::GatherDimsAttr::get(b.builder.getContext(), /*offsetDims=*/{}, /*collapsedDims=*/{dim}, others,
                                       others, /*startIndexMap=*/{dim}, /*indexVectorDim=*/rank);
  return net::GatherOp::create(b.builder, b.location, net::typeOf(x).clone(shape), x, b.reshape(positions, vectors),
                               dims, SmallVector<int64_t>(rank, 1));
}

/// Gathers `x` at `positions` along `dim`; an `x` that is its own index is not read.
static Value inOrder(net::NetBuilder &b, Value x, Value positions, int64_t dim) {
  if (isIndexAlong(x, dim))
    return b.convert(positions, net::elementTypeOf(x));
  return takeAlong(b, x, positions, dim);
}

static LogicalResult verifySort(Conversion &conversion, int64_t dim) {
  RankedTensorType first = conversion.getOperandType(0);
  if (dim < 0 || dim >= first.getRank())
    return conversion.error() << "sorts along dimension " << dim << " of a tensor of rank " << first.getRank();
  for (unsigned index = 0; index < conversion.getOp()->getNumOperands(); ++index) {
    RankedTensorType type = conversion.getOperandType(index);
    if (type.getShape() != first.getShape() || conversion.getType(index) != type)
      return conversion.error() << "sorts " << type << " into " << conversion.getType(index) << " together with "
                                << first;
  }
  return success();
}

static Converted convertSort(Conversion &conversion) {
  Operation *op = conversion.getOp();
  unsigned count = op->getNumOperands();
  if (count == 0)
    return conversion.error() << "has no operands";
  FailureOr<int64_t> dim = conversion.getInt("dimension");
  if (failed(conversion.expect(count, count)) || failed(dim) || failed(verifySort(conversion, *dim)))
    return failure();
  Block *body = getBody(conversion, 2 * count, 1);
  if (!body)
    return failure();
  std::optional<Order> order = matchOrder(*body);
  if (!order)
    return conversion.error() << "has a comparator that is not known; less or greater of the elements of operands is, "
                                 "of one after the other where they are equal, all in the same direction";
  Expression expression(conversion);
  net::NetBuilder &b = expression.build;
  SmallVector<Value> keys;
  for (unsigned key : order->keys)
    keys.push_back(op->getOperand(key));
  auto type = RankedTensorType::get(conversion.getType().getShape(), b.builder.getI32Type());
  Value positions = net::ArgSortOp::create(b.builder, op->getLoc(), type, keys, *dim, order->descending,
                                           order->isTotal.value_or(false));
  SmallVector<Value> results;
  for (Value operand : op->getOperands())
    results.push_back(inOrder(b, operand, positions, *dim));
  return results;
}

/// The `k` largest elements of the last dimension, in descending order, and their positions.
static Converted convertTopK(Conversion &conversion) {
  if (failed(conversion.expect(1, 2)))
    return failure();
  FailureOr<int64_t> count = conversion.getInt("k");
  if (failed(count))
    return failure();
  RankedTensorType type = conversion.getOperandType(0);
  int64_t rank = type.getRank();
  if (rank == 0 || *count < 0 || *count > type.getShape().back())
    return conversion.error() << "takes the " << *count << " largest of " << type;
  SmallVector<int64_t> limits(type.getShape());
  limits.back() = *count;
  Type index = conversion.getType(1).getElementType();
  if (conversion.getType(0) != type.clone(limits) || conversion.getType(1) != type.clone(limits, index) ||
      !index.isInteger(32))
    return conversion.error() << "computes " << conversion.getType(0) << " and " << conversion.getType(1) << " from "
                              << type;
  Expression expression(conversion);
  net::NetBuilder &b = expression.build;
  Value x = conversion.getOp()->getOperand(0);
  Value order = net::ArgSortOp::create(b.builder, b.location, type.clone(index), x, rank - 1, /*descending=*/true,
                                       /*total_order=*/isa<FloatType>(type.getElementType()));
  Value positions = b.slice(order, SmallVector<int64_t>(rank, 0), limits, SmallVector<int64_t>(rank, 1));
  return SmallVector<Value>{takeAlong(b, x, positions, rank - 1), positions};
}

/// Computes the exact top k in place of an approximation, by the order of the comparator.
Converted importer::convertApproxTopK(Conversion &conversion) {
  Operation *op = conversion.getOp();
  unsigned count = op->getNumResults();
  auto config = op->getAttrOfType<DictionaryAttr>("mhlo.backend_config");
  auto isWhole = config ? config.getAs<BoolAttr>("aggregate_to_topk") : BoolAttr();
  FailureOr<int64_t> dim = conversion.getIntEntry("mhlo.backend_config", "reduction_dim"),
                     most = conversion.getIntEntry("mhlo.backend_config", "top_k");
  if (failed(conversion.expectPairs()) || failed(dim) || failed(most))
    return failure();
  if (!isWhole || !isWhole.getValue())
    return conversion.error() << "of @ApproxTopK leaves as many candidates as another compiler chooses; export with "
                                 "aggregate_to_topk=True";
  RankedTensorType type = conversion.getOperandType(0);
  if (*dim < 0 || *dim >= type.getRank() || *most < 0 || *most > type.getDimSize(*dim))
    return conversion.error() << "takes the " << *most << " first along dimension " << *dim << " of " << type;
  SmallVector<int64_t> limits(type.getShape());
  limits[*dim] = *most;
  for (unsigned index = 0; index < count; ++index)
    if (conversion.getOperandType(index).getShape() != type.getShape() ||
        conversion.getType(index) != conversion.getOperandType(index).clone(limits))
      return conversion.error() << "computes " << conversion.getType(index) << " from "
                                << conversion.getOperandType(index);
  Block *body = getBody(conversion, 2 * count, 1);
  if (!body)
    return failure();
  std::optional<Order> order = matchOrder(*body);
  if (!order || order->keys.size() != 1)
    return conversion.error()
           << "of @ApproxTopK has no comparator that is known; less or greater of the elements of an "
              "operand is";
  Expression expression(conversion);
  net::NetBuilder &b = expression.build;
  Value key = op->getOperand(order->keys.front());
  Value sorted = net::ArgSortOp::create(b.builder, b.location, type.clone(b.builder.getI32Type()), key, *dim,
                                        order->descending, order->isTotal.value_or(false));
  SmallVector<int64_t> starts(type.getRank(), 0), steps(type.getRank(), 1);
  Value positions = b.slice(sorted, starts, limits, steps);
  SmallVector<Value> results;
  for (Value operand : op->getOperands().take_front(count))
    results.push_back(inOrder(b, operand, positions, *dim));
  return results;
}

void importer::addOrder(ConverterMap &converters) {
  converters["stablehlo.reverse"] = convertReverse;
  converters["stablehlo.sort"] = convertSort;
  converters["chlo.top_k"] = convertTopK;
}
