//===- Layout.cpp - evaluates operations that make and move elements ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/lib/Evaluate/Evaluate.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::evaluate;

static RankedTensorType resultType(Operation *op) { return cast<RankedTensorType>(op->getResult(0).getType()); }

/// Every element is the one of `from` at the index that `source` makes of its own.
static Tensor rearrange(RankedTensorType type, const Tensor &from, llvm::function_ref<Index(Shape)> source) {
  Tensor result(type);
  size_t next = 0;
  forEachIndex(type.getShape(),
               [&](Shape index) { result.data[next++] = from.data[linearize(from.shape(), source(index))]; });
  return result;
}

static Tensor evaluateIota(net::IotaOp op) {
  Tensor result(resultType(op));
  Type type = result.type.getElementType();
  size_t next = 0;
  forEachIndex(result.shape(), [&](Shape index) {
    int64_t at = index[op.getDim()];
    Element &element = result.data[next++];
    if (result.isFloat())
      element.f = roundTo(type, static_cast<double>(at));
    else
      element.i = wrapTo(type, at);
  });
  return result;
}

static Tensor evaluateBroadcast(net::BroadcastOp op, const Tensor &x) {
  return rearrange(resultType(op), x, [&](Shape index) {
    Index source;
    for (int64_t dim : op.getDims())
      source.push_back(index[dim]);
    return source;
  });
}

static Tensor evaluateTranspose(net::TransposeOp op, const Tensor &x) {
  return rearrange(resultType(op), x, [&](Shape index) {
    Index source(index.size());
    for (auto [position, dim] : llvm::enumerate(op.getPermutation()))
      source[dim] = index[position];
    return source;
  });
}

static Tensor evaluateReverse(net::ReverseOp op, const Tensor &x) {
  return rearrange(resultType(op), x, [&](Shape index) {
    Index source(index);
    for (int64_t dim : op.getDims())
      source[dim] = x.shape()[dim] - 1 - index[dim];
    return source;
  });
}

static Tensor evaluateSlice(net::SliceOp op, const Tensor &x) {
  return rearrange(resultType(op), x, [&](Shape index) {
    Index source;
    for (auto [dim, at] : llvm::enumerate(index))
      source.push_back(op.getStarts()[dim] + at * op.getSteps()[dim]);
    return source;
  });
}

static Tensor evaluatePad(net::PadOp op, const Tensor &x, const Tensor &value) {
  Tensor result(resultType(op));
  for (Element &element : result.data)
    element = value.data.front();
  size_t next = 0;
  forEachIndex(x.shape(), [&](Shape index) {
    Index target;
    bool inside = true;
    for (auto [dim, at] : llvm::enumerate(index)) {
      target.push_back(op.getLow()[dim] + at * (op.getInterior()[dim] + 1));
      inside &= target.back() >= 0 && target.back() < result.shape()[dim];
    }
    if (inside)
      result.data[linearize(result.shape(), target)] = x.data[next];
    ++next;
  });
  return result;
}

static Tensor evaluateConcatenate(net::ConcatenateOp op, ArrayRef<const Tensor *> operands) {
  Tensor result(resultType(op));
  int64_t offset = 0;
  for (const Tensor *operand : operands) {
    size_t next = 0;
    forEachIndex(operand->shape(), [&](Shape index) {
      Index target(index);
      target[op.getDim()] += offset;
      result.data[linearize(result.shape(), target)] = operand->data[next++];
    });
    offset += operand->shape()[op.getDim()];
  }
  return result;
}

static Tensor evaluateReshape(net::ReshapeOp op, const Tensor &x) {
  Tensor result = x;
  result.type = resultType(op);
  return result;
}

std::optional<Tensor> evaluate::evaluateLayout(Operation *op, ArrayRef<const Tensor *> operands) {
  return TypeSwitch<Operation *, std::optional<Tensor>>(op)
      .Case([&](net::ConstantOp op) { return Tensor::fromAttribute(cast<DenseElementsAttr>(op.getValue())); })
      .Case([&](net::IotaOp op) { return evaluateIota(op); })
      .Case([&](net::BroadcastOp op) { return evaluateBroadcast(op, *operands[0]); })
      .Case([&](net::ReshapeOp op) { return evaluateReshape(op, *operands[0]); })
      .Case([&](net::TransposeOp op) { return evaluateTranspose(op, *operands[0]); })
      .Case([&](net::ReverseOp op) { return evaluateReverse(op, *operands[0]); })
      .Case([&](net::SliceOp op) { return evaluateSlice(op, *operands[0]); })
      .Case([&](net::PadOp op) { return evaluatePad(op, *operands[0], *operands[1]); })
      .Case([&](net::ConcatenateOp op) { return evaluateConcatenate(op, operands); })
      .Default(std::nullopt);
}
