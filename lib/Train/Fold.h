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

} // namespace meshwright::train

#endif
