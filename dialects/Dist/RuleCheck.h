//===- RuleCheck.h - whether placements follow a sharding rule --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_DIST_RULECHECK_H
#define MESHWRIGHT_DIALECTS_DIST_RULECHECK_H

#include "dialects/Dist/ShardingRule.h"

namespace meshwright::dist {

/// How an operation runs along one mesh axis.
struct AxisPlan {
  enum class Kind { Whole, SplitFactor, Partial } kind = Kind::Whole;
  /// The split factor, for `SplitFactor`.
  unsigned factor = 0;
};

/// Judges whether an operation that follows `rule` computes results placed as `results` from operands placed as
/// `operands`: on every axis either one factor is split in all tensors that have it, or partial operands pass through,
/// or everything is replicated, or one and the same coordinate holds everything. Returns what happens on every axis;
/// the error names axis, operand or result and factor. Values without dimensions that are no tensors have placements of
/// rank 0.
mlir::FailureOr<llvm::SmallVector<AxisPlan>> checkRule(const ShardingRule &rule, const Mesh &mesh,
                                                       llvm::ArrayRef<Placement> operands,
                                                       llvm::ArrayRef<Placement> results,
                                                       llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace meshwright::dist

#endif
