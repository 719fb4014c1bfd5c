//===- SplitConcatenations.cpp - splits concatenations with many operands -===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitConcatenations.h"
#include "dialects/Net/NetBuilder.h"

using namespace mlir;
using namespace meshwright;
using net::typeOf;

/// The concatenation of `values`, in the place of `op` and with its attributes but for the name of the whole.
static Value joinSome(net::ConcatenateOp op, ValueRange values) {
  if (values.size() == 1)
    return values.front();
  SmallVector<int64_t> shape(typeOf(op.getResult()).getShape());
  shape[op.getDim()] = 0;
  for (Value value : values)
    shape[op.getDim()] += typeOf(value).getDimSize(op.getDim());
  OpBuilder builder(op);
  Type type = typeOf(op.getResult()).clone(shape);
  auto joined = net::ConcatenateOp::create(builder, op.getLoc(), type, values, op.getDim());
  inherit(joined, op, Inherit::Replacement);
  net::kNameAttr.remove(joined);
  return joined;
}

void schedule::splitConcatenations(Block &block) {
  for (auto op : llvm::make_early_inc_range(block.getOps<net::ConcatenateOp>())) {
    SmallVector<Value> operands(op.getOperands());
    while (operands.size() > kMaxConcatenated) {
      SmallVector<Value> joined;
      for (size_t first = 0; first < operands.size(); first += kMaxConcatenated)
        joined.push_back(joinSome(op, ArrayRef(operands).drop_front(first).take_front(kMaxConcatenated)));
      operands = std::move(joined);
    }
    if (operands.size() != op->getNumOperands())
      op->setOperands(operands);
  }
}
