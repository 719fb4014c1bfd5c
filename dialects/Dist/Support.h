//===- Support.h - sets of ranks, by coordinates ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The attribute `dist.on` says which ranks run an operation of local type. It has the form of the support of a dims
// mapping: a dictionary from some axes to lists of coordinates. Null and empty both mean all ranks.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_DIST_SUPPORT_H
#define MESHWRIGHT_DIALECTS_DIST_SUPPORT_H

#include "dialects/Dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshwright::dist {

/// The ranks that run `op`; null if all do.
mlir::DictionaryAttr getOn(mlir::Operation *op);
/// Sets the ranks that run `op`.
void setOn(mlir::Operation *op, mlir::DictionaryAttr on);
/// The ranks that have `value`, a value of local type; null if all do. These are the ranks that run its operation,
/// except for conversions and collectives to one owner, whose result only the owner has.
mlir::DictionaryAttr getOn(mlir::Value value);

/// The ranks of `on` with its coordinates replaced by those of `support` on the axes that `support` has.
mlir::DictionaryAttr join(mlir::DictionaryAttr on, mlir::DictionaryAttr support);
/// True if every rank in `inner` is in `outer`.
bool covers(mlir::DictionaryAttr outer, mlir::DictionaryAttr inner);
/// True if all ranks that run `func` are in `support`.
bool holds(mlir::func::FuncOp func, mlir::DictionaryAttr support);
/// True if the rank with these coordinates is in `on`.
bool covers(mlir::DictionaryAttr on, const Mesh &mesh, llvm::ArrayRef<int64_t> coordinates);
/// True if `coordinate` of `axis` is among those that `on` lists, ranks or times; without a list of the axis all are.
bool covers(mlir::DictionaryAttr on, llvm::StringRef axis, int64_t coordinate);
/// The coordinate of the rank on `axis`, for `user`: that of an operation before it, or of a new one at the beginning
/// of its block.
mlir::Value getCoordinate(mlir::StringAttr axis, mlir::Operation *user);
/// The coordinates of `rank` on all axes.
llvm::SmallVector<int64_t> getCoordinates(const Mesh &mesh, int64_t rank);

} // namespace meshwright::dist

#endif
