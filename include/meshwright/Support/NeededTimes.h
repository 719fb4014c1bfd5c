//===- NeededTimes.h - the times at which operations run ---------------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SUPPORT_NEEDEDTIMES_H
#define MESHWRIGHT_SUPPORT_NEEDEDTIMES_H

#include "dialects/Dist/Dist.h"
#include "dialects/Net/Loops.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace meshwright {

/// The coordinates on the mesh's time axes at which the operations of a function are needed. They follow, last
/// operation first, from the times of assignments and results (`dist.during`). Sets of times have the form of a
/// support; with several time axes, the set of an operation is the smallest product of sets that contains all its
/// times. All operations of a loop have the same set. A collective that runs once in a step (`dist.once`) has the first
/// slice of its readers; other slices read a stored copy.
class NeededTimes {
public:
  /// Emits an error if `dist.during` names times that the mesh does not have.
  static mlir::FailureOr<NeededTimes> find(mlir::func::FuncOp func, const dist::Mesh &mesh);

  /// The times at which `op` is needed, empty for all times; null if it is never needed.
  mlir::DictionaryAttr get(mlir::Operation *op) const { return needs.lookup(op); }
  /// Notes the times at which `op`, which was made in the place of another, is needed.
  void set(mlir::Operation *op, mlir::DictionaryAttr times) { needs[op] = times; }
  /// The number of times at which `op` is needed.
  int64_t count(mlir::Operation *op) const;
  /// The number of all times of the mesh.
  static int64_t count(const dist::Mesh &mesh);

  /// The times at which users of `value` accepted by `isMeant` need it; null if there is no such user, or if the times
  /// of one of them are unknown.
  mlir::DictionaryAttr getOfUsers(mlir::Value value, llvm::function_ref<bool(mlir::Operation *)> isMeant);
  /// True if the two sets have no time in common.
  static bool areApart(mlir::DictionaryAttr left, mlir::DictionaryAttr right);
  /// The `times` at which `op` adds, and does not just begin with its addend; null if it never does.
  mlir::DictionaryAttr atSums(mlir::DictionaryAttr times, dist::AccumulateOp op);
  /// `times` at the first coordinate of `axis` alone.
  mlir::DictionaryAttr onlyFirst(mlir::DictionaryAttr times, dist::Axis axis) const;

private:
  NeededTimes(mlir::MLIRContext *context, const dist::Mesh &mesh) : context(context), mesh(mesh) {}

  mlir::LogicalResult visit(mlir::Operation *op);
  mlir::FailureOr<mlir::DictionaryAttr> getDuring(mlir::DictionaryAttr during, mlir::Operation *op) const;
  void needLoop(net::LoopOp loop, const net::LoopNest &nest);
  void need(mlir::Value value, mlir::DictionaryAttr times);
  mlir::DictionaryAttr unite(mlir::DictionaryAttr left, mlir::DictionaryAttr right);

  mlir::MLIRContext *context;
  dist::Mesh mesh;
  llvm::DenseMap<mlir::Operation *, mlir::DictionaryAttr> needs;
  /// There are few sets, whatever the number of operations.
  llvm::DenseMap<std::pair<mlir::DictionaryAttr, mlir::DictionaryAttr>, mlir::DictionaryAttr> unions;
  llvm::DenseMap<std::tuple<mlir::DictionaryAttr, dist::Axis, mlir::Attribute>, mlir::DictionaryAttr> sums;
};

} // namespace meshwright

#endif
