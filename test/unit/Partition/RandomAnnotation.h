//===- RandomAnnotation.h - random placements for a network -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_PARTITION_RANDOMANNOTATION_H
#define MESHWRIGHT_TEST_UNIT_PARTITION_RANDOMANNOTATION_H

#include "dialects/Dist/Interfaces.h"
#include "test/unit/Random.h"
#include <map>

namespace meshwright::test {

class OperationPlacements;

/// The features that random placements have exercised.
struct Coverage {
  struct Count {
    int64_t even = 0, uneven = 0;
    /// True if the rule allows parts of different sizes.
    bool mayBeUneven = false;
  };
  /// By operation and the role of a factor: the operands and results that have it.
  std::map<std::string, Count> factors;
  /// By operation, reduction and operands: how often partial operands passed.
  std::map<std::string, int64_t> partials;
  /// By name of the operation.
  std::map<std::string, int64_t> conversions;
  /// Operations that not all ranks run.
  int64_t held = 0;
  int64_t cases = 0, unevenCases = 0;

  /// The roles of factors that no case has split yet, in equal parts or, where the rule lets them, in unequal ones.
  std::vector<std::string> findMissing() const;
  std::string print() const;
};

/// Gives every operation of a serial module placements that its rule allows, chosen at random: which factor each axis
/// splits and into which digit, which partial operands pass, or which coordinate alone runs the operation. Values are
/// left, arguments and variables kept, and results returned in random placements.
class RandomAnnotation {
public:
  RandomAnnotation(Random &random, const dist::Mesh &mesh, Coverage &coverage, bool withHolders)
      : random(random), mesh(mesh), coverage(coverage), withHolders(withHolders) {}

  void annotate(mlir::ModuleOp module);
  /// True if some part differed in size from the others.
  bool isUneven() const { return uneven; }

private:
  void annotate(mlir::Operation *op);
  void annotateWith(mlir::Operation *op, const dist::ShardingRule &rule);
  void annotateNext(mlir::Operation *op);
  bool trySplit(mlir::Operation *op, const dist::ShardingRule &rule, dist::Axis axis, OperationPlacements &placements);
  void tryPartial(mlir::Operation *op, const dist::ShardingRule &rule, dist::Axis axis,
                  OperationPlacements &placements);
  std::optional<dist::FactorSplit> pickSplit(const dist::ShardingRule &rule, dist::Axis axis);
  dist::Placement leave(const dist::Placement &computed, mlir::Type type);
  dist::Placement makeAny(mlir::Type type);
  dist::MappingAttr toAttr(const dist::Placement &placement, mlir::Type type);

  Random &random;
  const dist::Mesh &mesh;
  Coverage &coverage;
  bool withHolders, uneven = false;
};

} // namespace meshwright::test

#endif
