//===- Window.td - operations that slide a window over a tensor -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_WINDOW_TD
#define MESHWRIGHT_DIALECTS_NET_WINDOW_TD

include "dialects/Net/NetBase.td"

def Net_ConvolutionOp : Net_Op<"convolution", [Pure, Computation]> {
  let summary = "convolution of a tensor with a kernel";
  let description = [{
    Has the semantics of StableHLO's `convolution`. Along each spatial dimension `lhs` is dilated (`lhs_dilation` − 1
    zeros between neighbours) and padded by `low` and `high` zeros (negative padding removes elements). The kernel
    `rhs`, dilated by `rhs_dilation` and flipped if `reversed`, is applied at every `strides`-th position. `groups`
    divides the input and output features into independent groups; `batch_groups` divides the batch into groups, each
    with its own output features. Sums are computed in the wider of f32 and the operands' type and converted to the type
    of the result.

    - **C1**: the dimension numbers name every dimension of each tensor once; all tensors have equally many spatial
      dimensions.
    - **C2**: strides, paddings, dilations and `reversed` have one entry per spatial dimension; strides and dilations are positive.
    - **C3**: both numbers of groups are positive and one of them is 1. `groups` divides the input and the output
      features, `batch_groups` the batch and the output features.
    - **C4**: a group of `lhs` has as many input features as `rhs`.
    - **C5**: the result has the shape that follows from the operands and attributes.

    Example:
    ```mlir
    %2 = net.convolution %0, %1 <lhsBatch = 0, lhsFeature = 3, lhsSpatial = [1, 2], rhsInput = 2, rhsOutput = 3,
                                 rhsSpatial = [0, 1], outBatch = 0, outFeature = 3, outSpatial = [1, 2]>
         strides = [2, 2] low = [1, 1] high = [1, 1] lhs_dilation = [1, 1] rhs_dilation = [1, 1] reversed = [false, false]
         groups = 1 x 1 : tensor<8x32x32x3xf32>, tensor<3x3x3x16xf32> -> tensor<8x16x16x16xf32>
    ```
  }];
  let arguments = (ins AnyStaticShapeTensor:$lhs, AnyStaticShapeTensor:$rhs, Net_ConvolutionDimsAttr:$dims,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high,
                       DenseI64ArrayAttr:$lhs_dilation, DenseI64ArrayAttr:$rhs_dilation, DenseBoolArrayAttr:$reversed,
                       I64Attr:$groups, I64Attr:$batch_groups);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs $dims `strides` `=` $strides `low` `=` $low `high` `=` $high `lhs_dilation` `=` $lhs_dilation `rhs_dilation` `=` $rhs_dilation `reversed` `=` $reversed `groups` `=` $groups `x` $batch_groups attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The window along spatial dimension `index`.
    ::meshwright::net::WindowDim getWindow(unsigned index);
    /// True if spatial dimension `index` is not convolved: element i of the result depends on element i of `lhs` alone.
    bool isPointwise(unsigned index);
  }];
}

class Net_WindowOp<string mnem> : Net_Op<mnem, [Pure, SameOperandsAndResultElementType]> {
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The window along dimension `index`.
    ::meshwright::net::WindowDim getWindow(unsigned index);
  }];
}

def Net_ReduceWindowOp : Net_WindowOp<"reduce_window"> {
  let summary = "reduces a tensor in sliding windows (pooling)";
  let description = [{
    Along each dimension the operand is dilated (`base_dilation` − 1 gaps between neighbours) and padded by `low` and
    `high` gaps (negative padding removes elements). A window of `sizes` elements, `window_dilation` apart, is applied
    at every `strides`-th position. Each element of the result is the reduction of the elements in one window, starting
    from the neutral element; gaps are ignored.

    - **C1**: every list has one entry per dimension; sizes, strides and dilations are positive.
    - **C2**: the result has one element per position of the window.
    - **C3**: the kind is not `tree`.

    Example:
    ```mlir
    %1 = net.reduce_window max %0 sizes = [1, 2, 2, 1] strides = [1, 2, 2, 1] low = [0, 0, 0, 0] high = [0, 0, 0, 0]
         base_dilation = [1, 1, 1, 1] window_dilation = [1, 1, 1, 1] : tensor<8x32x32x3xf32> -> tensor<8x16x16x3xf32>
    ```
  }];
  let arguments = (ins Net_ReduceKindAttr:$kind, AnyStaticShapeTensor:$operand, DenseI64ArrayAttr:$sizes,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high,
                       DenseI64ArrayAttr:$base_dilation, DenseI64ArrayAttr:$window_dilation);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "`` $kind $operand `sizes` `=` $sizes `strides` `=` $strides `low` `=` $low `high` `=` $high `base_dilation` `=` $base_dilation `window_dilation` `=` $window_dilation attr-dict `:` type($operand) `->` type($result)";
}

def Net_SelectAndScatterOp : Net_WindowOp<"select_and_scatter"> {
  let summary = "scatters into the largest or smallest element of every window (gradient of pooling)";
  let description = [{
    Windows are those of `net.reduce_window`. Each window selects an element: it goes through its elements in row-major
    order and keeps the selected one while it compares `>=` (for `min`, `<=`) to the next, so the first of equal
    elements is selected and a NaN is always replaced by the next element, as by StableHLO's comparison. The element of
    `source` at the window's position is added to the result at the selected element; all other elements of the result
    are zero. Several additions to one element take place in the order of the windows.

    - **C1**: every list has one entry per dimension; sizes, strides and dilations are positive.
    - **C2**: the result has the operand's type; `source` has one element per position of the window.

    Example:
    ```mlir
    %2 = net.select_and_scatter max %0, %1 sizes = [2] strides = [2] low = [0] high = [0] base_dilation = [1]
         window_dilation = [1] : tensor<8xf32>, tensor<4xf32> -> tensor<8xf32>
    ```
  }];
  let arguments = (ins Net_ArgKindAttr:$kind, AnyStaticShapeTensor:$operand, AnyStaticShapeTensor:$source,
                       DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$low,
                       DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$base_dilation, DenseI64ArrayAttr:$window_dilation);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "`` $kind $operand `,` $source `sizes` `=` $sizes `strides` `=` $strides `low` `=` $low `high` `=` $high `base_dilation` `=` $base_dilation `window_dilation` `=` $window_dilation attr-dict `:` type($operand) `,` type($source) `->` type($result)";
}

#endif
