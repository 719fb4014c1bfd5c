//===- ShardingRule.h - sharding rules of operations ------------*- C++ -*-===//
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
#include "llvm/Support/MathExtras.h"

namespace meshwright::dist {

/// A factor's place in a dimension of one operand or result.
struct FactorUse {
  unsigned factor;
  /// The number of indices of the factor that this tensor spans, and the first of them. Only slice, pad and concatenate
  /// have operands and results that span different indices.
  int64_t size;
  int64_t offset = 0;
};

/// The factors that index each dimension of a tensor, major to minor. A dimension without factors cannot be split.
struct TensorRule {
  llvm::SmallVector<llvm::SmallVector<FactorUse, 1>> dims;
};

/// One loop of an operation.
struct FactorInfo {
  int64_t size = 1;
  /// The reduction that is due on results that lack this factor, if it is split.
  ReduceKind reduction = ReduceKind::Sum;
  /// True if the operation can be computed in parts along this factor at all.
  bool splittable = true;
  /// True if it can also be computed in parts of different sizes. False for operations that cannot mask their padding.
  bool uneven = true;
  /// True if padding of an operand would reach defined elements of a result, as in a reduction over this factor, so
  /// that operands that have the factor are masked. False if padding only affects padding.
  bool masks = false;
  /// The levels of a reduction of kind Tree, which adds 2^levels equal parts of the factor; the last one is shorter
  /// where they do not divide it.
  uint8_t levels = 0;
  /// Operands that lack the factor and have to be partial (of `reduction`) if it is split, such as the operand of a
  /// scatter whose updates are split.
  llvm::SmallVector<unsigned, 1> partialOperands;

  int64_t getNumParts() const { return int64_t(1) << levels; }
  int64_t getPartSize() const { return llvm::divideCeil(size, getNumParts()); }
};

/// The operation commutes with a reduction: if `operands` are partial of `kind` and all other operands replicated, all
/// results are partial of `kind`. For Sum the operation is jointly linear in `operands`; for Max and Min it is
/// monotone.
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
  /// The rule of an elementwise operation: all values have the same shape, and element i of a result depends on element
  /// i of the operands alone.
  static ShardingRule elementwise(llvm::ArrayRef<int64_t> shape, unsigned numOperands, unsigned numResults = 1);
  /// A rule without splittable factors: all operands and results are whole on every rank.
  static ShardingRule whole(mlir::Operation *op);

  /// Checks the rule against the operation's types: number of dimensions, product of factor sizes per dimension,
  /// indices in range. For tests and for rules of other dialects; emits an error at `op`.
  mlir::LogicalResult verify(mlir::Operation *op) const;
};

/// A split of a factor over one axis: like `Split`, but of the indices of the factor. `open` if the digit is the most
/// significant one and has no period, so that tensors that span a few indices less or more can share it.
struct FactorSplit {
  unsigned factor;
  int64_t extent;
  int64_t stride;
  bool open;
  bool operator==(const FactorSplit &) const = default;
};

/// True if `split` over `n` coordinates leaves each of them whole, neighbouring parts of a reduction by a tree, or if
/// `factor` is reduced in any order.
bool keepsParts(const FactorInfo &factor, const FactorSplit &split, int64_t n);

/// Translates a digit of dimension `dim` to a split of a factor; nothing if the digit does not lie inside one factor.
/// `n` is the size of the axis.
std::optional<FactorSplit> toFactorSplit(const TensorRule &tensor, unsigned dim, int64_t extent, int64_t stride,
                                         int64_t n);

/// The effect of a split factor on one tensor.
struct TensorSplit {
  /// `Absent`: the tensor lacks the factor. `Present`: it is split as the fields below say. `Illegal`: it has the
  /// factor but cannot be split along it.
  enum class Kind { Absent, Present, Illegal } kind = Kind::Absent;
  unsigned dim = 0;
  int64_t extent = 0;
  int64_t stride = 0;
};
TensorSplit toTensorSplit(const TensorRule &tensor, const FactorSplit &split, int64_t n);

} // namespace meshwright::dist

#endif
