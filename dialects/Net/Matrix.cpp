//===- Matrix.cpp - verifiers of linear algebra ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/Net.h"

using namespace mlir;
using namespace meshwright::net;

/// Checks that the last two dimensions of `type` are square matrices.
static LogicalResult verifySquare(Operation *op, RankedTensorType type) {
  if (type.getRank() >= 2 && type.getShape().end()[-1] == type.getShape().end()[-2])
    return success();
  return op->emitOpError() << "has " << type << ", whose last two dimensions are not square matrices";
}

LogicalResult CholeskyOp::verify() {
  // cholesky_c1
  return verifySquare(*this, getOperand().getType());
}

LogicalResult TriangularSolveOp::verify() {
  RankedTensorType lhs = getLhs().getType(), rhs = getRhs().getType();
  // triangular_solve_c1
  if (failed(verifySquare(*this, lhs)))
    return failure();
  // triangular_solve_c2
  if (lhs.getElementType() != rhs.getElementType() || lhs.getRank() != rhs.getRank() ||
      lhs.getShape().drop_back() != rhs.getShape().drop_back())
    return emitOpError() << "solves " << lhs << " for " << rhs;
  return success();
}
