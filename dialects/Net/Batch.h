//===- Batch.h - operations on batches of operands --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_BATCH_H
#define MESHWRIGHT_DIALECTS_NET_BATCH_H

#include "dialects/Net/NetBuilder.h"

namespace meshwright::net {

/// An operand of a batch: a value whose first dimensions are those of the batch that `dims` lists, in increasing order.
/// Along all others every member of the batch has the same.
struct BatchOperand {
  mlir::Value value;
  llvm::SmallVector<int64_t, 2> dims;
};

/// An operation that is to be done for every member of a batch. The dimensions of the batch come before those of the
/// operation; an operand may lack some or all of them.
class Batch {
public:
  /// Builds before `op`; `sizes` are those of the batch.
  Batch(mlir::OpBuilder &builder, mlir::Operation *op, llvm::ArrayRef<int64_t> sizes,
        llvm::ArrayRef<BatchOperand> operands)
      : build(builder, op->getLoc()), sizes(sizes), operands(operands) {}

  /// The number of dimensions of the batch.
  int64_t getRank() const { return sizes.size(); }
  llvm::ArrayRef<int64_t> getSizes() const { return sizes; }

  /// True if operand `index` is the same for all members.
  bool isSingle(unsigned index) const { return operands[index].dims.empty(); }
  /// True if the operands from `first` on are the same for all members.
  bool areSingle(unsigned first) const;
  /// An operand that is the same for all members.
  mlir::Value getSingle(unsigned index) const {
    assert(isSingle(index) && "the operand has dimensions of the batch");
    return operands[index].value;
  }
  /// Operand `index` with all dimensions of the batch, repeated at the builder's place along those that it lacks.
  mlir::Value get(unsigned index);

  /// The shape of a batch of values of `shape`.
  llvm::SmallVector<int64_t> addSizes(llvm::ArrayRef<int64_t> shape) const;
  /// The type of a batch of values of `type`.
  mlir::RankedTensorType addSizes(mlir::Type type) const;
  /// The numbers that `dims` have after those of the batch.
  llvm::SmallVector<int64_t> shift(llvm::ArrayRef<int64_t> dims) const;
  /// The same, after the dimensions of the batch themselves.
  llvm::SmallVector<int64_t> addDims(llvm::ArrayRef<int64_t> dims) const;
  /// `list`, which has an entry per dimension, with `value` for those of the batch.
  llvm::SmallVector<int64_t> addEntries(llvm::ArrayRef<int64_t> list, int64_t value) const;

  NetBuilder build;

private:
  llvm::ArrayRef<int64_t> sizes;
  llvm::ArrayRef<BatchOperand> operands;
};

/// Does `op` for every member of `batch`, by its `BatchOpInterface` or because it is elementwise. Emits an error where
/// it is neither.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> batchOperation(mlir::Operation *op, Batch &batch);

} // namespace meshwright::net

#include "dialects/Net/NetBatch.h.inc"

#endif
