//===- Batch.cpp - operations on batches of operands ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Net/Batch.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::net;

#include "dialects/Net/NetBatch.cpp.inc"

bool Batch::areSingle(unsigned first) const {
  return llvm::all_of(operands.drop_front(first), [](const BatchOperand &operand) { return operand.dims.empty(); });
}

Value Batch::get(unsigned index) {
  const BatchOperand &operand = operands[index];
  if (static_cast<int64_t>(operand.dims.size()) == getRank())
    return operand.value;
  ArrayRef<int64_t> own = shapeOf(operand.value).drop_front(operand.dims.size());
  SmallVector<int64_t> dims(operand.dims.begin(), operand.dims.end());
  llvm::append_range(dims, shift(llvm::to_vector(llvm::seq<int64_t>(0, own.size()))));
  return build.broadcast(operand.value, addSizes(own), dims);
}

SmallVector<int64_t> Batch::addSizes(ArrayRef<int64_t> shape) const {
  SmallVector<int64_t> result(sizes);
  llvm::append_range(result, shape);
  return result;
}

RankedTensorType Batch::addSizes(Type type) const {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.clone(addSizes(tensor.getShape()));
}

SmallVector<int64_t> Batch::shift(ArrayRef<int64_t> dims) const {
  return llvm::map_to_vector(dims, [&](int64_t dim) { return dim + getRank(); });
}

SmallVector<int64_t> Batch::addDims(ArrayRef<int64_t> dims) const {
  SmallVector<int64_t> result = llvm::to_vector(llvm::seq<int64_t>(0, getRank()));
  llvm::append_range(result, shift(dims));
  return result;
}

SmallVector<int64_t> Batch::addEntries(ArrayRef<int64_t> list, int64_t value) const {
  SmallVector<int64_t> result(getRank(), value);
  llvm::append_range(result, list);
  return result;
}

/// The same operation on more elements.
static SmallVector<Value> batchElementwise(Operation *op, Batch &batch) {
  SmallVector<Value> operands;
  for (unsigned index = 0; index < op->getNumOperands(); ++index)
    operands.push_back(batch.get(index));
  Operation *made = batch.build.builder.clone(*op);
  made->setOperands(operands);
  for (OpResult result : made->getResults())
    result.setType(batch.addSizes(result.getType()));
  return SmallVector<Value>(made->getResults());
}

FailureOr<SmallVector<Value>> net::batchOperation(Operation *op, Batch &batch) {
  if (auto rule = dyn_cast<BatchOpInterface>(op))
    return rule.batch(batch);
  if (op->hasTrait<OpTrait::Elementwise>())
    return batchElementwise(op, batch);
  return op->emitError() << op->getName()
                         << " stands in a computation per rank, and has no form for many ranks; the interface "
                            "BatchOpInterface gives it one";
}
