//===- Fold.h - simpler forms of operations ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_TRAIN_FOLD_H
#define MESHWRIGHT_LIB_TRAIN_FOLD_H

#include "dialects/Net/NetBuilder.h"

namespace meshwright::train {

/// A simpler value that equals the only result of `op`, built in front of it where it is new; null if there is none.
/// The operands of `op` have been folded before.
mlir::Value foldOperation(mlir::Operation *op, mlir::OpBuilder &builder);

/// The splat constant that an elementwise operation makes of splat constants, where that needs no rounding but the one
/// of its own; comparisons and logic whose result is known; null if there is none.
mlir::Value foldConstants(mlir::Operation *op, net::NetBuilder &build);

/// The splat constant that defines `value`, or null.
mlir::SplatElementsAttr getSplat(mlir::Value value);

} // namespace meshwright::train

#endif
