//===- Times.h - when operations are needed ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_TIMES_H
#define MESHWRIGHT_SCHEDULE_TIMES_H

#include "dialects/Dist/Dist.h"
#include "dialects/Net/Loops.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace meshwright::schedule {

/// At which coordinates of the mesh's axes of times the operations of a function are needed. That follows, last
/// operation first, from the times at which assignments and results take place (`dist.during`). Sets of times have the
/// form of a support; where several axes have times, the set of an operation is the smallest product of sets that holds
/// all it is needed at. All operations of a loop have the same. A collective that is done once in a step (`dist.once`)
/// has the first slice of those that need it: other slices read a copy that is kept.
class Times {
public:
  /// Emits an error where `dist.during` names no times of the mesh.
  static mlir::FailureOr<Times> find(mlir::func::FuncOp func, const dist::Mesh &mesh);

  /// The times at which `op` is needed, empty where that is always; null where nobody needs it.
  mlir::DictionaryAttr get(mlir::Operation *op) const { return needs.lookup(op); }
  /// At how many of all times `op` is needed.
  int64_t count(mlir::Operation *op) const;
  /// How many times there are.
  static int64_t count(const dist::Mesh &mesh);

  /// The times at which users of `value` that `isMeant` accepts need it; null where none does, or where it is not known
  /// of one of them.
  mlir::DictionaryAttr getOfUsers(mlir::Value value, llvm::function_ref<bool(mlir::Operation *)> isMeant);
  /// Whether no time is in both sets.
  static bool areApart(mlir::DictionaryAttr left, mlir::DictionaryAttr right);
  /// `times` but for the first coordinate of `axis`; null where nothing is left.
  mlir::DictionaryAttr withoutFirst(mlir::DictionaryAttr times, dist::Axis axis);
  /// `times` at the first coordinate of `axis` alone.
  mlir::DictionaryAttr onlyFirst(mlir::DictionaryAttr times, dist::Axis axis) const;

private:
  Times(mlir::MLIRContext *context, const dist::Mesh &mesh) : context(context), mesh(mesh) {}

  mlir::LogicalResult visit(mlir::Operation *op);
  mlir::FailureOr<mlir::DictionaryAttr> getDuring(mlir::Attribute during, mlir::Operation *op) const;
  void needLoop(net::LoopOp loop, const net::LoopNest &nest);
  void need(mlir::Value value, mlir::DictionaryAttr times);
  mlir::DictionaryAttr unite(mlir::DictionaryAttr left, mlir::DictionaryAttr right);

  mlir::MLIRContext *context;
  dist::Mesh mesh;
  llvm::DenseMap<mlir::Operation *, mlir::DictionaryAttr> needs;
  /// There are few sets, whatever the number of operations.
  llvm::DenseMap<std::pair<mlir::DictionaryAttr, mlir::DictionaryAttr>, mlir::DictionaryAttr> unions;
  llvm::DenseMap<std::pair<mlir::DictionaryAttr, dist::Axis>, mlir::DictionaryAttr> rests;
};

} // namespace meshwright::schedule

#endif
