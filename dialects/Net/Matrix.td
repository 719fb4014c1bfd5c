//===- Matrix.td - factors of matrices ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_MATRIX_TD
#define MESHWRIGHT_DIALECTS_NET_MATRIX_TD

include "dialects/Net/NetBase.td"

def Net_CholeskyOp : Net_Op<"cholesky", [Pure, SameOperandsAndResultType]> {
  let summary = "the lower triangular factor of matrices that are symmetric and positive definite";
  let description = [{
    L with A = L Lᵀ, for every matrix A that the last two dimensions hold. What is above the diagonal of A is not read, and
    zero in L. Where A is not positive definite, elements of L are NaN.

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
  let summary = "solves systems of equations whose matrices are lower triangular";
  let description = [{
    X with A X = B, for all matrices A and B that the last two dimensions hold. What is above the diagonal of A is not
    read.

    - **C1**: the matrices of `lhs` are square and of floats.
    - **C2**: those of `rhs` have as many rows; the dimensions before the last two and the element types are the same.

    Example: `%2 = net.triangular_solve %0, %1 : tensor<2x4x4xf32>, tensor<2x4x3xf32>`
  }];
  let arguments = (ins StaticShapeTensorOf<[AnyFloat]>:$lhs, StaticShapeTensorOf<[AnyFloat]>:$rhs);
  let results = (outs StaticShapeTensorOf<[AnyFloat]>:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs)";
  let hasVerifier = 1;
}

#endif
