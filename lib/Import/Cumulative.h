//===- Cumulative.h - running sums and the like -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_IMPORT_CUMULATIVE_H
#define MESHWRIGHT_LIB_IMPORT_CUMULATIVE_H

#include "Conversion.h"

namespace meshwright::importer {

/// A window that shows all elements of one dimension up to its place, or from it on.
struct Cumulation {
  int64_t dim;
  /// Whether the window shows what follows.
  bool fromEnd;
};

/// What the windows of an operation over a tensor of `shape` are, if they are of that kind. Every list has an entry per
/// dimension; `padding` has two.
struct WindowLists {
  llvm::SmallVector<int64_t> sizes, strides, padding, baseDilation, windowDilation;
};
std::optional<Cumulation> findCumulation(const WindowLists &windows, llvm::ArrayRef<int64_t> shape);

/// Combines every element of `value` with those before it (after it, from the end). `combine(a, b)` is associative and
/// gets what comes first in this order first. The number of combinations is at most twice that of the elements.
mlir::Value cumulate(net::NetBuilder &build, mlir::Value value, Cumulation cumulation,
                     llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine);

/// Whether `body` returns log(exp(a) + exp(b)) of its two arguments, as JAX writes it.
bool isLogAddExp(mlir::Block &body);
/// The same of two tensors.
mlir::Value logAddExp(net::NetBuilder &build, mlir::Value a, mlir::Value b);

} // namespace meshwright::importer

#endif
