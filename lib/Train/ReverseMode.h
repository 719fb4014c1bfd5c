//===- ReverseMode.h - cotangents of a block --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_TRAIN_REVERSEMODE_H
#define MESHWRIGHT_LIB_TRAIN_REVERSEMODE_H

#include "lib/Train/Program.h"
#include "llvm/ADT/DenseSet.h"

namespace meshwright::train {

/// Builds the cotangents of everything between some values and a scalar loss, in one sweep over the operations from the
/// last to the first.
class ReverseMode {
public:
  /// `sources` are the values whose cotangents are asked for; `stopped` values pass none on.
  ReverseMode(mlir::Block &block, llvm::ArrayRef<mlir::Value> sources, const llvm::DenseSet<mlir::Value> &stopped);

  /// Differentiates `loss`, a scalar of floats, with operations made by `builder`; `seed` is the cotangent of the loss,
  /// of its type.
  mlir::LogicalResult run(mlir::Value loss, RoleBuilder &builder, mlir::Value seed);

  /// The cotangent of a source; null if the loss does not depend on it.
  mlir::Value getCotangent(mlir::Value source) { return cotangents.lookup(source); }

private:
  /// Whether a source reaches `value` through floats.
  bool isActive(mlir::Value value) const { return active.contains(value); }
  mlir::LogicalResult visit(mlir::Operation *op, RoleBuilder &builder);
  /// Adds up the contributions to a value, all of which are known once the operation that defines it is reached.
  mlir::Value takeCotangent(mlir::Value value, RoleBuilder &builder);

  mlir::Block &block;
  llvm::DenseSet<mlir::Value> active;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 1>> contributions;
  llvm::DenseMap<mlir::Value, mlir::Value> cotangents;
};

/// The sum of cotangents of one value, in order. Those that come from slices which tile a dimension are concatenated.
mlir::Value sumCotangents(mlir::OpBuilder &builder, mlir::Location location, llvm::ArrayRef<mlir::Value> cotangents);

/// The values that are subtracted from the argument of an exponential without any influence on `loss`: the maxima of
/// softmax, log-softmax and logsumexp.
llvm::DenseSet<mlir::Value> findIrrelevantShifts(mlir::Value loss);

} // namespace meshwright::train

#endif
