//===- Order.cpp - evaluates sorting and factors of matrices --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/lib/Evaluate/Evaluate.h"
#include "llvm/ADT/bit.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::evaluate;

//===----------------------------------------------------------------------===//
// Sorting
//===----------------------------------------------------------------------===//

/// -1, 0 or 1: whether `x` is smaller than `y`, equal or larger.
template <typename T> static int compare(T x, T y) { return x < y ? -1 : x > y ? 1 : 0; }

static int compareFloats(double x, double y, bool total) {
  if (std::isnan(x) || std::isnan(y) || (x == y && total)) {
    if (!total)
      return compare(std::isnan(x), std::isnan(y));
    auto rank = [](double value) {
      int magnitude = std::isnan(value) ? 2 : 1;
      return std::signbit(value) ? -magnitude : magnitude;
    };
    return compare(rank(x), rank(y));
  }
  return compare(x, y);
}

static int compareElements(const Tensor &tensor, int64_t x, int64_t y, bool total) {
  Element left = tensor.data[x], right = tensor.data[y];
  if (tensor.isFloat())
    return compareFloats(left.f, right.f, total);
  if (tensor.isUnsigned())
    return compare(static_cast<uint64_t>(left.i), static_cast<uint64_t>(right.i));
  return compare(left.i, right.i);
}

static Tensor evaluateArgSort(net::ArgSortOp op, ArrayRef<const Tensor *> keys) {
  Tensor result(cast<RankedTensorType>(op.getResult().getType()));
  auto dim = static_cast<int64_t>(op.getDim());
  int64_t size = result.shape()[dim];
  Index lines(result.shape());
  lines[dim] = 1;
  forEachIndex(lines, [&](Shape line) {
    auto at = [&](int64_t index) {
      Index position(line);
      position[dim] = index;
      return linearize(result.shape(), position);
    };
    std::vector<int64_t> order(size);
    std::iota(order.begin(), order.end(), 0);
    llvm::sort(order, [&](int64_t left, int64_t right) {
      for (const Tensor *key : keys)
        if (int sign = compareElements(*key, at(left), at(right), op.getTotalOrder()))
          return op.getDescending() ? sign > 0 : sign < 0;
      return left < right;
    });
    for (int64_t index = 0; index < size; ++index)
      result.data[at(index)].i = wrapTo(result.type.getElementType(), order[index]);
  });
  return result;
}

//===----------------------------------------------------------------------===//
// Factors of matrices
//===----------------------------------------------------------------------===//

/// Calls `visit` for the position of the first element of every matrix.
static void forEachMatrix(const Tensor &tensor, llvm::function_ref<void(int64_t)> visit) {
  int64_t elements = tensor.shape().end()[-1] * tensor.shape().end()[-2];
  for (int64_t first = 0; first < tensor.size(); first += elements)
    visit(first);
}

/// Column by column: the column of the factor is that of what is left over its diagonal's root, and takes its own
/// product away from what is left.
static Tensor evaluateCholesky(const Tensor &x) {
  Tensor rest = x, result(x.type);
  int64_t size = x.shape().back();
  forEachMatrix(x, [&](int64_t first) {
    auto element = [&](Tensor &tensor, int64_t row, int64_t column) -> double & {
      return tensor.data[first + row * size + column].f;
    };
    for (int64_t column = 0; column < size; ++column) {
      double root = std::sqrt(element(rest, column, column));
      for (int64_t row = column; row < size; ++row)
        element(result, row, column) = element(rest, row, column) / root;
      for (int64_t row = column + 1; row < size; ++row)
        for (int64_t other = column + 1; other <= row; ++other)
          element(rest, row, other) -= element(result, row, column) * element(result, other, column);
    }
  });
  return result;
}

/// Row by row: a row that is solved is taken away from all below it.
static Tensor evaluateTriangularSolve(const Tensor &lhs, const Tensor &rhs) {
  Tensor result = rhs;
  int64_t size = lhs.shape().back(), columns = rhs.shape().back(), matrix = 0;
  forEachMatrix(rhs, [&](int64_t first) {
    int64_t lhsFirst = matrix++ * size * size;
    for (int64_t row = 0; row < size; ++row)
      for (int64_t column = 0; column < columns; ++column) {
        double &solved = result.data[first + row * columns + column].f;
        solved /= lhs.data[lhsFirst + row * size + row].f;
        for (int64_t below = row + 1; below < size; ++below)
          result.data[first + below * columns + column].f -= lhs.data[lhsFirst + below * size + row].f * solved;
      }
  });
  return result;
}

/// Rounds every element to the type of the tensor.
static Tensor rounded(Tensor tensor) {
  for (Element &element : tensor.data)
    element.f = roundTo(tensor.type.getElementType(), element.f);
  return tensor;
}

std::optional<Tensor> evaluate::evaluateOrder(Operation *op, ArrayRef<const Tensor *> operands) {
  if (auto sort = dyn_cast<net::ArgSortOp>(op))
    return evaluateArgSort(sort, operands);
  if (isa<net::CholeskyOp>(op))
    return rounded(evaluateCholesky(*operands[0]));
  if (isa<net::TriangularSolveOp>(op))
    return rounded(evaluateTriangularSolve(*operands[0], *operands[1]));
  return std::nullopt;
}
