//===- Fold.h - folding of single operations --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_TRAIN_FOLD_H
#define MESHWRIGHT_LIB_TRAIN_FOLD_H

#include "dialects/Net/NetBuilder.h"

namespace meshwright::train {

/// A simpler value equal to the only result of `op`, built before `op` if it is new; null if there is none. The
/// operands of `op` must have been folded already.
mlir::Value foldOperation(mlir::Operation *op, mlir::OpBuilder &builder);

/// The splat result of an elementwise operation on splat constants, if it needs no rounding other than the operation's
/// own; also comparisons and logic with a known result. Null if there is none.
mlir::Value foldConstants(mlir::Operation *op, net::NetBuilder &build);

/// The splat constant that defines `value`, or null.
mlir::SplatElementsAttr getSplat(mlir::Value value);

} // namespace meshwright::train

#endif
