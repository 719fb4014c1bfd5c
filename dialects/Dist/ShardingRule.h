//===- ShardingRule.h - how an operation may be split -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rule names the loops of an operation, its *factors*, and says which factors index which dimension of which operand
// and result: `dot: [b,i,k],[b,k,j] → [b,i,j], reduction k`. Completion, partitioning, cost and verification read the
// same rule.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_DIST_SHARDINGRULE_H
#define MESHWRIGHT_DIALECTS_DIST_SHARDINGRULE_H

#include "dialects/Dist/Placement.h"

namespace meshwright::dist {

/// A factor's place in a dimension of one operand or result.
struct FactorUse {
  unsigned factor;
  /// How many indices of the factor this tensor spans, and the first of them. They differ between operands and results
  /// of slice, pad and concatenate alone.
  int64_t size;
  int64_t offset = 0;
};

/// For every dimension of a tensor the factors that index it, major to minor. A dimension without factor cannot be
/// split.
struct TensorRule {
  llvm::SmallVector<llvm::SmallVector<FactorUse, 1>> dims;
};

/// One loop of an operation.
struct FactorInfo {
  int64_t size = 1;
  /// Splitting this factor leaves results that lack it partial, of this kind.
  ReduceKind reduction = ReduceKind::Sum;
  /// Whether the operation can be computed in parts along this factor at all.
  bool splittable = true;
  /// Whether it can where the parts differ in size. Operations that cannot mask what lies beyond say no.
  bool uneven = true;
  /// Whether a part reads elements beyond its own undefined ones: a reduction over this factor masks the operands that
  /// have it. Where false, what lies beyond a part stays in positions that are themselves beyond.
  bool masks = false;
  /// Operands that lack the factor and have to be partial (of `reduction`) when it is split: the accumulated operand of
  /// a scatter whose updates are split.
  llvm::SmallVector<unsigned, 1> partialOperands;
};

/// The operation commutes with a reduction: if `operands` are partial of `kind` and all others replicated, so are all
/// results. With Sum: it is linear jointly in `operands`. With Max and Min: it is monotone.
struct PartialRule {
  ReduceKind kind;
  llvm::SmallVector<unsigned, 2> operands;
};

struct ShardingRule {
  llvm::SmallVector<FactorInfo, 6> factors;
  llvm::SmallVector<TensorRule, 3> operands;
  llvm::SmallVector<TensorRule, 1> results;
  llvm::SmallVector<PartialRule, 2> partials;

  /// Adds a factor and returns its index.
  unsigned addFactor(int64_t size);
  /// Every value has the same shape and position i of results depends on position i of operands alone.
  static ShardingRule elementwise(llvm::ArrayRef<int64_t> shape, unsigned numOperands, unsigned numResults = 1);
  /// A rule that lets nothing be split: all operands and results are whole on every rank.
  static ShardingRule whole(mlir::Operation *op);

  /// Checks the rule against the operation's types: dimensions counted, sizes multiplied out, indices in range. For
  /// tests and for rules that come from outside; the error is at `op`.
  mlir::LogicalResult verify(mlir::Operation *op) const;
};

/// A split of a factor over one axis: as `Split`, on the factor's own index line. `open` where the digit is the major
/// one and nothing repeats it, so that tensors that span a little less or more of the line can share it.
struct FactorSplit {
  unsigned factor;
  int64_t extent;
  int64_t stride;
  bool open;
  bool operator==(const FactorSplit &) const = default;
};

/// The split of a factor that a digit of dimension `dim` means; nothing if the digit does not lie inside one factor.
/// `n` is the axis' size.
std::optional<FactorSplit> toFactorSplit(const TensorRule &tensor, unsigned dim, int64_t extent, int64_t stride,
                                         int64_t n);

/// What a split factor means for one tensor.
struct TensorSplit {
  /// `Absent`: the tensor lacks the factor. `Illegal`: it has it, but cannot be split there.
  enum class Kind { Absent, Present, Illegal } kind = Kind::Absent;
  unsigned dim = 0;
  int64_t extent = 0;
  int64_t stride = 0;
};
TensorSplit toTensorSplit(const TensorRule &tensor, const FactorSplit &split, int64_t n);

} // namespace meshwright::dist

#endif
