//===- Dynamic.cpp - verifiers of dynamic slices --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/Net.h"

using namespace mlir;
using namespace meshwright::net;

/// Checks that a box of type `box` with one start per dimension fits into `whole`.
static LogicalResult verifyBox(Operation *op, RankedTensorType whole, RankedTensorType box, OperandRange starts) {
  // dynamic_slice_c1, dynamic_update_slice_c1
  if (static_cast<int64_t>(starts.size()) != whole.getRank())
    return op->emitOpError() << "has " << starts.size() << " starts for a tensor of rank " << whole.getRank();
  // dynamic_slice_c2, dynamic_update_slice_c2
  if (whole.getRank() != box.getRank() || whole.getElementType() != box.getElementType())
    return op->emitOpError() << "has a box of " << box << " in " << whole;
  // dynamic_slice_c3, dynamic_update_slice_c3
  for (auto [dim, size, boxSize] : llvm::enumerate(whole.getShape(), box.getShape()))
    if (boxSize > size)
      return op->emitOpError() << "has a box of size " << boxSize << " in dimension " << dim << " of size " << size;
  return success();
}

LogicalResult DynamicSliceOp::verify() {
  return verifyBox(*this, getOperand().getType(), getResult().getType(), getStarts());
}

LogicalResult DynamicUpdateSliceOp::verify() {
  return verifyBox(*this, getOperand().getType(), getUpdate().getType(), getStarts());
}
