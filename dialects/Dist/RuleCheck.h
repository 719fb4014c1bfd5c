//===- RuleCheck.h - checks placements by a sharding rule -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_DIST_RULECHECK_H
#define MESHWRIGHT_DIALECTS_DIST_RULECHECK_H

#include "dialects/Dist/ShardingRule.h"

namespace meshwright::dist {

/// The way an operation runs along one mesh axis: whole, split along a factor, or with partial values.
struct AxisPlan {
  enum class Kind { Whole, SplitFactor, Partial } kind = Kind::Whole;
  /// The split factor, for `SplitFactor`.
  unsigned factor = 0;
};

/// Checks that an operation with rule `rule` can compute results placed as `results` from operands placed as `operands`
/// without communication. On every axis, one of four things has to hold: one factor is split in all tensors that have
/// it, partial operands pass through, all values are replicated, or one coordinate owns all values. Returns one plan
/// per axis; the error names axis, operand or result, and factor. Values that are no tensors have placements of rank 0.
mlir::FailureOr<llvm::SmallVector<AxisPlan>> checkRule(const ShardingRule &rule, const Mesh &mesh,
                                                       llvm::ArrayRef<Placement> operands,
                                                       llvm::ArrayRef<Placement> results,
                                                       llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace meshwright::dist

#endif
