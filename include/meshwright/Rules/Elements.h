//===- Elements.h - what operations do with an element ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For those who write the loops of an operation themselves.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RULES_ELEMENTS_H
#define MESHWRIGHT_RULES_ELEMENTS_H

#include "dialects/Net/Net.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace meshwright::kernel {

/// An element of the indices of a gather or scatter as an index; values too large for one become the largest.
mlir::Value toIndex(mlir::ImplicitLocOpBuilder &builder, mlir::Value value, bool isUnsigned);
/// What `scatter` makes of the element that is there and the update that comes to it.
mlir::Value combineUpdate(mlir::ImplicitLocOpBuilder &builder, net::ScatterOp scatter, mlir::Value old,
                          mlir::Value update);
/// Whether `element` is preferred to `best`, which was found before it.
mlir::Value isBetter(mlir::ImplicitLocOpBuilder &builder, net::ArgReduceOp reduce, mlir::Value element,
                     mlir::Value best);

} // namespace meshwright::kernel

#endif
