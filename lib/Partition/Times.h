//===- Times.h - accumulates and collects values over slices -----*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_PARTITION_TIMES_H
#define MESHWRIGHT_LIB_PARTITION_TIMES_H

#include "dialects/Dist/Conversions.h"
#include "dialects/Net/Net.h"
#include "meshwright/Partition/ReshardPlanner.h"
#include "mlir/IR/SymbolTable.h"

namespace meshwright::partition {

/// `during`, which may be null, restricted to the last slice of a batch; null if the mesh has no slices.
mlir::DictionaryAttr getDuringLast(mlir::DictionaryAttr during, const dist::Mesh &mesh, mlir::Operation *op);

/// Makes the variables that keep a value from one slice of the batch to the next. They have global types, like all
/// variables, until LocalizeShapes makes these local.
class Accumulators {
public:
  Accumulators(mlir::ModuleOp module, const dist::Mesh &mesh);

  /// Checks that a conversion from `from` to `to` may end the times of an axis; the error is at `reshard`.
  mlir::LogicalResult check(dist::ReshardOp reshard, const dist::Placement &from, const dist::Placement &to) const;
  /// The sum of `value` over the times so far, complete after the last one.
  mlir::Value add(mlir::OpBuilder &builder, dist::ReshardOp reshard, const ReshardStep &step, mlir::Value value);
  /// The slices so far, with `value` at `coordinate`; complete after the last one.
  mlir::Value collect(mlir::OpBuilder &builder, dist::ReshardOp reshard, const ReshardStep &step, mlir::Value value,
                      mlir::Value coordinate);

private:
  net::VariableOp createVariable(dist::ReshardOp reshard, const ReshardStep &step);
  mlir::Value read(mlir::OpBuilder &builder, net::VariableOp variable, dist::ReshardOp reshard,
                   const ReshardStep &step);
  /// Assigns `value` at these times.
  void assign(mlir::OpBuilder &builder, net::VariableOp variable, mlir::Value value, const ReshardStep &step,
              llvm::ArrayRef<int64_t> times);
  llvm::SmallVector<int64_t> getAllButLast(const ReshardStep &step) const;
  /// Adds `value` to a new accumulator at the times of `sums`, at all but the first where there are none.
  mlir::Value addTo(mlir::OpBuilder &builder, dist::ReshardOp reshard, const ReshardStep &step, mlir::Value value,
                    llvm::ArrayRef<int64_t> sums, llvm::ArrayRef<int64_t> assigned);
  mlir::Value addByTree(mlir::OpBuilder &builder, dist::ReshardOp reshard, const ReshardStep &step, mlir::Value value);

  mlir::SymbolTable symbols;
  /// Variables are inserted before it.
  mlir::Block::iterator firstFunction;
  const dist::Mesh &mesh;
};

} // namespace meshwright::partition

#endif
