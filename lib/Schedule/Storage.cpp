//===- Storage.cpp - which values share memory, and how long --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Storage.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

Storage::Storage(func::FuncOp func) {
  Block &block = func.getBody().front();
  for (Operation &op : block)
    steps[&op] = end++;
  --end;
  for (Operation &op : block) {
    for (Value result : op.getResults())
      if (getRoot(result) == result)
        lastUses.try_emplace(result, steps[&op]);
    if (isa<dist::ViewOp>(op))
      continue;
    int64_t step = isa<net::AssignOp, func::ReturnOp>(op) ? end : steps[&op];
    for (Value operand : op.getOperands()) {
      int64_t &last = lastUses[getRoot(operand)];
      last = std::max(last, step);
    }
  }
}

Value Storage::getRoot(Value value) const {
  while (auto view = value.getDefiningOp<dist::ViewOp>())
    value = view.getInput();
  return value;
}

int64_t Storage::getBytes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() * llvm::divideCeil(tensor.getElementTypeBitWidth(), 8);
}

int64_t Storage::getOffset(Value value) const {
  int64_t bytes = llvm::divideCeil(cast<RankedTensorType>(value.getType()).getElementTypeBitWidth(), 8), offset = 0;
  while (auto view = value.getDefiningOp<dist::ViewOp>()) {
    offset += view.getOffset() * bytes;
    value = view.getInput();
  }
  return offset;
}

bool Storage::isPersistent(Operation *op) {
  return isa<dist::CoordinateOp>(op) || op->hasTrait<OpTrait::ConstantLike>();
}
