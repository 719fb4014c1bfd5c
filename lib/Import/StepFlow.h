//===- StepFlow.h - backward found by data flow -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_IMPORT_STEPFLOW_H
#define MESHWRIGHT_LIB_IMPORT_STEPFLOW_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshwright::importer {

/// Gives the operations of backward their role in a whole training step without scopes.
///
/// Follows the next value of each parameter back through elementwise operations of its shape to the values that other
/// operations compute. Such a value is the gradient if it depends on an input but not on optimizer state. Backward
/// consists of the operations that gradients depend on, except forward, which the remaining results depend on, and
/// except operations before the loss, or without a loss before the last operation of forward that gradients depend on:
/// forward keeps their values. Changes nothing if there is no gradient. Linear in the number of operations, except for
/// parameters with several gradients to add up.
void markBackward(mlir::func::FuncOp graph);

} // namespace meshwright::importer

#endif
