//===- Window.cpp - evaluates convolutions and sliding windows ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reference semantics of convolution and pooling: plain loops over places, window elements and features, by the
// position formula of dialects/Net/Window.h.
//
//===----------------------------------------------------------------------===//

#include "test/lib/Evaluate/Evaluate.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::evaluate;

static RankedTensorType resultType(Operation *op) { return cast<RankedTensorType>(op->getResult(0).getType()); }

/// The index that element `element` of the window at place `place` stands on; nothing where that is a gap.
static std::optional<int64_t> findIndex(const net::WindowDim &window, int64_t extent, int64_t place, int64_t element) {
  int64_t position = place * window.stride + element * window.windowDilation - window.low;
  if (position < 0 || position % window.baseDilation != 0 || position / window.baseDilation >= extent)
    return std::nullopt;
  return position / window.baseDilation;
}

/// Adds the product of two elements.
static void addProduct(bool isFloat, Element &sum, Element x, Element y) {
  if (isFloat)
    sum.f += x.f * y.f;
  else
    sum.i =
        static_cast<int64_t>(static_cast<uint64_t>(sum.i) + static_cast<uint64_t>(x.i) * static_cast<uint64_t>(y.i));
}

/// One element of a convolution: the sum over all elements of its kernel and over the features of its group.
static Element convolveAt(net::ConvolutionOp op, const Tensor &lhs, const Tensor &rhs, Shape at) {
  net::ConvolutionDimsAttr dims = op.getDims();
  int64_t batch = at[dims.getOutBatch()], output = at[dims.getOutFeature()];
  int64_t outputs = rhs.shape()[dims.getRhsOutput()], inputs = rhs.shape()[dims.getRhsInput()];
  int64_t batches = lhs.shape()[dims.getLhsBatch()] / static_cast<int64_t>(op.getBatchGroups());
  int64_t featureGroup = output / (outputs / static_cast<int64_t>(op.getGroups()));
  int64_t batchGroup = output / (outputs / static_cast<int64_t>(op.getBatchGroups()));
  Index kernel;
  for (int64_t dim : dims.getRhsSpatial())
    kernel.push_back(rhs.shape()[dim]);
  kernel.push_back(inputs);
  bool isFloat = isa<FloatType>(resultType(op).getElementType());
  Element sum = isFloat ? Element{.f = 0} : Element{.i = 0};
  forEachIndex(kernel, [&](Shape element) {
    Index left(lhs.shape().size()), right(rhs.shape().size());
    for (auto [index, dim] : llvm::enumerate(dims.getLhsSpatial())) {
      net::WindowDim window = op.getWindow(index);
      std::optional<int64_t> found =
          findIndex(window, lhs.shape()[dim], at[dims.getOutSpatial()[index]], element[index]);
      if (!found)
        return;
      left[dim] = *found;
      right[dims.getRhsSpatial()[index]] = op.getReversed()[index] ? window.size - 1 - element[index] : element[index];
    }
    left[dims.getLhsBatch()] = batchGroup * batches + batch;
    left[dims.getLhsFeature()] = featureGroup * inputs + element.back();
    right[dims.getRhsInput()] = element.back();
    right[dims.getRhsOutput()] = output;
    addProduct(isFloat, sum, lhs.data[linearize(lhs.shape(), left)], rhs.data[linearize(rhs.shape(), right)]);
  });
  return sum;
}

static Tensor evaluateConvolution(net::ConvolutionOp op, const Tensor &lhs, const Tensor &rhs) {
  Tensor result(resultType(op));
  Type type = result.type.getElementType();
  size_t next = 0;
  forEachIndex(result.shape(), [&](Shape at) {
    Element sum = convolveAt(op, lhs, rhs, at);
    if (result.isFloat())
      result.data[next++].f = roundTo(type, sum.f);
    else
      result.data[next++].i = wrapTo(type, sum.i);
  });
  return result;
}

/// Calls `visit` with the position in `x` of every element that the window at `place` shows, in row-major order.
template <typename OpT>
static void forEachShown(OpT op, const Tensor &x, Shape place, llvm::function_ref<void(int64_t)> visit) {
  forEachIndex(op.getSizes(), [&](Shape element) {
    Index index;
    for (size_t dim = 0; dim < place.size(); ++dim) {
      std::optional<int64_t> found = findIndex(op.getWindow(dim), x.shape()[dim], place[dim], element[dim]);
      if (!found)
        return;
      index.push_back(*found);
    }
    visit(linearize(x.shape(), index));
  });
}

static Tensor evaluateReduceWindow(net::ReduceWindowOp op, const Tensor &x) {
  Tensor result(resultType(op));
  size_t next = 0;
  forEachIndex(result.shape(), [&](Shape place) {
    Element sum = getNeutral(op.getKind(), x);
    forEachShown(op, x, place, [&](int64_t at) { sum = combineElements(op.getKind(), x, sum, x.data[at]); });
    if (x.isFloat())
      sum.f = roundTo(x.type.getElementType(), sum.f);
    else
      sum.i = wrapTo(x.type.getElementType(), sum.i);
    result.data[next++] = sum;
  });
  return result;
}

/// True if the search moves on from `held` to `x`.
static bool goesOn(net::ArgKind kind, const Tensor &tensor, Element held, Element x) {
  bool isMax = kind == net::ArgKind::Max;
  if (tensor.isFloat())
    return isMax ? !(held.f >= x.f) : !(held.f <= x.f);
  if (tensor.isUnsigned()) {
    auto left = static_cast<uint64_t>(held.i), right = static_cast<uint64_t>(x.i);
    return isMax ? left < right : left > right;
  }
  return isMax ? held.i < x.i : held.i > x.i;
}

static Tensor evaluateSelectAndScatter(net::SelectAndScatterOp op, const Tensor &x, const Tensor &source) {
  Tensor result(resultType(op));
  Type type = result.type.getElementType();
  size_t next = 0;
  forEachIndex(source.shape(), [&](Shape place) {
    std::optional<int64_t> found;
    forEachShown(op, x, place, [&](int64_t at) {
      if (!found || goesOn(op.getKind(), x, x.data[*found], x.data[at]))
        found = at;
    });
    Element addend = source.data[next++];
    if (found)
      result.data[*found] = combineElements(ReduceKind::Sum, x, result.data[*found], addend);
  });
  for (Element &element : result.data) {
    if (x.isFloat())
      element.f = roundTo(type, element.f);
    else
      element.i = wrapTo(type, element.i);
  }
  return result;
}

std::optional<Tensor> evaluate::evaluateWindow(Operation *op, ArrayRef<const Tensor *> operands) {
  return TypeSwitch<Operation *, std::optional<Tensor>>(op)
      .Case([&](net::ConvolutionOp op) { return evaluateConvolution(op, *operands[0], *operands[1]); })
      .Case([&](net::ReduceWindowOp op) { return evaluateReduceWindow(op, *operands[0]); })
      .Case([&](net::SelectAndScatterOp op) { return evaluateSelectAndScatter(op, *operands[0], *operands[1]); })
      .Default(std::nullopt);
}
