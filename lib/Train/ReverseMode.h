//===- ReverseMode.h - cotangents of a block --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_TRAIN_REVERSEMODE_H
#define MESHWRIGHT_LIB_TRAIN_REVERSEMODE_H

#include "dialects/Net/Loops.h"
#include "lib/Train/Program.h"
#include "llvm/ADT/DenseSet.h"

namespace meshwright::train {

/// Builds the cotangents of everything between some values and a scalar loss, in one sweep over the operations from the
/// last to the first.
///
/// A loop becomes one that goes the other way: what was carried from trip to trip is carried back, what was taken from
/// a stack is stacked, and the other way round; what a value from in front of the loop gets back is added up over the
/// trips. What backward reads of a trip of forward is stacked there (`stackForBackward`).
class ReverseMode {
public:
  /// `sources` are the values whose cotangents are asked for; `stopped` values pass none on.
  ReverseMode(mlir::Block &block, const net::LoopNest &loops, llvm::ArrayRef<mlir::Value> sources,
              const llvm::DenseSet<mlir::Value> &stopped);

  /// Differentiates `loss`, a scalar of floats, with operations made by `builder`; `seed` is the cotangent of the loss,
  /// of its type.
  mlir::LogicalResult run(mlir::Value loss, RoleBuilder &builder, mlir::Value seed);

  /// The cotangent of a source; null if the loss does not depend on it.
  mlir::Value getCotangent(mlir::Value source) { return cotangents.lookup(source); }
  /// For every loop of backward the loop of forward that it goes through from its end.
  const llvm::DenseMap<mlir::Operation *, net::LoopOp> &getForwardOf() const { return forwardOf; }

private:
  using Contributions = llvm::MapVector<mlir::Value, llvm::SmallVector<mlir::Value, 1>>;

  /// A loop of forward that backward is going through.
  struct OpenLoop {
    net::LoopOp forward;
    mlir::Value index;
    /// The cotangents of what leaves it, and of what it carries.
    llvm::DenseMap<mlir::Operation *, mlir::Value> leaving;
    llvm::DenseMap<mlir::Operation *, mlir::Value> carried;
    /// To values that were there before the loop: what one trip contributes.
    Contributions captured;
  };

  /// Whether a source reaches `value` through floats.
  bool isActive(mlir::Value value) const { return active.contains(value); }
  void activate(llvm::ArrayRef<mlir::Value> sources, const llvm::DenseSet<mlir::Value> &stopped);
  mlir::LogicalResult visit(mlir::Operation *op, RoleBuilder &builder);
  mlir::LogicalResult visitByRule(mlir::Operation *op, RoleBuilder &builder, llvm::ArrayRef<mlir::Value> results,
                                  const llvm::BitVector &wanted);
  /// Adds up the contributions to a value, all of which are known once the operation that defines it is reached.
  mlir::Value takeCotangent(mlir::Value value, RoleBuilder &builder);
  /// Contributes to the cotangent of `value`, where that is active, from inside the `depth` outermost open loops.
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

/// Lets loops of backward, which go through loops of forward from their ends, read what the trips of those made: it is
/// stacked in forward, or made again where it is cheap.
void stackForBackward(mlir::Block &block, const llvm::DenseMap<mlir::Operation *, net::LoopOp> &forwardOf);

/// The sum of cotangents of one value, in order. Those that come from slices which tile a dimension are concatenated.
mlir::Value sumCotangents(mlir::OpBuilder &builder, mlir::Location location, llvm::ArrayRef<mlir::Value> cotangents);

/// The values that are subtracted from the argument of an exponential without any influence on `loss`: the maxima of
/// softmax, log-softmax and logsumexp.
llvm::DenseSet<mlir::Value> findIrrelevantShifts(mlir::Value loss);

} // namespace meshwright::train

#endif
