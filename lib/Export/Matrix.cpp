//===- Matrix.cpp - forms of factors of matrices --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Forms.h"
#include "dialects/Net/Net.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::exporter;

/// StableHLO leaves the elements above the diagonal open; here they are zero.
static Terms writeCholesky(net::CholeskyOp op, Writer &writer) {
  Term operand = writer.get(op.getOperand());
  Term factor = writer.op("stablehlo.cholesky", operand, operand.type, ", lower = true");
  int64_t rank = operand.type.getRank();
  Type i32 = IntegerType::get(op.getContext(), 32);
  Term row = writer.iota(i32, operand.getShape(), rank - 2), column = writer.iota(i32, operand.getShape(), rank - 1);
  Term isLower = writer.compare("GE", row, column);
  return {writer.select(isLower, factor, writer.splat(operand.getElementType(), 0, operand.getShape()))};
}

static Terms writeTriangularSolve(net::TriangularSolveOp op, Writer &writer) {
  return writer.generic("stablehlo.triangular_solve", {writer.get(op.getLhs()), writer.get(op.getRhs())},
                        op->getResultTypes(),
                        "left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, "
                        "unit_diagonal = false");
}

void exporter::attachMatrix(MLIRContext *context) {
  attachForm<net::CholeskyOp, writeCholesky>(context);
  attachForm<net::TriangularSolveOp, writeTriangularSolve>(context);
}
