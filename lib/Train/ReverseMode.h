//===- ReverseMode.h - reverse-mode differentiation of a block --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_TRAIN_REVERSEMODE_H
#define MESHWRIGHT_LIB_TRAIN_REVERSEMODE_H

#include "Program.h"
#include "dialects/Net/Loops.h"
#include "llvm/ADT/DenseSet.h"

namespace meshwright::train {

/// Builds the cotangents of all values between the sources and a scalar loss, in one sweep over the operations from the
/// last to the first.
///
/// A loop becomes a loop in the opposite direction: values carried from iteration to iteration are carried back, takes
/// from a stack become stacks and vice versa, and contributions to a value from before the loop are added up over the
/// iterations. Forward values that backward reads are stacked in forward (`stackForBackward`).
class ReverseMode {
public:
  /// `sources` are the values whose cotangents are wanted; `stopped` values propagate none.
  ReverseMode(mlir::Block &block, const net::LoopNest &loops, llvm::ArrayRef<mlir::Value> sources,
              const llvm::DenseSet<mlir::Value> &stopped);

  /// Differentiates `loss`, a scalar float, with operations built by `builder`; `seed` is the cotangent of the loss and
  /// has its type.
  mlir::LogicalResult run(mlir::Value loss, RoleBuilder &builder, mlir::Value seed);

  /// The cotangent of a source; null if the loss does not depend on it.
  mlir::Value getCotangent(mlir::Value source) { return cotangents.lookup(source); }
  /// The forward loop of every backward loop, which visits its iterations in reverse.
  const llvm::DenseMap<mlir::Operation *, net::LoopOp> &getForwardOf() const { return forwardOf; }

private:
  using Contributions = llvm::MapVector<mlir::Value, llvm::SmallVector<mlir::Value, 1>>;

  /// A forward loop whose backward loop is open.
  struct OpenLoop {
    net::LoopOp forward;
    mlir::Value index;
    /// The cotangents of values that leave the loop, and of values that it carries.
    llvm::DenseMap<mlir::Operation *, mlir::Value> leaving;
    llvm::DenseMap<mlir::Operation *, mlir::Value> carried;
    /// Contributions of one iteration to values from before the loop.
    Contributions captured;
  };

  /// True if `value` depends on a source through floats.
  bool isActive(mlir::Value value) const { return active.contains(value); }
  void activate(llvm::ArrayRef<mlir::Value> sources, const llvm::DenseSet<mlir::Value> &stopped);
  mlir::LogicalResult visit(mlir::Operation *op, RoleBuilder &builder);
  mlir::LogicalResult visitByRule(mlir::Operation *op, RoleBuilder &builder, llvm::ArrayRef<mlir::Value> results,
                                  const llvm::BitVector &wanted);
  /// Sums the contributions to a value, which are complete when its defining operation is reached.
  mlir::Value takeCotangent(mlir::Value value, RoleBuilder &builder);
  /// Contributes to the cotangent of an active `value` from inside the `depth` outermost open loops.
  void contribute(mlir::Value value, mlir::Value cotangent, size_t depth);

  void enter(net::LoopOp loop, RoleBuilder &builder);
  void leave(RoleBuilder &builder);
  void visitCarry(net::CarryOp op, RoleBuilder &builder);
  void visitLeaving(mlir::Operation *op, RoleBuilder &builder);

  mlir::Block &block;
  const net::LoopNest &loops;
  llvm::DenseSet<mlir::Value> active;
  Contributions contributions;
  llvm::SmallVector<OpenLoop> open;
  llvm::DenseMap<mlir::Operation *, net::LoopOp> forwardOf;
  llvm::DenseMap<mlir::Value, mlir::Value> cotangents;
};

/// Gives backward loops, which run through forward loops in reverse, the forward values of the same iteration: these
/// are stacked in forward, or recomputed if that is cheap.
void stackForBackward(mlir::Block &block, const llvm::DenseMap<mlir::Operation *, net::LoopOp> &forwardOf);

/// The sum of the cotangents of one value, in order. Cotangents of slices that tile a dimension are concatenated.
mlir::Value sumCotangents(mlir::OpBuilder &builder, mlir::Location location, llvm::ArrayRef<mlir::Value> cotangents);

/// The values that are subtracted before an exponential without affecting `loss`: the maxima of softmax, log-softmax
/// and logsumexp.
llvm::DenseSet<mlir::Value> findIrrelevantShifts(mlir::Value loss);

} // namespace meshwright::train

#endif
