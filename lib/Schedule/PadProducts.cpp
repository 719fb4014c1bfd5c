//===- PadProducts.cpp - rows of 16-bit matrices that tensor cores can read =//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor cores of a GPU take rows that begin at multiples of 16 bytes. A vocabulary of 50,257 words has others, and a
// library multiplies them several times slower. Such a dimension gets zeros at its end, in the operands, and the result
// of the product is cut. Zeros add nothing to a sum.
//
// An operand that is computed element by element of a product that was cut, as the cotangent of the scores of a
// vocabulary, is not padded but computed of the whole product, with zeros in the place of what was cut. Its rows then
// begin where vectors may, and nothing is written twice.
//
//===----------------------------------------------------------------------===//

#include "dialects/Attributes/Attributes.h"
#include "dialects/Dist/Interfaces.h"
#include "dialects/Net/NetBuilder.h"
#include "meshwright/Schedule/Passes.h"
#include "meshwright/Support/Bytes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"
#include <array>

namespace meshwright::schedule {
#define GEN_PASS_DEF_PADPRODUCTSPASS
#include "meshwright/Schedule/Passes.h.inc"
} // namespace meshwright::schedule

using namespace mlir;
using namespace meshwright;

namespace {

/// Where rows have to begin.
constexpr int64_t kRowBytes = 16;
/// Operations per byte of padded operands and results from which on padding pays: an H200 pads and cuts at 4 TB/s, and
/// multiplies at 90 TFLOP/s what is not aligned and at 600 what is, which is even at 56.
constexpr int64_t kFlopsPerByte = 128;
/// Smaller products take less time than a launch.
constexpr int64_t kLeastFlops = int64_t(1) << 28;

/// The operands and the result of a product.
constexpr unsigned kLhs = 0, kRhs = 1, kResult = 2;

/// A dimension of a product: its size, and which dimensions of the operands and of the result it is; -1 for none.
struct Dimension {
  int64_t size;
  std::array<int64_t, 3> dims;
};

/// An expression that is computed element by element, of parts of longer values, of values that are repeated along the
/// dimensions that become longer, and of indices.
class Expression {
public:
  Expression(Value value, ArrayRef<int64_t> shape) : value(value), shape(shape) {}

  /// True if it can be computed in the longer shape, and reads a part of a value that is that long. All that is
  /// computed is read by the expression alone, and its value by products alone.
  bool canGrow();
  /// The value in the longer shape, with zeros beyond its old one.
  Value grow();

private:
  bool canGrow(Value part);
  Value grow(Value part);
  bool isLonger(unsigned dim) const { return shape[dim] != net::shapeOf(value)[dim]; }

  Value value;
  ArrayRef<int64_t> shape;
  llvm::SetVector<Operation *> computed;
  bool readsLonger = false;
  IRMapping grown;
};

class Padder {
public:
  /// Pads the dimensions of `dot` that pay; false if there are none.
  bool pad(net::DotOp dot);

private:
  SmallVector<Dimension> getDimensions(net::DotOp dot) const;
  Value getPadded(Value value, ArrayRef<int64_t> shape);

  /// Padded values, by the value and the shape. Several products read the same weights.
  DenseMap<std::pair<Value, Type>, Value> padded;
};

} // namespace

bool Expression::canGrow(Value part) {
  Operation *op = part.getDefiningOp();
  if (!op || op->getBlock() != value.getParentBlock())
    return false;
  if (auto constant = dyn_cast<net::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  if (isa<net::IotaOp>(op))
    return true;
  if (auto broadcast = dyn_cast<net::BroadcastOp>(op))
    return llvm::none_of(broadcast.getDims(), [&](int64_t dim) { return isLonger(dim); });
  if (auto slice = dyn_cast<net::SliceOp>(op)) {
    readsLonger = true;
    return llvm::all_of(slice.getStarts(), [](int64_t start) { return start == 0; }) &&
           llvm::all_of(slice.getSteps(), [](int64_t step) { return step == 1; }) &&
           llvm::all_of(llvm::zip(net::shapeOf(slice.getOperand()), shape),
                        [](auto sizes) { return std::get<0>(sizes) >= std::get<1>(sizes); });
  }
  if (!op->hasTrait<OpTrait::Elementwise>())
    return false;
  return !computed.insert(op) || llvm::all_of(op->getOperands(), [&](Value operand) { return canGrow(operand); });
}

bool Expression::canGrow() {
  if (!llvm::all_of(value.getUsers(), llvm::IsaPred<net::DotOp>) || !canGrow(value) || !readsLonger)
    return false;
  return llvm::all_of(computed, [&](Operation *op) {
    return op == value.getDefiningOp() ||
           llvm::all_of(op->getUsers(), [&](Operation *user) { return computed.contains(user); });
  });
}

Value Expression::grow(Value part) {
  if (Value known = grown.lookupOrNull(part))
    return known;
  Operation *op = part.getDefiningOp();
  OpBuilder builder(value.getDefiningOp());
  if (computed.contains(op))
    for (Value operand : op->getOperands())
      grow(operand);
  Operation *made = builder.clone(*op, grown);
  made->getResult(0).setType(net::typeOf(made->getResult(0)).clone(shape));
  if (auto constant = dyn_cast<net::ConstantOp>(made))
    constant.setValueAttr(cast<SplatElementsAttr>(constant.getValue()).resizeSplat(net::typeOf(constant)));
  if (auto slice = dyn_cast<net::SliceOp>(made)) {
    slice.setLimits(shape);
    if (slice.getOperand().getType() == slice.getType()) {
      grown.map(part, slice.getOperand());
      slice.erase();
    }
  }
  return grown.lookup(part);
}

Value Expression::grow() {
  Value longer = grow(value);
  Operation *maker = value.getDefiningOp(), *before = maker->getPrevNode();
  OpBuilder builder(maker);
  net::NetBuilder net(builder, value.getLoc());
  for (auto [dim, size] : llvm::enumerate(net::shapeOf(value))) {
    if (!isLonger(dim))
      continue;
    Value indices = net.iota(builder.getI32Type(), shape, dim);
    Value isInside = net.compare(net::CompareDirection::Lt, indices, net.splatLike(indices, size));
    longer = net.select(isInside, longer, net.splatLike(longer, 0));
  }
  for (Operation *made = maker->getPrevNode(); made != before; made = made->getPrevNode())
    made->setDiscardableAttrs(maker->getDiscardableAttrDictionary());
  return longer;
}

/// The dimensions that are not of the batch.
SmallVector<Dimension> Padder::getDimensions(net::DotOp dot) const {
  ArrayRef<int64_t> lhsShape = net::shapeOf(dot.getLhs()), rhsShape = net::shapeOf(dot.getRhs());
  SmallVector<Dimension> dimensions;
  for (auto [lhs, rhs] : llvm::zip_equal(dot.getLhsContract(), dot.getRhsContract()))
    dimensions.push_back({lhsShape[lhs], {lhs, rhs, -1}});
  auto result = static_cast<int64_t>(dot.getLhsBatch().size());
  for (int64_t dim : dot.getLhsFree())
    dimensions.push_back({lhsShape[dim], {dim, -1, result++}});
  for (int64_t dim : dot.getRhsFree())
    dimensions.push_back({rhsShape[dim], {-1, dim, result++}});
  return dimensions;
}

/// `value` with zeros at the ends of its dimensions, computed right after `value` itself or in its place, outside of
/// the loops that only read it.
Value Padder::getPadded(Value value, ArrayRef<int64_t> shape) {
  if (net::shapeOf(value) == shape)
    return value;
  Value &known = padded[{value, net::typeOf(value).clone(shape)}];
  if (Expression expression(value, shape); !known && expression.canGrow())
    known = expression.grow();
  if (!known) {
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    SmallVector<int64_t> none(shape.size(), 0), high;
    for (auto [size, old] : llvm::zip_equal(shape, net::shapeOf(value)))
      high.push_back(size - old);
    known = net::NetBuilder(builder, value.getLoc()).pad(value, 0, none, high, none);
  }
  return known;
}

bool Padder::pad(net::DotOp dot) {
  Type element = net::elementTypeOf(dot.getLhs());
  if (element.getIntOrFloatBitWidth() != 16 || !isa<FloatType>(element) || net::kSumPartsAttr.isOn(dot))
    return false;
  int64_t flops = cast<dist::CostOpInterface>(dot.getOperation()).getFlops();
  if (flops < kLeastFlops)
    return false;
  int64_t grain = kRowBytes * 8 / element.getIntOrFloatBitWidth();
  const std::array<Value, 3> values = {dot.getLhs(), dot.getRhs(), dot.getResult()};
  std::array<SmallVector<int64_t>, 3> shapes;
  for (auto [shape, value] : llvm::zip_equal(shapes, values))
    shape.assign(net::shapeOf(value).begin(), net::shapeOf(value).end());
  for (const Dimension &dimension : getDimensions(dot)) {
    bool isRow = false;
    int64_t bytes = 0;
    for (auto [dim, value] : llvm::zip_equal(dimension.dims, values))
      if (dim != -1) {
        isRow |= dim + 1 == net::typeOf(value).getRank();
        bytes += getBytes(net::typeOf(value));
      }
    if (!isRow || dimension.size % grain == 0 || flops < kFlopsPerByte * bytes)
      continue;
    for (auto [dim, shape] : llvm::zip_equal(dimension.dims, shapes))
      if (dim != -1)
        shape[dim] = static_cast<int64_t>(llvm::alignTo(dimension.size, grain));
  }
  Value lhs = getPadded(values[kLhs], shapes[kLhs]), rhs = getPadded(values[kRhs], shapes[kRhs]);
  if (lhs == values[kLhs] && rhs == values[kRhs])
    return false;
  OpBuilder builder(dot);
  auto product = net::DotOp::create(builder, dot.getLoc(), net::typeOf(dot).clone(shapes[kResult]), lhs, rhs,
                                    dot.getLhsBatch(), dot.getRhsBatch(), dot.getLhsContract(), dot.getRhsContract());
  product->setDiscardableAttrs(dot->getDiscardableAttrDictionary());
  SmallVector<int64_t> starts(shapes[kResult].size(), 0), steps(shapes[kResult].size(), 1);
  Value cut = net::NetBuilder(builder, dot.getLoc()).slice(product, starts, net::shapeOf(dot), steps);
  dot.replaceAllUsesWith(cut);
  dot.erase();
  return true;
}

namespace {

struct PadProductsPass : schedule::impl::PadProductsPassBase<PadProductsPass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      Padder padder;
      for (net::DotOp dot : llvm::make_early_inc_range(func.getOps<net::DotOp>()))
        numPadded += padder.pad(dot);
    }
  }
};

} // namespace
