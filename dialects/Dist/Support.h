//===- Support.h - the ranks that run an operation --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `dist.on` states it for operations of local type, in the form in which a dims mapping states its support: for some
// axes the coordinates that run it. Null and empty both mean all ranks.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_DIST_SUPPORT_H
#define MESHWRIGHT_DIALECTS_DIST_SUPPORT_H

#include "dialects/Dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshwright::dist {

/// The ranks that run `op`; null where all do.
mlir::DictionaryAttr getOn(mlir::Operation *op);
/// States the ranks that run `op`.
void setOn(mlir::Operation *op, mlir::DictionaryAttr on);
/// The ranks that have `value`, a value of local type: those that run its operation. A conversion with a root gives its
/// result to others than run it. Null where all have it.
mlir::DictionaryAttr getOn(mlir::Value value);

/// The ranks in `on` that are, on the axes of `support`, where it says.
mlir::DictionaryAttr join(mlir::DictionaryAttr on, mlir::DictionaryAttr support);
/// Whether every rank in `inner` is in `outer`.
bool covers(mlir::DictionaryAttr outer, mlir::DictionaryAttr inner);
/// Whether the ranks of `func`, the program of some of them, are in `support`.
bool holds(mlir::func::FuncOp func, mlir::DictionaryAttr support);
/// Whether the rank with these coordinates is in `on`.
bool covers(mlir::DictionaryAttr on, const Mesh &mesh, llvm::ArrayRef<int64_t> coordinates);
/// The coordinates of `rank` on all axes.
llvm::SmallVector<int64_t> getCoordinates(const Mesh &mesh, int64_t rank);

} // namespace meshwright::dist

#endif
