//===- OpForms.h - classifies operations by their lowering -------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_KERNELS_OPFORMS_H
#define MESHWRIGHT_LIB_KERNELS_OPFORMS_H

#include "meshwright/Kernels/LinearForm.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/DenseMap.h"

namespace meshwright::schedule {

/// The code generator's view of an operation, derived from its lowering to linalg.
struct OpForm {
  enum Kind {
    /// Has no lowering: a variable, a collective, a conversion.
    None,
    /// Names elements of its operand; costs nothing inside a kernel.
    Move,
    /// Made from nothing: a number everywhere, or indices.
    Source,
    /// Every element from elements of the operands.
    Map,
    /// One reduction.
    Reduce,
    /// A kernel of its own.
    Alone
  };
  Kind kind = None;
  /// Map, Reduce: the loops, and for every operand how it is indexed by them; a null map where by values.
  llvm::SmallVector<int64_t> domain;
  llvm::SmallVector<mlir::AffineMap> maps;
  /// Reduce: the elements that a reduction of the innermost dimensions keeps; -1 for any other.
  int64_t kept = -1;
  /// Map: whether computing it again is worse than a load and a store.
  bool expensive = false;
};

/// Finds forms, once for operations that are alike.
class OpForms {
public:
  const OpForm &get(mlir::Operation *op);
  /// To be called when `op` was changed.
  void forget(mlir::Operation *op) { byOperation.erase(op); }
  /// To be called when operations were erased.
  void forgetAll() { byOperation.clear(); }

private:
  OpForm classify(mlir::Operation *op);
  llvm::DenseMap<mlir::Attribute, std::unique_ptr<OpForm>> known;
  llvm::DenseMap<mlir::Operation *, const OpForm *> byOperation;
};

/// A value as part of another's memory: element `position` of `base`, in variables of the caller.
struct View {
  mlir::Value base;
  LinearForm position;
};

/// Follows moves, but those that `stop` names, from element `indices` of `value` to the memory that it is in.
View traceView(mlir::Value value, llvm::ArrayRef<LinearForm> indices, Variables &variables, OpForms &forms,
               llvm::function_ref<bool(mlir::Operation *)> stop);

} // namespace meshwright::schedule

#endif
