//===- Exchanges.h - collectives between stages as actions ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_EXPORT_EXCHANGES_H
#define MESHWRIGHT_LIB_EXPORT_EXCHANGES_H

#include "dialects/Dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshwright::exporter {

/// True if `op` is a collective whose groups have members at several coordinates of the axis of stages `axis`.
bool isExchange(mlir::Operation *op, llvm::StringRef axis);

/// Divides an action that has collectives along `axis` into functions: each of these collectives alone, and the
/// operations between them. Values that pass from one to another are variables within the step. Returns the functions
/// in their order; `func`, which is erased, has no other.
llvm::SmallVector<mlir::func::FuncOp> splitAtExchanges(mlir::func::FuncOp func, llvm::StringRef axis);

} // namespace meshwright::exporter

#endif
