//===- StepFlow.h - backward, as the flow of data tells it ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_IMPORT_STEPFLOW_H
#define MESHWRIGHT_LIB_IMPORT_STEPFLOW_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshwright::importer {

/// Gives the operations of backward their role in a whole training step whose scopes do not say it.
///
/// The next value of a parameter is followed back through elementwise operations of its shape to what other operations
/// make: its gradient, where that depends on an input and on no state of an optimizer. Backward is what gradients
/// depend on, less what the remaining results do, which is forward, and less what stands before the loss, or else
/// before the last operation of forward that gradients depend on: values that forward keeps. Without a gradient nothing
/// is changed. Linear in the number of operations, but for parameters that have several gradients to add up.
void markBackward(mlir::func::FuncOp graph);

} // namespace meshwright::importer

#endif
