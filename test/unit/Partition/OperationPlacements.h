//===- OperationPlacements.h - placements by an operation's rule -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_PARTITION_OPERATIONPLACEMENTS_H
#define MESHWRIGHT_TEST_UNIT_PARTITION_OPERATIONPLACEMENTS_H

#include "dialects/Dist/Conversions.h"
#include "dialects/Dist/Interfaces.h"

namespace meshwright::test {

/// The placements that an operation reads its operands and computes its results in: whole at first, then axis by axis
/// what its rule allows.
class OperationPlacements {
public:
  OperationPlacements(mlir::Operation *op, const dist::ShardingRule &rule, const dist::Mesh &mesh);

  /// Splits a factor over an axis. Nothing, and nothing is changed, where the rule or a digit that is there does not
  /// allow it; else whether parts differ in size.
  std::optional<bool> split(dist::Axis axis, const dist::FactorSplit &split);
  /// Lets partial operands pass. False, and nothing is changed, where their types or what is there do not allow it.
  bool pass(dist::Axis axis, const dist::PartialRule &partial);
  /// Makes one coordinate of an axis the only one that runs the operation.
  void hold(dist::Axis axis, int64_t holder);
  /// True if the placements so far follow the rule, as checked by passes, which read the split from any one tensor.
  bool followRule() const;

  const dist::Placement &operand(unsigned index) const { return placements[index]; }
  const dist::Placement &result(unsigned index) const { return placements[op->getNumOperands() + index]; }
  /// States them on the operation; results are left in `results`.
  void annotate(llvm::ArrayRef<dist::Placement> results) const;

private:
  const dist::TensorRule &getRule(unsigned index) const;
  mlir::Type getType(unsigned index) const;
  bool splitTensor(dist::Axis axis, const dist::TensorSplit &part, dist::Placement &placement,
                   llvm::ArrayRef<int64_t> shape) const;
  static bool owe(dist::Axis axis, ReduceKind kind, mlir::Type type, dist::Placement &placement);

  mlir::Operation *op;
  const dist::ShardingRule *rule;
  const dist::Mesh *mesh;
  /// Operands first.
  std::vector<dist::Placement> placements;
};

/// The operands (o) and results (r) that have a factor, `net.dot: o0 o1`; of concatenate, whose operands are alike,
/// only whether any.
std::string describeRole(mlir::Operation *op, const dist::ShardingRule &rule, unsigned factor);
/// The reduction and the operands that are partial, `net.dot sum: o0`.
std::string describePartial(mlir::Operation *op, const dist::PartialRule &partial);

} // namespace meshwright::test

#endif
