//===- Matrix.cpp - kernels of factors of matrices ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Row by row, each element by a sum over what is known already; sums of 16-bit floats are taken in f32.
//
//===----------------------------------------------------------------------===//

#include "Loops.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;
using namespace meshwright::net;

namespace {

/// Elements of one matrix of a batch.
struct Matrix {
  ValueRange batch;
  Type wide;

  SmallVector<Value> at(Value row, Value column) const {
    SmallVector<Value> position(batch);
    position.append({row, column});
    return position;
  }
  Value read(kernel::Builder &builder, Value tensor, Value row, Value column) const {
    return kernel::convertFloat(builder, tensor::ExtractOp::create(builder, tensor, at(row, column)), wide);
  }
  Value write(kernel::Builder &builder, Value tensor, Value value, Value row, Value column) const {
    Value element = kernel::convertFloat(builder, value, kernel::elementOf(tensor));
    return tensor::InsertOp::create(builder, element, tensor, at(row, column));
  }
};

/// `start` less the sum of `product(k)` over all k below `count`.
Value subtractProducts(kernel::Builder &builder, Value start, Value count,
                       function_ref<std::pair<Value, Value>(kernel::Builder &, Value)> factors) {
  return kernel::loop(builder, kernel::index(builder, 0), count, start,
                      [&](kernel::Builder &inner, Value k, Value sum) -> Value {
                        auto [left, right] = factors(inner, k);
                        return arith::SubFOp::create(inner, sum, arith::MulFOp::create(inner, left, right));
                      });
}

/// L[i,j] = (A[i,j] - Σ L[i,k] L[j,k]) / L[j,j] for k < j < i, and the root of it where i = j.
struct CholeskyKernel : KernelOpInterface::ExternalModel<CholeskyKernel, CholeskyOp> {
  kernel::Results lowerToLinalg(Operation *op, OpBuilder &outer, ValueRange operands) const {
    kernel::Builder builder(op->getLoc(), outer);
    RankedTensorType type = kernel::typeOf(operands[0]);
    Value zero = kernel::constant(builder, type.getElementType(), 0);
    Value empty = tensor::EmptyOp::create(builder, type.getShape(), type.getElementType());
    Value factor = linalg::FillOp::create(builder, zero, empty).getResult(0);
    // One matrix for every index of the batch, one row after the other.
    SmallVector<int64_t> rows(type.getShape().drop_back());
    return SmallVector<Value>{
        kernel::loopOver(builder, rows, factor, [&](kernel::Builder &inner, ValueRange position, Value carried) {
          Matrix matrix{position.drop_back(), kernel::getAccumulator(type.getElementType())};
          return writeRow(inner, matrix, operands[0], position.back(), carried);
        })};
  }

  static Value writeRow(kernel::Builder &builder, const Matrix &matrix, Value source, Value row, Value factor) {
    Value zero = kernel::index(builder, 0);
    factor = kernel::loop(builder, zero, row, factor, [&](kernel::Builder &inner, Value column, Value carried) {
      Value rest = getRest(inner, matrix, source, row, column, carried);
      Value element = arith::DivFOp::create(inner, rest, matrix.read(inner, carried, column, column));
      return matrix.write(inner, carried, element, row, column);
    });
    Value rest = getRest(builder, matrix, source, row, row, factor);
    return matrix.write(builder, factor, math::SqrtOp::create(builder, rest), row, row);
  }

  static Value getRest(kernel::Builder &builder, const Matrix &matrix, Value source, Value row, Value column,
                       Value factor) {
    return subtractProducts(
        builder, matrix.read(builder, source, row, column), column, [&](kernel::Builder &inner, Value k) {
          return std::pair(matrix.read(inner, factor, row, k), matrix.read(inner, factor, column, k));
        });
  }
};

/// X[i,c] = (B[i,c] - Σ A[i,k] X[k,c]) / A[i,i] for k < i.
struct TriangularSolveKernel : KernelOpInterface::ExternalModel<TriangularSolveKernel, TriangularSolveOp> {
  kernel::Results lowerToLinalg(Operation *op, OpBuilder &outer, ValueRange operands) const {
    kernel::Builder builder(op->getLoc(), outer);
    RankedTensorType type = kernel::typeOf(operands[1]);
    Value lhs = operands[0];
    return SmallVector<Value>{kernel::loopOver(
        builder, type.getShape(), operands[1], [&](kernel::Builder &inner, ValueRange position, Value carried) {
          Matrix matrix{position.drop_back(2), kernel::getAccumulator(type.getElementType())};
          Value row = position.end()[-2], column = position.back();
          Value rest = subtractProducts(
              inner, matrix.read(inner, carried, row, column), row, [&](kernel::Builder &nested, Value k) {
                return std::pair(matrix.read(nested, lhs, row, k), matrix.read(nested, carried, k, column));
              });
          Value element = arith::DivFOp::create(inner, rest, matrix.read(inner, lhs, row, row));
          return matrix.write(inner, carried, element, row, column);
        })};
  }
};

} // namespace

void kernel::registerMatrix(MLIRContext *context) {
  CholeskyOp::attachInterface<CholeskyKernel>(*context);
  TriangularSolveOp::attachInterface<TriangularSolveKernel>(*context);
}
