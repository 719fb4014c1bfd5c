//===- Sequence.h - entry point of sequence parallelism ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_ANNOTATE_SEQUENCE_H
#define MESHWRIGHT_LIB_ANNOTATE_SEQUENCE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshwright::annotate {

/// The sum that enters the first block of `func`, with its sequence dimension: the last sum of three or more dimensions
/// (batch, sequence, ..., features) before the first product with a parameter that is split over `axis`.
std::optional<std::pair<mlir::Value, unsigned>> findBlockInput(mlir::func::FuncOp func, llvm::StringRef axis);

} // namespace meshwright::annotate

#endif
