//===- Window.td - operations that slide a window over a tensor -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_WINDOW_TD
#define MESHWRIGHT_DIALECTS_NET_WINDOW_TD

include "dialects/Net/NetBase.td"

def Net_ConvolutionOp : Net_Op<"convolution", [Pure]> {
  let summary = "slides a kernel over a tensor and sums what it meets";
  let description = [{
    As StableHLO defines it. Along each spatial dimension `lhs` is spread (`lhs_dilation` − 1 zeros between neighbours), surrounded by
    `low` and `high` zeros (cut, where they are negative), and met by `rhs`, spread by `rhs_dilation`, at every `strides`-th
    place, backwards where `reversed`. Features are in `groups` parts that do not see each other, or the batch is in
    `batch_groups` parts, each with its own output features. Sums are taken in the wider of f32 and the operand's type and
    converted to the result's.

    - **C1**: the dimension numbers name every dimension of each tensor once; all have equally many spatial ones.
    - **C2**: strides, paddings, dilations and `reversed` have one entry per spatial dimension; strides and dilations are positive.
    - **C3**: groups are positive, one of the two is 1, and they divide what they split: the input features and the output
      features, or the batch and the output features.
    - **C4**: the input features of a group are as many as `rhs` has.
    - **C5**: the result's shape follows.

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
    /// Whether spatial dimension `index` is one of no convolution: every index of the result meets its own of `lhs`.
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
  let summary = "reduces what a sliding window shows of a tensor";
  let description = [{
    Along each dimension the operand is spread (`base_dilation` − 1 gaps between neighbours) and surrounded by `low` and
    `high` gaps (cut, where they are negative); a window of `sizes` elements, `window_dilation` apart, stands at every
    `strides`-th place. An element of the result reduces the elements in its window from the neutral element; gaps count nothing.

    - **C1**: every list has one entry per dimension; sizes, strides and dilations are positive.
    - **C2**: the result's shape follows.

    Example:
    ```mlir
    %1 = net.reduce_window max %0 sizes = [1, 2, 2, 1] strides = [1, 2, 2, 1] low = [0, 0, 0, 0] high = [0, 0, 0, 0]
         base_dilation = [1, 1, 1, 1] window_dilation = [1, 1, 1, 1] : tensor<8x32x32x3xf32> -> tensor<8x16x16x3xf32>
    ```
  }];
  let arguments = (ins Dist_ReduceKindAttr:$kind, AnyStaticShapeTensor:$operand, DenseI64ArrayAttr:$sizes,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high,
                       DenseI64ArrayAttr:$base_dilation, DenseI64ArrayAttr:$window_dilation);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "`` $kind $operand `sizes` `=` $sizes `strides` `=` $strides `low` `=` $low `high` `=` $high `base_dilation` `=` $base_dilation `window_dilation` `=` $window_dilation attr-dict `:` type($operand) `->` type($result)";
}

def Net_SelectAndScatterOp : Net_WindowOp<"select_and_scatter"> {
  let summary = "adds numbers where a sliding window found its largest or smallest element";
  let description = [{
    The window slides as in `net.reduce_window`. In row-major order it keeps the element that it holds while that is at least (for `min`
    at most) the next, so that among equals it finds the first; from NaN it goes on, as StableHLO's comparison does. To the
    element that it finds, the element of `source` is added that stands at the window's place; the others are zero. What
    several windows add to one element is added in the order of the windows.

    - **C1**: every list has one entry per dimension; sizes, strides and dilations are positive.
    - **C2**: the result has the operand's type; `source` is of the shape that the windows make.

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
