//===- Times.h - axes of times, and programs of some of them ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_DIST_TIMES_H
#define MESHWRIGHT_DIALECTS_DIST_TIMES_H

#include "dialects/Dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshwright::dist {

/// The name of the axis of the steps whose gradients are merged.
inline constexpr llvm::StringLiteral kMergeAxis = "merge";
/// The name of the axis of the slices of a batch.
inline constexpr llvm::StringLiteral kSlicesAxis = "micro";

/// On variables, a unit: what they hold is made and used within one step. No program starts with a value of them, and
/// no file has one.
inline constexpr llvm::StringLiteral kWithinStepAttr = "dist.within_step";

/// On conversions and what they are made of, a unit: what they make is the same in all slices of the batch, is made
/// once in a step, and kept; on variables that they keep it for later slices.
inline constexpr llvm::StringLiteral kOnceAttr = "dist.once";

/// The axes of `first`, and behind them those of `second`, which are of times.
Mesh joinAxes(const Mesh &first, const Mesh &second);

/// The mesh of the module of `func`; that of one rank where it has none.
Mesh getMesh(mlir::func::FuncOp func);
/// What `on` says of axes of ranks, without those of times.
mlir::DictionaryAttr getRanks(mlir::DictionaryAttr on, const Mesh &mesh);
/// Whether `func` is the program of some of the times alone.
bool hasTimes(mlir::func::FuncOp func);
/// The functions of `module` that have bodies, those of the same ranks at different times together, in the order of the
/// first of each. So are those of the works of a pipeline.
llvm::SmallVector<llvm::SmallVector<mlir::func::FuncOp>> getVariants(mlir::ModuleOp module);
/// That of `variants` which returns the results of a step: of works it is one, of other variants it is any. The first
/// where a step has no results.
mlir::func::FuncOp getResultFunction(llvm::ArrayRef<mlir::func::FuncOp> variants);

} // namespace meshwright::dist

#endif
