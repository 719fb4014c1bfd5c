//===- Elements.h - element-wise pieces of kernel lowerings ------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For lowerings that write an operation's loops themselves instead of building a `linalg` operation.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RULES_ELEMENTS_H
#define MESHWRIGHT_RULES_ELEMENTS_H

#include "dialects/Net/Net.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace meshwright::kernel {

/// Converts an element of the indices of a gather or scatter to `index`; values that do not fit become the largest
/// index.
mlir::Value toIndex(mlir::ImplicitLocOpBuilder &builder, mlir::Value value, bool isUnsigned);
/// The element that `scatter` stores when `update` meets the present element `old`.
mlir::Value combineUpdate(mlir::ImplicitLocOpBuilder &builder, net::ScatterOp scatter, mlir::Value old,
                          mlir::Value update);
/// A Boolean that is true if `reduce` prefers `element` to `best`, which comes earlier in the order of the reduction.
mlir::Value isBetter(mlir::ImplicitLocOpBuilder &builder, net::ArgReduceOp reduce, mlir::Value element,
                     mlir::Value best);

} // namespace meshwright::kernel

#endif
