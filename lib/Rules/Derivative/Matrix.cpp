//===- Matrix.cpp - derivatives of factors of matrices --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attach.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;
using namespace meshwright::net::derivative;

namespace {

/// Expressions of matrices in the last two dimensions of tensors.
class Matrices {
public:
  Matrices(NetBuilder &build, Value like) : build(build), rank(typeOf(like).getRank()) {}

  Value transpose(Value x);
  /// x y, or x yᵀ.
  Value product(Value x, Value y, bool transposed = false);
  /// The lower triangle of square matrices, with `diagonal` of the diagonal itself; zeros above.
  Value lowerTriangle(Value x, double diagonal = 1);
  /// The solution of lhsᵀ x = rhs, for lower triangular `lhs`: with rows and columns in the opposite order the
  /// transposed matrix is lower triangular again.
  Value solveTransposed(Value lhs, Value rhs);

private:
  NetBuilder &build;
  int64_t rank;
};

} // namespace

Value Matrices::transpose(Value x) {
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(order[rank - 2], order[rank - 1]);
  return build.transpose(x, order);
}

Value Matrices::product(Value x, Value y, bool transposed) {
  auto batch = llvm::to_vector(llvm::seq<int64_t>(0, rank - 2));
  return build.dot(x, y, batch, batch, {rank - 1}, {transposed ? rank - 1 : rank - 2}, elementTypeOf(x));
}

Value Matrices::lowerTriangle(Value x, double diagonal) {
  Type i32 = build.builder.getI32Type();
  Value row = build.iota(i32, shapeOf(x), rank - 2), column = build.iota(i32, shapeOf(x), rank - 1);
  Value below = build.select(build.compare(CompareDirection::Gt, row, column), x, build.splatLike(x, 0));
  Value on = diagonal == 1 ? x : build.scale(x, diagonal);
  return build.select(build.compare(CompareDirection::Eq, row, column), on, below);
}

Value Matrices::solveTransposed(Value lhs, Value rhs) {
  Value turned = build.reverse(transpose(lhs), {rank - 2, rank - 1});
  Value solved =
      TriangularSolveOp::create(build.builder, build.location, rhs.getType(), turned, build.reverse(rhs, {rank - 2}));
  return build.reverse(solved, {rank - 2});
}

/// With X = A⁻¹ B the cotangents are A⁻ᵀ X̄ of B, and of A the lower triangle of that times −Xᵀ.
static FailureOr<Cotangents> differentiateTriangularSolve(TriangularSolveOp op, Context c) {
  Matrices m(c.build, op.getLhs());
  Value rhs = m.solveTransposed(op.getLhs(), c.cotangent);
  Value lhs;
  if (c.wanted.test(0))
    lhs = c.build.negate(m.lowerTriangle(m.product(rhs, op.getResult(), /*transposed=*/true)));
  return Cotangents{lhs, rhs};
}

/// With A = L Lᵀ and S the lower triangle of Lᵀ L̄, its diagonal halved, the cotangent of A is L⁻ᵀ S L⁻¹, of which a
/// symmetric half belongs to either triangle; what is above the diagonal of A is not read, and gets nothing.
static FailureOr<Cotangents> differentiateCholesky(CholeskyOp op, Context c) {
  Matrices m(c.build, op.getOperand());
  Value factor = op.getResult();
  Value inner = m.lowerTriangle(m.product(m.transpose(factor), c.cotangent), 0.5);
  Value left = m.solveTransposed(factor, inner);
  Value full = m.transpose(m.solveTransposed(factor, m.transpose(left)));
  Value symmetric = c.build.add(full, m.transpose(full));
  return Cotangents{m.lowerTriangle(symmetric, 0.5)};
}

void derivative::attachMatrix(MLIRContext *context) {
  attach<CholeskyOp, differentiateCholesky>(context);
  attach<TriangularSolveOp, differentiateTriangularSolve>(context);
}
