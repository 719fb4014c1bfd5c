//===- PlacementTable.h - placements of values, resolved once ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_PARTITION_PLACEMENTTABLE_H
#define MESHWRIGHT_LIB_PARTITION_PLACEMENTTABLE_H

#include "dialects/Dist/Placement.h"
#include "dialects/Net/Net.h"
#include "mlir/IR/SymbolTable.h"

namespace meshwright::partition {

/// The mesh of `module`; emits an error if it has none.
mlir::FailureOr<dist::MeshOp> requireMesh(mlir::ModuleOp module);

/// Checks that no variable or argument has been localized.
llvm::LogicalResult verifyGlobal(mlir::ModuleOp module);

/// Reads the placements that operations and variables state. Placements are returned as attributes in normal form, so
/// equal placements are equal attributes.
class PlacementTable {
public:
  PlacementTable(mlir::ModuleOp module, const dist::Mesh &mesh) : symbols(module), mesh(mesh) {}

  /// The normal form of `mapping` for a value of `type`. Emits an error at `op` if the mapping does not resolve, or if
  /// its support has several coordinates on an axis: a value has one owner on an axis, or is on all of it.
  mlir::FailureOr<dist::MappingAttr> normalize(mlir::Attribute mapping, mlir::Type type, mlir::Operation *op);
  /// The placement that `mapping`, a normal form, stands for.
  const dist::Placement &resolve(dist::MappingAttr mapping, mlir::Type type);

  /// The placements in which `op` reads its operands; if it states none, those of the values.
  mlir::FailureOr<llvm::SmallVector<dist::MappingAttr>> getOperands(mlir::Operation *op);
  /// The placements in which `op` leaves its results.
  mlir::FailureOr<llvm::SmallVector<dist::MappingAttr>> getResults(mlir::Operation *op);
  /// The placements in which the computation of `op` leaves the results, before any conversion.
  mlir::FailureOr<llvm::SmallVector<dist::MappingAttr>> getComputes(mlir::Operation *op);
  /// The placement of argument `index` of `func`.
  mlir::FailureOr<dist::MappingAttr> getArgument(mlir::func::FuncOp func, unsigned index);
  /// The placement in which `variable` is kept.
  mlir::FailureOr<dist::MappingAttr> getKept(mlir::FlatSymbolRefAttr variable, mlir::Operation *user);

private:
  mlir::FailureOr<dist::MappingAttr> getDefinition(mlir::Value value, mlir::Operation *user);

  mlir::SymbolTable symbols;
  const dist::Mesh &mesh;
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Type>, dist::MappingAttr> normalForms;
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Type>, std::unique_ptr<dist::Placement>> placements;
};

} // namespace meshwright::partition

#endif
