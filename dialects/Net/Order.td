//===- Order.td - operations that put elements in another order -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_ORDER_TD
#define MESHWRIGHT_DIALECTS_NET_ORDER_TD

include "dialects/Net/NetBase.td"

def Net_ReverseOp : Net_Op<"reverse", [Pure, Net_Moves<"Permutes">, SameOperandsAndResultType]> {
  let summary = "reverses dimensions";
  let description = [{
    Index i of a reversed dimension of size n is index n − 1 − i of the operand.

    - **C1**: `dims` are distinct and in range.
    - **C2**: operand and result have the same type.

    Example: `%1 = net.reverse %0 dims = [1] : tensor<2x4xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$operand `dims` `=` $dims attr-dict `:` type($operand)";
  let hasVerifier = 1;
}

def Net_ArgSortOp : Net_Op<"arg_sort", [Pure, SameOperandsShape]> {
  let summary = "the permutation that sorts elements along a dimension";
  let description = [{
    Element k of the result along `dim` is the index of the element that comes k-th in sorted order. Elements are
    ordered by the first key, ties by the second key, and so on; the sort is stable. The order is ascending, or
    descending with `descending`. +0 and −0 are equal; NaNs are equal to each other and larger than every number. With
    `total_order` floats are ordered by the total order of IEEE 754.

    - **C1**: there is at least one key, and all keys have the same shape.
    - **C2**: `dim` is a dimension of the keys.
    - **C3**: the result has the shape of the keys.

    Example: `%1 = net.arg_sort %0 dim = 1 : tensor<2x4xf32> -> tensor<2x4xi32>`
  }];
  let arguments = (ins Variadic<AnyStaticShapeTensor>:$keys, I64Attr:$dim, UnitAttr:$descending, UnitAttr:$total_order);
  let results = (outs StaticShapeTensorOf<[AnyInteger]>:$result);
  let assemblyFormat = "$keys `dim` `=` $dim (`descending` $descending^)? (`total_order` $total_order^)? attr-dict `:` type($keys) `->` type($result)";
  let hasVerifier = 1;
}

#endif
