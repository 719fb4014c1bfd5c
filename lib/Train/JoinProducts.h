//===- JoinProducts.h - sums of products as one product ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_TRAIN_JOINPRODUCTS_H
#define MESHWRIGHT_LIB_TRAIN_JOINPRODUCTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshwright::train {

/// Makes sums of products in a block, such as the gradients that reach an input through the projections of attention,
/// one product, whose first summed dimension is `parts` parts of each of theirs. A rank that has a part of every
/// projection then has a part of the sum, and a reduction over ranks adds them all at once.
void joinProducts(mlir::func::FuncOp func, int64_t parts);

} // namespace meshwright::train

#endif
