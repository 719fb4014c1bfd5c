//===- MatmulProblem.h - products in their normal form ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_MATMULPROBLEM_H
#define MESHWRIGHT_RUNTIME_MATMULPROBLEM_H

#include "meshwright/runtime/DType.h"
#include <vector>

namespace meshwright::runtime {

/// out[b.., m, n] = sum over k of lhs[b.., m, k] * rhs[b.., k, n] for any element types and strides (in elements).
struct MatmulProblem {
  DType lhsType, rhsType, outType;
  /// In the twin (Rounding.h), whose operands and result are f64, the type of the result in the program; else none.
  DType rounded = DTYPE_INVALID;
  std::vector<int64_t> batch, lhsBatch, rhsBatch, outBatch; ///< sizes, then each operand's strides
  int64_t m, n, k;
  int64_t lhsRow, lhsColumn, rhsRow, rhsColumn, outRow, outColumn;
  /// Positive if the order of the sums over k is fixed: the number of parts of equal length, the last of which zeros
  /// fill up. A tree adds them. A result in 16 bits rounds each part and each sum of two.
  int64_t parts = 0;
};

/// The problem of a checked GEMM: without batch dimensions of size 1, with those joined that are contiguous in all
/// three arrays, and with those over which the right operand is repeated taken as rows. A dimension of size 1 has the
/// stride of a dense array.
MatmulProblem getProblem(const Matmul &matmul);

/// Equal for equal problems alone.
std::vector<int64_t> getKey(const MatmulProblem &problem);

} // namespace meshwright::runtime

#endif
