// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

// Tests convolution_c1: a dimension that is named twice, left out or not there.
func.func @convolution_c1_twice(%x: tensor<8x32x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error @below {{names dimension 0 of the left operand of rank 3, which is not there or stands twice}}
  %0 = net.convolution %x, %w <lhsBatch = 0, lhsFeature = 0, lhsSpatial = [1], rhsInput = 1, rhsOutput = 2, rhsSpatial = [0], outBatch = 0, outFeature = 2, outSpatial = [1]> strides = [1] low = [1] high = [1] lhs_dilation = [1] rhs_dilation = [1] reversed = [false] groups = 1 x 1 : tensor<8x32x4xf32>, tensor<3x4x6xf32> -> tensor<8x32x6xf32>
  return
}

// -----

func.func @convolution_c1_range(%x: tensor<8x32x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error @below {{names dimension 3 of the result of rank 3, which is not there or stands twice}}
  %0 = net.convolution %x, %w <lhsBatch = 0, lhsFeature = 2, lhsSpatial = [1], rhsInput = 1, rhsOutput = 2, rhsSpatial = [0], outBatch = 0, outFeature = 3, outSpatial = [1]> strides = [1] low = [1] high = [1] lhs_dilation = [1] rhs_dilation = [1] reversed = [false] groups = 1 x 1 : tensor<8x32x4xf32>, tensor<3x4x6xf32> -> tensor<8x32x6xf32>
  return
}

// -----

func.func @convolution_c1_rank(%x: tensor<8x32x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error @below {{names 2 dimensions of the right operand of rank 3}}
  %0 = net.convolution %x, %w <lhsBatch = 0, lhsFeature = 2, lhsSpatial = [1], rhsInput = 1, rhsOutput = 2, rhsSpatial = [], outBatch = 0, outFeature = 2, outSpatial = [1]> strides = [1] low = [1] high = [1] lhs_dilation = [1] rhs_dilation = [1] reversed = [false] groups = 1 x 1 : tensor<8x32x4xf32>, tensor<3x4x6xf32> -> tensor<8x32x6xf32>
  return
}

// -----

func.func @convolution_c1_spatial(%x: tensor<8x32x4xf32>, %w: tensor<4x6xf32>) {
  // expected-error @below {{has 1, 0 and 1 spatial dimensions}}
  %0 = net.convolution %x, %w <lhsBatch = 0, lhsFeature = 2, lhsSpatial = [1], rhsInput = 0, rhsOutput = 1, rhsSpatial = [], outBatch = 0, outFeature = 2, outSpatial = [1]> strides = [1] low = [1] high = [1] lhs_dilation = [1] rhs_dilation = [1] reversed = [false] groups = 1 x 1 : tensor<8x32x4xf32>, tensor<4x6xf32> -> tensor<8x32x6xf32>
  return
}

// -----

// Tests convolution_c2: lists of other lengths, and numbers that are not positive.
func.func @convolution_c2_strides(%x: tensor<8x32x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error @below {{has 2 strides for 1 dimensions}}
  %0 = net.convolution %x, %w <lhsBatch = 0, lhsFeature = 2, lhsSpatial = [1], rhsInput = 1, rhsOutput = 2, rhsSpatial = [0], outBatch = 0, outFeature = 2, outSpatial = [1]> strides = [1, 1] low = [1] high = [1] lhs_dilation = [1] rhs_dilation = [1] reversed = [false] groups = 1 x 1 : tensor<8x32x4xf32>, tensor<3x4x6xf32> -> tensor<8x32x6xf32>
  return
}

// -----

func.func @convolution_c2_stride_zero(%x: tensor<8x32x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error @below {{has 0 among its strides, which are positive}}
  %0 = net.convolution %x, %w <lhsBatch = 0, lhsFeature = 2, lhsSpatial = [1], rhsInput = 1, rhsOutput = 2, rhsSpatial = [0], outBatch = 0, outFeature = 2, outSpatial = [1]> strides = [0] low = [1] high = [1] lhs_dilation = [1] rhs_dilation = [1] reversed = [false] groups = 1 x 1 : tensor<8x32x4xf32>, tensor<3x4x6xf32> -> tensor<8x32x6xf32>
  return
}

// -----

func.func @convolution_c2_low(%x: tensor<8x32x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error @below {{has 0 low paddings for 1 dimensions}}
  %0 = net.convolution %x, %w <lhsBatch = 0, lhsFeature = 2, lhsSpatial = [1], rhsInput = 1, rhsOutput = 2, rhsSpatial = [0], outBatch = 0, outFeature = 2, outSpatial = [1]> strides = [1] low = [] high = [1] lhs_dilation = [1] rhs_dilation = [1] reversed = [false] groups = 1 x 1 : tensor<8x32x4xf32>, tensor<3x4x6xf32> -> tensor<8x32x6xf32>
  return
}

// -----

func.func @convolution_c2_high(%x: tensor<8x32x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error @below {{has 2 high paddings for 1 dimensions}}
  %0 = net.convolution %x, %w <lhsBatch = 0, lhsFeature = 2, lhsSpatial = [1], rhsInput = 1, rhsOutput = 2, rhsSpatial = [0], outBatch = 0, outFeature = 2, outSpatial = [1]> strides = [1] low = [1] high = [0, 0] lhs_dilation = [1] rhs_dilation = [1] reversed = [false] groups = 1 x 1 : tensor<8x32x4xf32>, tensor<3x4x6xf32> -> tensor<8x32x6xf32>
  return
}

// -----

func.func @convolution_c2_lhs_dilation(%x: tensor<8x32x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error @below {{has -1 among its lhs dilations, which are positive}}
  %0 = net.convolution %x, %w <lhsBatch = 0, lhsFeature = 2, lhsSpatial = [1], rhsInput = 1, rhsOutput = 2, rhsSpatial = [0], outBatch = 0, outFeature = 2, outSpatial = [1]> strides = [1] low = [1] high = [1] lhs_dilation = [-1] rhs_dilation = [1] reversed = [false] groups = 1 x 1 : tensor<8x32x4xf32>, tensor<3x4x6xf32> -> tensor<8x32x6xf32>
  return
}

// -----

func.func @convolution_c2_rhs_dilation(%x: tensor<8x32x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error @below {{has 0 rhs dilations for 1 dimensions}}
  %0 = net.convolution %x, %w <lhsBatch = 0, lhsFeature = 2, lhsSpatial = [1], rhsInput = 1, rhsOutput = 2, rhsSpatial = [0], outBatch = 0, outFeature = 2, outSpatial = [1]> strides = [1] low = [1] high = [1] lhs_dilation = [1] rhs_dilation = [] reversed = [false] groups = 1 x 1 : tensor<8x32x4xf32>, tensor<3x4x6xf32> -> tensor<8x32x6xf32>
  return
}

// -----

func.func @convolution_c2_reversed(%x: tensor<8x32x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error @below {{has 2 reversals for 1 dimensions}}
  %0 = net.convolution %x, %w <lhsBatch = 0, lhsFeature = 2, lhsSpatial = [1], rhsInput = 1, rhsOutput = 2, rhsSpatial = [0], outBatch = 0, outFeature = 2, outSpatial = [1]> strides = [1] low = [1] high = [1] lhs_dilation = [1] rhs_dilation = [1] reversed = [true, false] groups = 1 x 1 : tensor<8x32x4xf32>, tensor<3x4x6xf32> -> tensor<8x32x6xf32>
  return
}

// -----

// Tests convolution_c3: groups that do not divide what they split.
func.func @convolution_c3_both(%x: tensor<8x32x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error @below {{has 2 groups of features and 2 of the batch; both are positive and one is 1}}
  %0 = net.convolution %x, %w <lhsBatch = 0, lhsFeature = 2, lhsSpatial = [1], rhsInput = 1, rhsOutput = 2, rhsSpatial = [0], outBatch = 0, outFeature = 2, outSpatial = [1]> strides = [1] low = [1] high = [1] lhs_dilation = [1] rhs_dilation = [1] reversed = [false] groups = 2 x 2 : tensor<8x32x4xf32>, tensor<3x4x6xf32> -> tensor<8x32x6xf32>
  return
}

// -----

func.func @convolution_c3_zero(%x: tensor<8x32x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error @below {{has 0 groups of features and 1 of the batch; both are positive and one is 1}}
  %0 = net.convolution %x, %w <lhsBatch = 0, lhsFeature = 2, lhsSpatial = [1], rhsInput = 1, rhsOutput = 2, rhsSpatial = [0], outBatch = 0, outFeature = 2, outSpatial = [1]> strides = [1] low = [1] high = [1] lhs_dilation = [1] rhs_dilation = [1] reversed = [false] groups = 0 x 1 : tensor<8x32x4xf32>, tensor<3x4x6xf32> -> tensor<8x32x6xf32>
  return
}

// -----

func.func @convolution_c3_features(%x: tensor<8x32x4xf32>, %w: tensor<3x1x6xf32>) {
  // expected-error @below {{has 4 groups of 4 input and 6 output features}}
  %0 = net.convolution %x, %w <lhsBatch = 0, lhsFeature = 2, lhsSpatial = [1], rhsInput = 1, rhsOutput = 2, rhsSpatial = [0], outBatch = 0, outFeature = 2, outSpatial = [1]> strides = [1] low = [1] high = [1] lhs_dilation = [1] rhs_dilation = [1] reversed = [false] groups = 4 x 1 : tensor<8x32x4xf32>, tensor<3x1x6xf32> -> tensor<8x32x6xf32>
  return
}

// -----

func.func @convolution_c3_batch(%x: tensor<8x32x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error @below {{has 3 groups of a batch of 8 and of 6 output features}}
  %0 = net.convolution %x, %w <lhsBatch = 0, lhsFeature = 2, lhsSpatial = [1], rhsInput = 1, rhsOutput = 2, rhsSpatial = [0], outBatch = 0, outFeature = 2, outSpatial = [1]> strides = [1] low = [1] high = [1] lhs_dilation = [1] rhs_dilation = [1] reversed = [false] groups = 1 x 3 : tensor<8x32x4xf32>, tensor<3x4x6xf32> -> tensor<8x32x6xf32>
  return
}

// -----

// Tests convolution_c4: a kernel for other features.
func.func @convolution_c4(%x: tensor<8x32x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error @below {{has 2 input features in a group but a kernel for 4}}
  %0 = net.convolution %x, %w <lhsBatch = 0, lhsFeature = 2, lhsSpatial = [1], rhsInput = 1, rhsOutput = 2, rhsSpatial = [0], outBatch = 0, outFeature = 2, outSpatial = [1]> strides = [1] low = [1] high = [1] lhs_dilation = [1] rhs_dilation = [1] reversed = [false] groups = 2 x 1 : tensor<8x32x4xf32>, tensor<3x4x6xf32> -> tensor<8x32x6xf32>
  return
}

// -----

// Tests convolution_c5: other shapes of the result, and sizes that cannot be counted.
func.func @convolution_c5_shape(%x: tensor<8x32x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error @below {{has a result of shape [8, 31, 6] but its operands and attributes make [8, 32, 6]}}
  %0 = net.convolution %x, %w <lhsBatch = 0, lhsFeature = 2, lhsSpatial = [1], rhsInput = 1, rhsOutput = 2, rhsSpatial = [0], outBatch = 0, outFeature = 2, outSpatial = [1]> strides = [1] low = [1] high = [1] lhs_dilation = [1] rhs_dilation = [1] reversed = [false] groups = 1 x 1 : tensor<8x32x4xf32>, tensor<3x4x6xf32> -> tensor<8x31x6xf32>
  return
}

// -----

func.func @convolution_c5_overflow(%x: tensor<8x32x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error @below {{spreads and pads dimension 1 of size 32 beyond what 64 bits count}}
  %0 = net.convolution %x, %w <lhsBatch = 0, lhsFeature = 2, lhsSpatial = [1], rhsInput = 1, rhsOutput = 2, rhsSpatial = [0], outBatch = 0, outFeature = 2, outSpatial = [1]> strides = [1] low = [9223372036854775807] high = [1] lhs_dilation = [1] rhs_dilation = [1] reversed = [false] groups = 1 x 1 : tensor<8x32x4xf32>, tensor<3x4x6xf32> -> tensor<8x32x6xf32>
  return
}

// -----

// Tests reduce_window_c1: lists of other lengths, and numbers that are not positive.
func.func @reduce_window_c3(%x: tensor<8x32xf32>) {
  // expected-error @below {{reduces by tree, which is of placements and collectives; it is sum here}}
  %0 = net.reduce_window tree %x sizes = [1, 3] strides = [1, 1] low = [0, 1] high = [0, 1] base_dilation = [1, 1] window_dilation = [1, 1] : tensor<8x32xf32> -> tensor<8x32xf32>
  return
}

// -----

func.func @reduce_window_c1_sizes(%x: tensor<8x32xf32>) {
  // expected-error @below {{has 1 window sizes for 2 dimensions}}
  %0 = net.reduce_window sum %x sizes = [3] strides = [1, 1] low = [0, 1] high = [0, 1] base_dilation = [1, 1] window_dilation = [1, 1] : tensor<8x32xf32> -> tensor<8x32xf32>
  return
}

// -----

func.func @reduce_window_c1_empty(%x: tensor<8x32xf32>) {
  // expected-error @below {{has 0 among its window sizes, which are positive}}
  %0 = net.reduce_window sum %x sizes = [1, 0] strides = [1, 1] low = [0, 1] high = [0, 1] base_dilation = [1, 1] window_dilation = [1, 1] : tensor<8x32xf32> -> tensor<8x32xf32>
  return
}

// -----

func.func @reduce_window_c1_strides(%x: tensor<8x32xf32>) {
  // expected-error @below {{has 0 among its strides, which are positive}}
  %0 = net.reduce_window sum %x sizes = [1, 3] strides = [0, 1] low = [0, 1] high = [0, 1] base_dilation = [1, 1] window_dilation = [1, 1] : tensor<8x32xf32> -> tensor<8x32xf32>
  return
}

// -----

func.func @reduce_window_c1_low(%x: tensor<8x32xf32>) {
  // expected-error @below {{has 3 low paddings for 2 dimensions}}
  %0 = net.reduce_window sum %x sizes = [1, 3] strides = [1, 1] low = [0, 0, 0] high = [0, 1] base_dilation = [1, 1] window_dilation = [1, 1] : tensor<8x32xf32> -> tensor<8x32xf32>
  return
}

// -----

func.func @reduce_window_c1_base(%x: tensor<8x32xf32>) {
  // expected-error @below {{has 0 among its base dilations, which are positive}}
  %0 = net.reduce_window sum %x sizes = [1, 3] strides = [1, 1] low = [0, 1] high = [0, 1] base_dilation = [1, 0] window_dilation = [1, 1] : tensor<8x32xf32> -> tensor<8x32xf32>
  return
}

// -----

func.func @reduce_window_c1_window(%x: tensor<8x32xf32>) {
  // expected-error @below {{has 1 window dilations for 2 dimensions}}
  %0 = net.reduce_window sum %x sizes = [1, 3] strides = [1, 1] low = [0, 1] high = [0, 1] base_dilation = [1, 1] window_dilation = [1] : tensor<8x32xf32> -> tensor<8x32xf32>
  return
}

// -----

// Tests reduce_window_c2: another shape, and sizes that cannot be counted.
func.func @reduce_window_c2_shape(%x: tensor<8x32xf32>) {
  // expected-error @below {{has a result of shape [8, 30] but its operands and attributes make [8, 32]}}
  %0 = net.reduce_window sum %x sizes = [1, 3] strides = [1, 1] low = [0, 1] high = [0, 1] base_dilation = [1, 1] window_dilation = [1, 1] : tensor<8x32xf32> -> tensor<8x30xf32>
  return
}

// -----

func.func @reduce_window_c2_overflow(%x: tensor<8x32xf32>) {
  // expected-error @below {{spreads and pads dimension 1 of size 32 beyond what 64 bits count}}
  %0 = net.reduce_window sum %x sizes = [1, 3] strides = [1, 1] low = [0, 1] high = [0, 1] base_dilation = [1, 1] window_dilation = [1, 9223372036854775807] : tensor<8x32xf32> -> tensor<8x32xf32>
  return
}

// -----

// Tests select_and_scatter_c1: a list of another length.
func.func @select_and_scatter_c1(%x: tensor<8x32xf32>, %s: tensor<8x16xf32>) {
  // expected-error @below {{has 3 window sizes for 2 dimensions}}
  %0 = net.select_and_scatter max %x, %s sizes = [1, 2, 1] strides = [1, 2] low = [0, 0] high = [0, 0] base_dilation = [1, 1] window_dilation = [1, 1] : tensor<8x32xf32>, tensor<8x16xf32> -> tensor<8x32xf32>
  return
}

// -----

// Tests select_and_scatter_c2: a source of another shape.
func.func @select_and_scatter_c2_source(%x: tensor<8x32xf32>, %s: tensor<8x16xf32>) {
  // expected-error @below {{has a source of shape [8, 16] but its operands and attributes make [8, 15]}}
  %0 = net.select_and_scatter max %x, %s sizes = [1, 3] strides = [1, 2] low = [0, 0] high = [0, 0] base_dilation = [1, 1] window_dilation = [1, 1] : tensor<8x32xf32>, tensor<8x16xf32> -> tensor<8x32xf32>
  return
}

// -----

// Tests select_and_scatter_c2: a result that is not like the operand.
func.func @select_and_scatter_c2_result(%x: tensor<8x32xf32>, %s: tensor<8x16xf32>) {
  // expected-error @below {{has a result of shape [8, 16] but its operands and attributes make [8, 32]}}
  %0 = net.select_and_scatter max %x, %s sizes = [1, 2] strides = [1, 2] low = [0, 0] high = [0, 0] base_dilation = [1, 1] window_dilation = [1, 1] : tensor<8x32xf32>, tensor<8x16xf32> -> tensor<8x16xf32>
  return
}
