//===- Times.h - axes of times, and the variants of a program ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_DIST_TIMES_H
#define MESHWRIGHT_DIALECTS_DIST_TIMES_H

#include "dialects/Dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshwright::dist {

/// The name of the axis of the steps over which gradients are accumulated.
inline constexpr llvm::StringLiteral kAccumulationAxis = "accumulation";
/// The name of the axis of the slices (micro-batches) of a batch.
inline constexpr llvm::StringLiteral kSlicesAxis = "micro";

/// The axes of `first`, followed by those of `second`, which are axes of times.
Mesh joinAxes(const Mesh &first, const Mesh &second);

/// The mesh of the module of `func`; a mesh of one rank if the module has none.
Mesh getMesh(mlir::func::FuncOp func);
/// The entries of `on` for axes of ranks, without those for axes of times.
mlir::DictionaryAttr getRanks(mlir::DictionaryAttr on, const Mesh &mesh);
/// True if `func` runs only at some of the times.
bool hasTimes(mlir::func::FuncOp func);
/// The functions of `module` that have bodies, grouped: functions of the same ranks at different times form a group,
/// and so do the actions of a pipeline on the same ranks. Groups are in the order of their first functions.
llvm::SmallVector<llvm::SmallVector<mlir::func::FuncOp>> getVariants(mlir::ModuleOp module);
/// The first of `variants` that returns results of the step (one action of a pipeline does); the first of all if the
/// step has no results.
mlir::func::FuncOp getResultFunction(llvm::ArrayRef<mlir::func::FuncOp> variants);

} // namespace meshwright::dist

#endif
