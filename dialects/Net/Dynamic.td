//===- Dynamic.td - slices at positions computed at run time --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_DYNAMIC_TD
#define MESHWRIGHT_DIALECTS_NET_DYNAMIC_TD

include "dialects/Net/NetBase.td"

def Net_DynamicSliceOp : Net_Op<"dynamic_slice", [Pure]> {
  let summary = "extracts a box of a tensor at a position given by scalars";
  let description = [{
    The box has the result's shape. Every start is clamped so that the box lies inside the tensor; in a dimension that
    the box spans completely it is 0.

    - **C1**: there is one scalar start per dimension.
    - **C2**: operand and result have the same rank and element type.
    - **C3**: the box is not larger than the operand in any dimension.

    Example: `%2 = net.dynamic_slice %0[%i, %j] : tensor<4x8xf32>, tensor<i32>, tensor<i32> -> tensor<1x8xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$operand, Variadic<0DTensorOf<[AnyInteger]>>:$starts);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$operand `[` $starts `]` attr-dict `:` type($operand) (`,` type($starts)^)? `->` type($result)";
  let hasVerifier = 1;
}

def Net_DynamicUpdateSliceOp : Net_Op<"dynamic_update_slice", [Pure, AllTypesMatch<["operand", "result"]>]> {
  let summary = "overwrites a box of a tensor at a position given by scalars";
  let description = [{
    Every start is clamped so that the box lies inside the tensor; in a dimension that the box spans completely it is 0.

    - **C1**: there is one scalar start per dimension.
    - **C2**: operand and result have the same type, and the box has its rank and element type.
    - **C3**: the box is not larger than the operand in any dimension.

    Example: `%3 = net.dynamic_update_slice %0, %1[%i, %j] : tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$operand, AnyStaticShapeTensor:$update,
                       Variadic<0DTensorOf<[AnyInteger]>>:$starts);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$operand `,` $update `[` $starts `]` attr-dict `:` type($operand) `,` type($update) (`,` type($starts)^)?";
  let hasVerifier = 1;
}

#endif
