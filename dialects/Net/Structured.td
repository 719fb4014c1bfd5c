//===- Structured.td - operations that move or combine elements -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_STRUCTURED_TD
#define MESHWRIGHT_DIALECTS_NET_STRUCTURED_TD

include "dialects/Net/NetBase.td"

def Net_ConstantOp : Net_Op<"constant", [Pure, ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "a tensor known at compile time";
  let description = [{
    - **C1**: value and result have the same type.

    Example: `%0 = net.constant dense<1.0> : tensor<4xf32>`
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}

def Net_IotaOp : Net_Op<"iota", [Pure]> {
  let summary = "the index of every element along a dimension";
  let description = [{
    The value of every element is its index along `dim`, from 0 on.

    - **C1**: `dim` is a dimension of the result.

    Example: `%0 = net.iota dim = 1 : tensor<2x4xi32>`
  }];
  let arguments = (ins I64Attr:$dim);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "`dim` `=` $dim attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Net_BroadcastOp : Net_Op<"broadcast", [Pure, Net_Moves<"Repeats">, SameOperandsAndResultElementType]> {
  let summary = "repeats a tensor along new dimensions";
  let description = [{
    Dimension i of the operand becomes dimension `dims[i]` of the result.

    - **C1**: `dims` has one entry per operand dimension, distinct and in range.
    - **C2**: paired dimensions have equal sizes. A dimension of size 1 is not repeated; remove it by a reshape first.

    Example: `%1 = net.broadcast %0 dims = [1] : tensor<4xf32> -> tensor<2x4xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$operand `dims` `=` $dims attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Net_ReshapeOp : Net_Op<"reshape", [Pure, Net_Moves<"Permutes">, SameOperandsAndResultElementType]> {
  let summary = "the same elements in row-major order under another shape";
  let description = [{
    - **C1**: operand and result have equally many elements.

    Example: `%1 = net.reshape %0 : tensor<2x6xf32> -> tensor<3x4xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$operand);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Net_TransposeOp : Net_Op<"transpose", [Pure, Net_Moves<"Permutes">, SameOperandsAndResultElementType]> {
  let summary = "reorders dimensions";
  let description = [{
    Dimension i of the result is dimension `permutation[i]` of the operand.

    - **C1**: `permutation` is a permutation of the dimensions, and the result has the permuted sizes.

    Example: `%1 = net.transpose %0 dims = [1, 0] : tensor<2x4xf32> -> tensor<4x2xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$operand `dims` `=` $permutation attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Net_SliceOp : Net_Op<"slice", [Pure, Net_Moves<"Selects">, SameOperandsAndResultElementType]> {
  let summary = "extracts a box of a tensor, with strides";
  let description = [{
    - **C1**: one start, limit and step per dimension.
    - **C2**: 0 ≤ start ≤ limit ≤ size and step ≥ 1.
    - **C3**: the result has ceil((limit − start) / step) indices in each dimension.

    Example: `%1 = net.slice %0 starts = [0, 2] limits = [4, 8] steps = [1, 2] : tensor<4x8xf32> -> tensor<4x3xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$operand, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$limits,
                       DenseI64ArrayAttr:$steps);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$operand `starts` `=` $starts `limits` `=` $limits `steps` `=` $steps attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Net_PadOp : Net_Op<"pad", [Pure, Net_Moves<"Joins">]> {
  let summary = "surrounds and interleaves a tensor with a value";
  let description = [{
    Negative `low` and `high` remove elements.

    - **C1**: there is one `low`, `high` and `interior` per dimension, and no `interior` is negative.
    - **C2**: the result has low + size + max(size − 1, 0)·interior + high indices in each dimension, at least 0.
    - **C3**: operand, value and result have the same element type; the value is a scalar.

    Example: `%2 = net.pad %0, %1 low = [1] high = [2] interior = [0] : tensor<4xf32> -> tensor<7xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$operand, AnyStaticShapeTensor:$value, DenseI64ArrayAttr:$low,
                       DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$interior);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$operand `,` $value `low` `=` $low `high` `=` $high `interior` `=` $interior attr-dict `:` type($operand) `,` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Net_ConcatenateOp : Net_Op<"concatenate", [Pure, Net_Moves<"Joins">, SameOperandsAndResultElementType]> {
  let summary = "joins tensors along a dimension";
  let description = [{
    - **C1**: there is at least one operand, and all have the rank of the result.
    - **C2**: along `dim` the operands' sizes add up to the result's; all other sizes are equal.

    Example: `%2 = net.concatenate %0, %1 dim = 0 : tensor<2xf32>, tensor<3xf32> -> tensor<5xf32>`
  }];
  let arguments = (ins Variadic<AnyStaticShapeTensor>:$operands, I64Attr:$dim);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$operands `dim` `=` $dim attr-dict `:` type($operands) `->` type($result)";
  let hasVerifier = 1;
}

def Net_DotOp : Net_Op<"dot", [Pure]> {
  let summary = "contracts two tensors";
  let description = [{
    A (batched) matrix product, as StableHLO's `dot_general`. The dimensions of the result are the batching dimensions,
    then the free dimensions of `lhs`, then those of `rhs`; a dimension is free if it is neither batching nor
    contracted. Sums are computed in the wider of f32 and the operands' type and converted to the type of the result.

    - **C1**: batching and contracted dimensions are in range and distinct, and paired ones have equal sizes.
    - **C2**: the result has the shape described above.

    Example: `%2 = net.dot %0, %1 batch = [] x [] contract = [1] x [0] : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$lhs, AnyStaticShapeTensor:$rhs, DenseI64ArrayAttr:$lhs_batch,
                       DenseI64ArrayAttr:$rhs_batch, DenseI64ArrayAttr:$lhs_contract, DenseI64ArrayAttr:$rhs_contract);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs `batch` `=` $lhs_batch `x` $rhs_batch `contract` `=` $lhs_contract `x` $rhs_contract attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The dimensions of `lhs` (`rhs`) that are neither batching nor contracted, in order.
    ::llvm::SmallVector<int64_t> getLhsFree();
    ::llvm::SmallVector<int64_t> getRhsFree();
  }];
}

def Net_ReduceOp : Net_Op<"reduce", [Pure, SameOperandsAndResultElementType]> {
  let summary = "reduces a tensor along dimensions";
  let description = [{
    The reduction starts from its neutral element.

    - **C1**: `dims` are distinct, in range and increasing.
    - **C2**: the result has the operand's shape without `dims`.
    - **C3**: the kind is not `tree`.

    Example: `%1 = net.reduce sum %0 dims = [1] : tensor<2x4xf32> -> tensor<2xf32>`
  }];
  let arguments = (ins Net_ReduceKindAttr:$kind, AnyStaticShapeTensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "`` $kind $operand `dims` `=` $dims attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Net_ArgReduceOp : Net_Op<"arg_reduce", [Pure]> {
  let summary = "the largest or smallest element along a dimension, and its index";
  let description = [{
    NaN takes precedence over every number; among equal elements the one with the lowest index is selected.

    - **C1**: `dim` is a dimension of the operand, and its size is not 0.
    - **C2**: `value` has the operand's element type and `index` an integer type; both have the operand's shape without
      `dim`.

    Example: `%1, %2 = net.arg_reduce max %0 dim = 1 : tensor<2x4xf32> -> tensor<2xf32>, tensor<2xi32>`
  }];
  let arguments = (ins Net_ArgKindAttr:$kind, AnyStaticShapeTensor:$operand, I64Attr:$dim);
  let results = (outs AnyStaticShapeTensor:$value, StaticShapeTensorOf<[AnyInteger]>:$index);
  let assemblyFormat = "`` $kind $operand `dim` `=` $dim attr-dict `:` type($operand) `->` type($value) `,` type($index)";
  let hasVerifier = 1;
}

def Net_GatherOp : Net_Op<"gather", [Pure]> {
  let summary = "reads slices of a tensor at positions that another tensor holds";
  let description = [{
    Has the semantics of StableHLO's `gather`: positions are clamped so that every slice lies inside the operand.

    - **C1**: the dimension lists are in range, sorted and distinct, and the index vectors in `indices` have the size
      that they require.
    - **C2**: slice sizes do not exceed the operand's and are 1 in collapsed and batching dimensions.
    - **C3**: the result has the shape that follows from `dims`, `sizes` and the shape of `indices`.

    Example:
    ```mlir
    %2 = net.gather %0, %1 <offsetDims = [2], collapsedDims = [0], startIndexMap = [0], indexVectorDim = 2> sizes = [1, 64]
         : tensor<100x64xf32>, tensor<8x16x1xi32> -> tensor<8x16x64xf32>
    ```
  }];
  let arguments = (ins AnyStaticShapeTensor:$operand, StaticShapeTensorOf<[AnyInteger]>:$indices, Net_GatherDimsAttr:$dims,
                       DenseI64ArrayAttr:$sizes);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$operand `,` $indices $dims `sizes` `=` $sizes attr-dict `:` type($operand) `,` type($indices) `->` type($result)";
  let hasVerifier = 1;
}

def Net_ScatterOp : Net_Op<"scatter", [Pure]> {
  let summary = "combines updates into a tensor at positions that another tensor holds";
  let description = [{
    Has the semantics of StableHLO's `scatter`: updates outside of the operand are dropped. Updates of the same element
    are combined in row-major order of `updates`.

    - **C1**: the dimension lists are in range, sorted and distinct, and the index vectors in `indices` have the size
      that they require.
    - **C2**: `updates` has the shape that follows from `dims` and the shape of `indices`.
    - **C3**: operand, updates and result have the same element type, operand and result the same type.

    Example:
    ```mlir
    %3 = net.scatter add %0, %1, %2 <updateWindowDims = [2], insertedDims = [0], scatterDimsToOperandDims = [0], indexVectorDim = 2>
         : tensor<100x64xf32>, tensor<8x16x1xi32>, tensor<8x16x64xf32> -> tensor<100x64xf32>
    ```
  }];
  let arguments = (ins Net_ScatterKindAttr:$kind, AnyStaticShapeTensor:$operand, StaticShapeTensorOf<[AnyInteger]>:$indices,
                       AnyStaticShapeTensor:$updates, Net_ScatterDimsAttr:$dims);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "`` $kind $operand `,` $indices `,` $updates $dims attr-dict `:` type($operand) `,` type($indices) `,` type($updates) `->` type($result)";
  let hasVerifier = 1;
}

#endif
