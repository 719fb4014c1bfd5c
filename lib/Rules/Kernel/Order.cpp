//===- Order.cpp - the kernel of sorting ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The indices of every line are sorted in place by Batcher's merge exchange (Knuth, The Art of Computer Programming,
// volume 3, 5.2.2 M): comparisons in an order that is the same for all data, n log² n of them, and no memory beside the
// result. That an index is smaller decides between elements that are equal, so that they stay in their order.
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"
#include "Loops.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::net;
using Predicate = mlir::arith::CmpIPredicate;

namespace {

/// Sorts the indices along one dimension of the keys of one operation.
class Sorter {
public:
  Sorter(ArgSortOp op, ValueRange keys)
      : op(op), keys(keys), dim(op.getDim()), size(kernel::shapeOf(keys.front())[dim]),
        rounds(static_cast<int64_t>(llvm::Log2_64_Ceil(size))) {}

  /// Sorts the line of `indices` that goes through `position`.
  Value sortLine(kernel::Builder &builder, ValueRange position, Value indices);

private:
  Value exchange(kernel::Builder &builder, ValueRange position, Value first, Value second, Value indices);
  Value comesFirst(kernel::Builder &builder, ValueRange position, Value left, Value right);
  Value compareKeys(kernel::Builder &builder, Type type, Value left, Value right, Value &equal);
  SmallVector<Value> at(ValueRange position, Value index);

  ArgSortOp op;
  ValueRange keys;
  int64_t dim, size, rounds;
};

} // namespace

/// `position` with `index` in the sorted dimension.
SmallVector<Value> Sorter::at(ValueRange position, Value index) {
  SmallVector<Value> indices(position);
  indices[dim] = index;
  return indices;
}

/// Distances p fall from the largest power of two below the size to 1. For each, pairs at distance p whose lower index
/// lacks bit p are compared, and then, for q from that largest power down to p, pairs at distance q − p whose lower
/// index has it.
Value Sorter::sortLine(kernel::Builder &builder, ValueRange position, Value indices) {
  Value zero = kernel::index(builder, 0), one = kernel::index(builder, 1), last = kernel::index(builder, rounds - 1);
  auto power = [&](kernel::Builder &inner, Value by) { return arith::ShLIOp::create(inner, one, by).getResult(); };
  return kernel::loop(
      builder, zero, kernel::index(builder, rounds), indices, [&](kernel::Builder &outer, Value round, Value carried) {
        Value p = power(outer, arith::SubIOp::create(outer, last, round));
        Value steps = arith::AddIOp::create(outer, round, one);
        return kernel::loop(outer, zero, steps, carried, [&](kernel::Builder &middle, Value step, Value carried) {
          Value isFirst = arith::CmpIOp::create(middle, Predicate::eq, step, zero);
          Value q = power(middle, arith::SubIOp::create(middle, kernel::index(middle, rounds), step));
          Value distance = arith::SelectOp::create(middle, isFirst, p, arith::SubIOp::create(middle, q, p));
          Value bit = arith::SelectOp::create(middle, isFirst, zero, p);
          Value size = kernel::index(middle, this->size);
          Value pairs = arith::MaxSIOp::create(middle, arith::SubIOp::create(middle, size, distance), zero);
          return kernel::loop(middle, zero, pairs, carried, [&](kernel::Builder &inner, Value lower, Value carried) {
            Value has = arith::AndIOp::create(inner, lower, p);
            Value meets = arith::CmpIOp::create(inner, Predicate::eq, has, bit);
            return kernel::doIf(inner, meets, carried, [&](kernel::Builder &then) {
              return exchange(then, position, lower, arith::AddIOp::create(then, lower, distance), carried);
            });
          });
        });
      });
}

/// Swaps the indices at `first` and `second` of the line if they are in the wrong order.
Value Sorter::exchange(kernel::Builder &builder, ValueRange position, Value first, Value second, Value indices) {
  SmallVector<Value> atFirst = at(position, first), atSecond = at(position, second);
  Value left = tensor::ExtractOp::create(builder, indices, atFirst);
  Value right = tensor::ExtractOp::create(builder, indices, atSecond);
  Value swaps = comesFirst(builder, position, right, left);
  return kernel::doIf(builder, swaps, indices, [&](kernel::Builder &then) -> Value {
    Value half = tensor::InsertOp::create(then, right, indices, atFirst);
    return tensor::InsertOp::create(then, left, half, atSecond);
  });
}

/// True if the element of index `left` comes before that of index `right`.
Value Sorter::comesFirst(kernel::Builder &builder, ValueRange position, Value left, Value right) {
  auto toIndex = [&](Value value) -> Value {
    return arith::IndexCastUIOp::create(builder, builder.getIndexType(), value);
  };
  SmallVector<Value> atLeft = at(position, toIndex(left)), atRight = at(position, toIndex(right));
  // From the last key to the first, each of which decides where it differs.
  Value first = arith::CmpIOp::create(builder, Predicate::ult, left, right);
  for (auto [key, value] : llvm::reverse(llvm::zip_equal(op.getKeys(), keys))) {
    Value equal, lhs = tensor::ExtractOp::create(builder, value, atLeft);
    Value rhs = tensor::ExtractOp::create(builder, value, atRight);
    Value before = compareKeys(builder, kernel::elementOf(key), lhs, rhs, equal);
    first = arith::SelectOp::create(builder, equal, first, before);
  }
  return first;
}

/// True if key `left` comes before key `right`; sets `equal` if neither does.
Value Sorter::compareKeys(kernel::Builder &builder, Type type, Value left, Value right, Value &equal) {
  bool isUnsigned = kernel::isUnsigned(type);
  if (isa<FloatType>(type)) {
    left = kernel::getOrderKey(builder, left, op.getTotalOrder());
    right = kernel::getOrderKey(builder, right, op.getTotalOrder());
  }
  if (op.getDescending())
    std::swap(left, right);
  equal = arith::CmpIOp::create(builder, Predicate::eq, left, right);
  return arith::CmpIOp::create(builder, isUnsigned ? Predicate::ult : Predicate::slt, left, right);
}

namespace {

struct ArgSortKernel : KernelOpInterface::ExternalModel<ArgSortKernel, ArgSortOp> {
  kernel::Results lowerToLinalg(Operation *op, OpBuilder &outer, ValueRange operands) const {
    auto sort = cast<ArgSortOp>(op);
    kernel::Builder builder(op->getLoc(), outer);
    RankedTensorType type = kernel::getSignless(kernel::typeOf(op->getResult(0)));
    auto dim = static_cast<int64_t>(sort.getDim());
    Value indices = kernel::mapElements(builder, type, {}, [&](kernel::Builder &inner, ValueRange) -> Value {
      return arith::IndexCastOp::create(inner, type.getElementType(), linalg::IndexOp::create(inner, dim));
    });
    if (type.getNumElements() == 0 || type.getDimSize(dim) < 2)
      return SmallVector<Value>{indices};
    Sorter sorter(sort, operands);
    // One line for every index of the other dimensions.
    SmallVector<int64_t> lines(type.getShape());
    lines[dim] = 1;
    return SmallVector<Value>{
        kernel::loopOver(builder, lines, indices, [&](kernel::Builder &inner, ValueRange position, Value carried) {
          return sorter.sortLine(inner, position, carried);
        })};
  }
};

} // namespace

void kernel::registerOrder(MLIRContext *context) { ArgSortOp::attachInterface<ArgSortKernel>(*context); }
