//===- Cumulative.h - cumulative sums and similar scans ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_STABLEHLO_CUMULATIVE_H
#define MESHWRIGHT_LIB_STABLEHLO_CUMULATIVE_H

#include "Conversion.h"

namespace meshwright::importer {

/// A window that covers all elements of one dimension up to its position, or from its position on.
struct Cumulation {
  int64_t dim;
  /// True if the window covers the elements from its position on.
  bool fromEnd;
};

/// The windows of an operation over a tensor of `shape`. Every list has an entry per dimension; `padding` has two.
struct WindowLists {
  llvm::SmallVector<int64_t> sizes, strides, padding, baseDilation, windowDilation;
};
std::optional<Cumulation> findCumulation(const WindowLists &windows, llvm::ArrayRef<int64_t> shape);

/// The inclusive scan of `value` along the dimension of `cumulation`. `combine(a, b)` is associative; `a` precedes `b`
/// in the direction of the scan. Takes at most 2n combinations of elements.
mlir::Value cumulate(net::NetBuilder &build, mlir::Value value, Cumulation cumulation,
                     llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine);

/// True if `body` returns log(exp(a) + exp(b)) of its two arguments, in the form that JAX writes.
bool isLogAddExp(mlir::Block &body);
/// Builds log(exp(a) + exp(b)) without overflow.
mlir::Value logAddExp(net::NetBuilder &build, mlir::Value a, mlir::Value b);

} // namespace meshwright::importer

#endif
