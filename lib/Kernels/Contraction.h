//===- Contraction.h - finds GEMMs that the library can compute --*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_KERNELS_CONTRACTION_H
#define MESHWRIGHT_LIB_KERNELS_CONTRACTION_H

#include "OpForms.h"
#include "dialects/Net/Net.h"

namespace meshwright::schedule {

/// One operand of a product in memory: its strides along the dimensions that it has.
struct MatrixView {
  mlir::Value base;
  int64_t offset = 0;
  /// Per batch dimension; along the dimension of its own (rows of the left, columns of the right); along the sum.
  llvm::SmallVector<int64_t> batch;
  int64_t own = 0, sum = 0;
};

/// A product that the library can compute.
struct Product {
  MatrixView lhs, rhs;
  llvm::SmallVector<int64_t> batch, outBatch;
  int64_t m = 1, n = 1, k = 1;
  int64_t outRow = 0, outColumn = 0;
  /// The order in which the result's dimensions lie in memory, if not as they are: a transposition of it.
  mlir::Operation *transpose = nullptr;
};

/// The operands of a GEMM that have to be made contiguous first.
struct ProductBlockers {
  bool lhs = false, rhs = false;
};

/// True if the library computes a `dot` of this type and size.
bool isLibraryProduct(net::DotOp dot);

/// True if the library computes a `convolution` of this type and size.
bool isLibraryConvolution(net::ConvolutionOp convolution);

/// Finds how `dot` reads its operands in memory, through layout operations that `stop` does not name, and writes its
/// result, into the order of its only user where that is a transposition. Fails where an operand does not lie in
/// strides that the library takes, and says which.
mlir::FailureOr<Product> analyzeProduct(net::DotOp dot, OpForms &forms,
                                        llvm::function_ref<bool(mlir::Operation *)> stop, ProductBlockers &blockers);

} // namespace meshwright::schedule

#endif
