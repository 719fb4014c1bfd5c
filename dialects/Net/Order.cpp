//===- Order.cpp - verifiers of operations that reorder -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/Net.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace meshwright::net;

LogicalResult ReverseOp::verify() {
  int64_t rank = getOperand().getType().getRank();
  llvm::SmallBitVector seen(rank);
  // reverse_c1
  for (int64_t dim : getDims()) {
    if (dim < 0 || dim >= rank)
      return emitOpError() << "reverses dimension " << dim << " of a tensor of rank " << rank;
    if (seen.test(dim))
      return emitOpError() << "reverses dimension " << dim << " twice";
    seen.set(dim);
  }
  return success();
}

LogicalResult ArgSortOp::verify() {
  // arg_sort_c1 is checked by the operation's trait.
  auto type = cast<RankedTensorType>(getKeys().front().getType());
  // arg_sort_c2
  if (static_cast<int64_t>(getDim()) < 0 || static_cast<int64_t>(getDim()) >= type.getRank())
    return emitOpError() << "orders along dimension " << static_cast<int64_t>(getDim()) << " of a tensor of rank "
                         << type.getRank();
  // arg_sort_c3
  if (getResult().getType().getShape() != type.getShape())
    return emitOpError() << "turns " << type << " into " << getResult().getType();
  return success();
}
