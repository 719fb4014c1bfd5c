//===- Matrix.td - factors of matrices ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_MATRIX_TD
#define MESHWRIGHT_DIALECTS_NET_MATRIX_TD

include "dialects/Net/NetBase.td"

def Net_CholeskyOp : Net_Op<"cholesky", [Pure, SameOperandsAndResultType]> {
  let summary = "Cholesky decomposition of symmetric positive definite matrices";
  let description = [{
    Returns the lower triangular L with A = L Lᵀ for every matrix A in the last two dimensions. Elements above the
    diagonal are not read in A and are zero in L. If A is not positive definite, elements of L are NaN.

    - **C1**: the matrices are square and of floats.
    - **C2**: operand and result have the same type.

    Example: `%1 = net.cholesky %0 : tensor<2x4x4xf32>`
  }];
  let arguments = (ins StaticShapeTensorOf<[AnyFloat]>:$operand);
  let results = (outs StaticShapeTensorOf<[AnyFloat]>:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
  let hasVerifier = 1;
}

def Net_TriangularSolveOp : Net_Op<"triangular_solve", [Pure, AllTypesMatch<["rhs", "result"]>]> {
  let summary = "solves systems of linear equations with lower triangular matrices";
  let description = [{
    Returns X with A X = B for all matrices A (`lhs`) and B (`rhs`) in the last two dimensions. Elements above the
    diagonal of A are not read.

    - **C1**: the matrices of `lhs` are square and of floats.
    - **C2**: the matrices of `rhs` have as many rows as those of `lhs`; the leading dimensions and the element types
      are the same.

    Example: `%2 = net.triangular_solve %0, %1 : tensor<2x4x4xf32>, tensor<2x4x3xf32>`
  }];
  let arguments = (ins StaticShapeTensorOf<[AnyFloat]>:$lhs, StaticShapeTensorOf<[AnyFloat]>:$rhs);
  let results = (outs StaticShapeTensorOf<[AnyFloat]>:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs)";
  let hasVerifier = 1;
}

#endif
