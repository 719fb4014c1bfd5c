//===- Contraction.cpp - products and systems on batches ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attach.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;
using namespace meshwright::net::batch;

static Value batchDot(DotOp op, Batch &batch) {
  // With one right side for all, such as a weight, the members are further rows of the left side.
  if (op.getLhsBatch().empty() && batch.isSingle(1))
    return make(op, batch, batch.get(0), batch.getSingle(1), ArrayRef<int64_t>(), ArrayRef<int64_t>(),
                batch.shift(op.getLhsContract()), op.getRhsContract());
  return make(op, batch, batch.get(0), batch.get(1), batch.addDims(op.getLhsBatch()), batch.addDims(op.getRhsBatch()),
              batch.shift(op.getLhsContract()), batch.shift(op.getRhsContract()));
}

static Value batchCholesky(CholeskyOp op, Batch &batch) { return make(op, batch, batch.get(0)); }

static Value batchTriangularSolve(TriangularSolveOp op, Batch &batch) {
  return make(op, batch, batch.get(0), batch.get(1));
}

void batch::attachContraction(MLIRContext *context) {
  attach<DotOp, batchDot>(context);
  attach<CholeskyOp, batchCholesky>(context);
  attach<TriangularSolveOp, batchTriangularSolve>(context);
}
