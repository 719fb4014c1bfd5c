//===- OperationSplits.h - all ways of splitting an operation ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_PARTITION_OPERATIONSPLITS_H
#define MESHWRIGHT_TEST_UNIT_PARTITION_OPERATIONSPLITS_H

#include "mlir/IR/BuiltinOps.h"
#include "test/unit/Partition/OperationPlacements.h"
#include <map>
#include <string>

namespace meshwright::test {

/// The choice for one axis: a factor is split, or the partial operands of entry `partial` of the rule pass through.
struct AxisChoice {
  std::optional<dist::FactorSplit> split;
  unsigned partial = 0;
};

/// A way of splitting an operation: what happens along each axis of a mesh of these sizes.
struct SplitPlan {
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<AxisChoice> choices;

  dist::Mesh makeMesh() const;
  /// The factors and partial operands, for messages.
  std::string describe() const;
};

/// Each factor over 2, 3 and 4 ranks by each of its digits; each two factors over 2 × 2, in either order, and both axes
/// on each factor; the partial operands of each entry over 2 and 3 ranks, and beside each factor. Plans that the rule
/// turns out not to allow are among them.
std::vector<SplitPlan> enumeratePlans(const dist::ShardingRule &rule);

/// The plans for special values: each factor over 2 to 4 ranks, including ranks with an empty part, and the partial
/// operands of each entry over 2 and 3 ranks, also together with each factor. Includes plans that the rule rejects.
std::vector<SplitPlan> enumerateSpecialPlans(const dist::ShardingRule &rule);

/// The number of tries of each kind of split that an operation's rule allows.
struct SplitCoverage {
  struct Count {
    /// Alone, in parts of equal and of unequal size.
    int64_t even = 0, uneven = 0;
    /// Over both of two axes, and beside something else.
    int64_t twice = 0, beside = 0;
    bool mayBeUneven = false;
  };
  /// By operation and role of a factor (see describeRole).
  std::map<std::string, Count> factors;
  /// By operation, reduction and operands (see describePartial).
  std::map<std::string, int64_t> partials;

  /// Notes what there is to try.
  void expect(mlir::Operation *op, const dist::ShardingRule &rule);
  /// Notes what was tried; `isUneven` says whether some part differed in size from the others.
  void count(mlir::Operation *op, const dist::ShardingRule &rule, const SplitPlan &plan, bool isUneven);
  std::vector<std::string> findMissing() const;
  std::string print() const;
};

} // namespace meshwright::test

#endif
