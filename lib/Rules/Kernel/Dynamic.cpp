//===- Dynamic.cpp - kernels of boxes at run-time places ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Indexing.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::net;

/// The clamped start of a box of `boxSize` along a dimension of `size`; null if it spans the whole dimension.
static Value getStart(kernel::Builder &builder, Value start, bool isUnsigned, int64_t size, int64_t boxSize) {
  if (size == boxSize)
    return {};
  Value zero = arith::ConstantIndexOp::create(builder, 0),
        last = arith::ConstantIndexOp::create(builder, size - boxSize);
  Value index = arith::MaxSIOp::create(builder, kernel::toIndex(builder, start, isUnsigned), zero);
  return arith::MinSIOp::create(builder, index, last);
}

/// The map that reads a scalar everywhere, once per input.
static SmallVector<AffineMap> readScalars(kernel::Builder &builder, int64_t rank, size_t count) {
  return SmallVector<AffineMap>(count, AffineMap::get(rank, 0, {}, builder.getContext()));
}

static bool areUnsigned(OperandRange starts) {
  return !starts.empty() && kernel::isUnsigned(kernel::elementOf(starts.front()));
}

namespace {

struct DynamicSliceKernel : KernelOpInterface::ExternalModel<DynamicSliceKernel, DynamicSliceOp> {
  kernel::Results lowerToLinalg(Operation *op, OpBuilder &outer, ValueRange operands) const {
    auto slice = cast<DynamicSliceOp>(op);
    kernel::Builder builder(op->getLoc(), outer);
    RankedTensorType result = kernel::getSignless(kernel::typeOf(op->getResult(0)));
    if (result.getNumElements() == 0)
      return SmallVector<Value>{tensor::EmptyOp::create(builder, result.getShape(), result.getElementType())};
    bool isUnsigned = areUnsigned(slice.getStarts());
    auto body = [&](kernel::Builder &inner, ValueRange starts) -> Value {
      SmallVector<Value> position;
      for (auto [dim, size, boxSize] : llvm::enumerate(kernel::shapeOf(operands[0]), result.getShape())) {
        Value index = linalg::IndexOp::create(inner, dim);
        if (Value start = getStart(inner, starts[dim], isUnsigned, size, boxSize))
          index = arith::AddIOp::create(inner, start, index);
        position.push_back(index);
      }
      return tensor::ExtractOp::create(inner, operands[0], position);
    };
    ValueRange starts = operands.drop_front();
    return SmallVector<Value>{
        kernel::mapElements(builder, result, starts, readScalars(builder, result.getRank(), starts.size()), body)};
  }
};

/// Reads the box, clamped, at every element, and keeps what it reads inside the box.
struct DynamicUpdateSliceKernel : KernelOpInterface::ExternalModel<DynamicUpdateSliceKernel, DynamicUpdateSliceOp> {
  kernel::Results lowerToLinalg(Operation *op, OpBuilder &outer, ValueRange operands) const {
    auto update = cast<DynamicUpdateSliceOp>(op);
    kernel::Builder builder(op->getLoc(), outer);
    RankedTensorType result = kernel::getSignless(kernel::typeOf(op->getResult(0)));
    AffineMap identity = builder.getMultiDimIdentityMap(result.getRank());
    if (kernel::typeOf(operands[1]).getNumElements() == 0)
      return SmallVector<Value>{kernel::moveElements(builder, result, operands[0], identity)};
    bool isUnsigned = areUnsigned(update.getStarts());
    auto body = [&](kernel::Builder &inner, ValueRange args) -> Value {
      Value inside;
      SmallVector<Value> position;
      for (auto [dim, size, boxSize] : llvm::enumerate(result.getShape(), kernel::shapeOf(operands[1]))) {
        Value index = linalg::IndexOp::create(inner, dim);
        if (Value start = getStart(inner, args[dim + 1], isUnsigned, size, boxSize)) {
          index = arith::SubIOp::create(inner, index, start);
          index = clampInto(inner, index, boxSize, inside);
        }
        position.push_back(index);
      }
      Value element = tensor::ExtractOp::create(inner, operands[1], position);
      return inside ? arith::SelectOp::create(inner, inside, element, args[0]).getResult() : element;
    };
    SmallVector<Value> inputs{operands[0]};
    llvm::append_range(inputs, operands.drop_front(2));
    SmallVector<AffineMap> maps = readScalars(builder, result.getRank(), inputs.size());
    maps.front() = identity;
    return SmallVector<Value>{kernel::mapElements(builder, result, inputs, maps, body)};
  }

  /// `index` clamped into the box; `inside` gathers whether it had to be.
  static Value clampInto(kernel::Builder &builder, Value index, int64_t boxSize, Value &inside) {
    Value zero = arith::ConstantIndexOp::create(builder, 0),
          last = arith::ConstantIndexOp::create(builder, boxSize - 1);
    Value clamped = arith::MinSIOp::create(builder, arith::MaxSIOp::create(builder, index, zero), last);
    Value fits = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, clamped, index);
    inside = inside ? arith::AndIOp::create(builder, inside, fits).getResult() : fits;
    return clamped;
  }
};

} // namespace

void kernel::registerDynamic(MLIRContext *context) {
  DynamicSliceOp::attachInterface<DynamicSliceKernel>(*context);
  DynamicUpdateSliceOp::attachInterface<DynamicUpdateSliceKernel>(*context);
}
