//===- BlockedMatmul.h - products without a library -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_LIB_BLOCKEDMATMUL_H
#define MESHWRIGHT_RUNTIME_LIB_BLOCKEDMATMUL_H

#include "meshwright/runtime/DType.h"
#include <cstddef>
#include <vector>

namespace meshwright::runtime {

/// out[b.., m, n] = sum over k of lhs[b.., m, k] * rhs[b.., k, n] for any element types and strides (in elements).
/// Floats are accumulated in f64 if one of the types is f64, else in f32; integers wrap in 64 bits.
struct MatmulProblem {
  DType lhsType, rhsType, outType;
  std::vector<int64_t> batch, lhsBatch, rhsBatch, outBatch; ///< sizes, then each operand's strides
  int64_t m, n, k;
  int64_t lhsRow, lhsColumn, rhsRow, rhsColumn, outRow, outColumn;
};

/// Bytes of scratch memory that the product needs, aligned to 64.
size_t getBlockedMatmulScratch(const MatmulProblem &problem);

/// Computes the product.
void runBlockedMatmul(const MatmulProblem &problem, const std::byte *lhs, const std::byte *rhs, std::byte *out,
                      std::byte *scratch);

} // namespace meshwright::runtime

#endif
