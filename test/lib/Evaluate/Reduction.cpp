//===- Reduction.cpp - evaluates products and reductions ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reference semantics of products and reductions: plain loops over all indices, which combine elements in row-major
// order.
//
//===----------------------------------------------------------------------===//

#include "test/lib/Evaluate/Evaluate.h"
#include <cmath>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::evaluate;

static RankedTensorType resultType(Operation *op) { return cast<RankedTensorType>(op->getResult(0).getType()); }

/// The positions in a tensor of `shape` of all values of the indices of `dims`, in row-major order of these.
static std::vector<int64_t> offsets(Shape shape, ArrayRef<int64_t> dims) {
  Index strides(shape.size(), 1), sizes;
  for (int64_t dim = static_cast<int64_t>(shape.size()) - 2; dim >= 0; --dim)
    strides[dim] = strides[dim + 1] * shape[dim + 1];
  for (int64_t dim : dims)
    sizes.push_back(shape[dim]);
  std::vector<int64_t> result;
  forEachIndex(sizes, [&](Shape index) {
    int64_t offset = 0;
    for (auto [dim, at] : llvm::zip_equal(dims, index))
      offset += strides[dim] * at;
    result.push_back(offset);
  });
  return result;
}

static Tensor evaluateDot(net::DotOp op, const Tensor &lhs, const Tensor &rhs) {
  Tensor result(resultType(op));
  Type type = result.type.getElementType();
  std::vector<int64_t> leftBatch = offsets(lhs.shape(), op.getLhsBatch()),
                       leftFree = offsets(lhs.shape(), op.getLhsFree());
  std::vector<int64_t> rightBatch = offsets(rhs.shape(), op.getRhsBatch()),
                       rightFree = offsets(rhs.shape(), op.getRhsFree());
  std::vector<int64_t> leftSum = offsets(lhs.shape(), op.getLhsContract());
  std::vector<int64_t> rightSum = offsets(rhs.shape(), op.getRhsContract());
  size_t next = 0;
  for (size_t batch = 0; batch < leftBatch.size(); ++batch)
    for (int64_t left : leftFree)
      for (int64_t right : rightFree) {
        Element sum = result.data[next];
        for (size_t at = 0; at < leftSum.size(); ++at) {
          Element x = lhs.data[leftBatch[batch] + left + leftSum[at]];
          Element y = rhs.data[rightBatch[batch] + right + rightSum[at]];
          if (result.isFloat())
            sum.f += x.f * y.f;
          else
            sum.i = static_cast<int64_t>(static_cast<uint64_t>(sum.i) +
                                         static_cast<uint64_t>(x.i) * static_cast<uint64_t>(y.i));
        }
        if (result.isFloat())
          result.data[next++].f = roundTo(type, sum.f);
        else
          result.data[next++].i = wrapTo(type, sum.i);
      }
  return result;
}

static double combineFloats(ReduceKind kind, double x, double y) {
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Tree:
    return x + y;
  case ReduceKind::Product:
    return x * y;
  case ReduceKind::Max:
    return maximum(x, y);
  default:
    return minimum(x, y);
  }
}

static int64_t combineIntegers(ReduceKind kind, bool isUnsigned, int64_t x, int64_t y) {
  bool less = isUnsigned ? static_cast<uint64_t>(x) < static_cast<uint64_t>(y) : x < y;
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Tree:
    return static_cast<int64_t>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
  case ReduceKind::Product:
    return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
  case ReduceKind::Max:
    return less ? y : x;
  case ReduceKind::Min:
    return less ? x : y;
  case ReduceKind::And:
    return x & y;
  case ReduceKind::Or:
    return x | y;
  }
  llvm_unreachable("a kind of reduction");
}

Element evaluate::getNeutral(ReduceKind kind, const Tensor &x) {
  bool isFloat = x.isFloat();
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Tree:
  case ReduceKind::Or:
    return isFloat ? Element{.f = 0} : Element{.i = 0};
  case ReduceKind::Product:
    return isFloat ? Element{.f = 1} : Element{.i = 1};
  case ReduceKind::And:
    return Element{.i = wrapTo(x.type.getElementType(), -1)};
  case ReduceKind::Max:
  case ReduceKind::Min:
    break;
  }
  bool largest = kind == ReduceKind::Min;
  if (isFloat)
    return {.f = largest ? INFINITY : -INFINITY};
  unsigned width = x.type.getElementTypeBitWidth();
  if (x.isUnsigned())
    return {.i = largest ? wrapTo(x.type.getElementType(), -1) : 0};
  return {.i = largest ? llvm::maxIntN(width) : llvm::minIntN(width)};
}

Element evaluate::combineElements(ReduceKind kind, const Tensor &x, Element left, Element right) {
  if (x.isFloat())
    return {.f = combineFloats(kind, left.f, right.f)};
  return {.i = combineIntegers(kind, x.isUnsigned(), left.i, right.i)};
}

static Tensor evaluateReduce(net::ReduceOp op, const Tensor &x) {
  Tensor result(resultType(op));
  for (Element &element : result.data)
    element = getNeutral(op.getKind(), x);
  size_t next = 0;
  forEachIndex(x.shape(), [&](Shape index) {
    Index target;
    for (auto [dim, at] : llvm::enumerate(index))
      if (!llvm::is_contained(op.getDims(), static_cast<int64_t>(dim)))
        target.push_back(at);
    Element &sum = result.data[linearize(result.shape(), target)];
    sum = combineElements(op.getKind(), x, sum, x.data[next++]);
  });
  for (Element &element : result.data) {
    if (x.isFloat())
      element.f = roundTo(x.type.getElementType(), element.f);
    else
      element.i = wrapTo(x.type.getElementType(), element.i);
  }
  return result;
}

/// True if `x` is selected instead of `best`, which precedes it.
static bool isBetter(net::ArgKind kind, const Tensor &tensor, Element x, Element best) {
  if (tensor.isFloat()) {
    if (std::isnan(x.f) || std::isnan(best.f))
      return std::isnan(x.f) && !std::isnan(best.f);
    return kind == net::ArgKind::Max ? x.f > best.f : x.f < best.f;
  }
  auto less = [&](int64_t left, int64_t right) {
    return tensor.isUnsigned() ? static_cast<uint64_t>(left) < static_cast<uint64_t>(right) : left < right;
  };
  return kind == net::ArgKind::Max ? less(best.i, x.i) : less(x.i, best.i);
}

static Tensors evaluateArgReduce(net::ArgReduceOp op, const Tensor &x) {
  Tensor value(resultType(op)), index(cast<RankedTensorType>(op.getIndex().getType()));
  size_t next = 0;
  forEachIndex(x.shape(), [&](Shape at) {
    Index target(at);
    int64_t position = target[op.getDim()];
    target.erase(target.begin() + op.getDim());
    int64_t found = linearize(value.shape(), target);
    Element element = x.data[next++];
    if (position == 0 || isBetter(op.getKind(), x, element, value.data[found])) {
      value.data[found] = element;
      index.data[found].i = wrapTo(index.type.getElementType(), position);
    }
  });
  return {std::move(value), std::move(index)};
}

std::optional<Tensors> evaluate::evaluateReduction(Operation *op, ArrayRef<const Tensor *> operands) {
  return TypeSwitch<Operation *, std::optional<Tensors>>(op)
      .Case([&](net::DotOp op) { return Tensors{evaluateDot(op, *operands[0], *operands[1])}; })
      .Case([&](net::ReduceOp op) { return Tensors{evaluateReduce(op, *operands[0])}; })
      .Case([&](net::ArgReduceOp op) { return evaluateArgReduce(op, *operands[0]); })
      .Default(std::nullopt);
}
