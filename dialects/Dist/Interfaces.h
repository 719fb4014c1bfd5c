//===- Interfaces.h - sharding, cost and kernel interfaces ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_DIST_INTERFACES_H
#define MESHWRIGHT_DIALECTS_DIST_INTERFACES_H

#include "dialects/Dist/ShardingRule.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

namespace meshwright::dist {

/// The context in which an operation builds its local version for one rank. The placements are those in which the
/// operation computes: its operands as it reads them, and its results before any reduction.
class Localizer {
public:
  Localizer(mlir::OpBuilder &builder, const Mesh &mesh, mlir::ValueRange operands,
            llvm::ArrayRef<Placement> operandPlacements, llvm::ArrayRef<Placement> resultPlacements,
            llvm::function_ref<mlir::Value(Axis)> coordinate)
      : builder(builder), mesh(mesh), operands(operands), operandPlacements(operandPlacements),
        resultPlacements(resultPlacements), coordinate(coordinate) {}

  mlir::OpBuilder &builder;
  const Mesh &mesh;
  /// The operands of local shape.
  mlir::ValueRange operands;
  llvm::ArrayRef<Placement> operandPlacements;
  llvm::ArrayRef<Placement> resultPlacements;

  /// The rank's coordinate on `axis`: a `tensor<i32>`.
  mlir::Value getCoordinate(Axis axis) const { return coordinate(axis); }
  /// The local type of result `index` of `op`.
  mlir::RankedTensorType getResultType(mlir::Operation *op, unsigned index) const;
  /// Clones `op` onto the local operands, with local result types and without its placements.
  llvm::SmallVector<mlir::Value> clone(mlir::Operation *op);

private:
  llvm::function_ref<mlir::Value(Axis)> coordinate;
};

} // namespace meshwright::dist

#include "dialects/Dist/DistInterfaces.h.inc"

namespace meshwright::dist {

/// The floating-point operations of `op`: those of its cost, without one an operation per element of its results.
int64_t getFlops(mlir::Operation *op);
/// True if `op` performs more operations than it reads and writes elements, such as a GEMM.
bool isHeavy(mlir::Operation *op);

} // namespace meshwright::dist

#endif
