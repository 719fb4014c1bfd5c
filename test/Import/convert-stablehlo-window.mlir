// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-import-convert-stablehlo -split-input-file -verify-diagnostics | FileCheck %s

// Tests that a convolution is read in its short and its generic form, and that what is left out of a window is the plain one.

// CHECK-LABEL: func @convolution
func.func @convolution(%x: tensor<8x32x32x3xf32>, %w: tensor<3x3x3x16xf32>) -> (tensor<8x16x30x16xf32>, tensor<8x16x30x16xf32>, tensor<8x30x30x16xf32>) {
  // CHECK-NEXT: net.convolution %arg0, %arg1 <lhsBatch = 0, lhsFeature = 3, lhsSpatial = [1, 2], rhsInput = 2, rhsOutput = 3, rhsSpatial = [0, 1], outBatch = 0, outFeature = 3, outSpatial = [1, 2]> strides = [2, 1] low = [1, 0] high = [1, 2] lhs_dilation = [1, 1] rhs_dilation = [1, 2] reversed = [false, true] groups = 1 x 1
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[1, 1], [0, 2]], lhs_dilate = [1, 1], rhs_dilate = [1, 2], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<8x32x32x3xf32>, tensor<3x3x3x16xf32>) -> tensor<8x16x30x16xf32>
  // CHECK-NEXT: net.convolution %arg0, %arg1 <lhsBatch = 0, lhsFeature = 3, lhsSpatial = [1, 2], rhsInput = 2, rhsOutput = 3, rhsSpatial = [0, 1], outBatch = 0, outFeature = 3, outSpatial = [1, 2]> strides = [2, 1] low = [1, 0] high = [1, 2] lhs_dilation = [1, 1] rhs_dilation = [1, 2] reversed = [false, true] groups = 1 x 1
  %1 = "stablehlo.convolution"(%x, %w) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[1, 1], [0, 2]]> : tensor<2x2xi64>, rhs_dilation = dense<[1, 2]> : tensor<2xi64>, window_reversal = array<i1: false, true>, window_strides = array<i64: 2, 1>}> : (tensor<8x32x32x3xf32>, tensor<3x3x3x16xf32>) -> tensor<8x16x30x16xf32>
  // CHECK-NEXT: strides = [1, 1] low = [0, 0] high = [0, 0] lhs_dilation = [1, 1] rhs_dilation = [1, 1] reversed = [false, false] groups = 1 x 1
  %2 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x32x32x3xf32>, tensor<3x3x3x16xf32>) -> tensor<8x30x30x16xf32>
  return %0, %1, %2 : tensor<8x16x30x16xf32>, tensor<8x16x30x16xf32>, tensor<8x30x30x16xf32>
}

// Tests dimensions in other orders, groups of both kinds and no spatial dimensions.

// CHECK-LABEL: func @groups
func.func @groups(%x: tensor<6x2x9xf32>, %w: tensor<6x2x3xf32>, %a: tensor<6x4xf32>, %b: tensor<6x4xf32>) -> (tensor<9x6x4xf32>, tensor<2x6xf32>) {
  // CHECK-NEXT: <lhsBatch = 2, lhsFeature = 0, lhsSpatial = [1], rhsInput = 1, rhsOutput = 0, rhsSpatial = [2], outBatch = 0, outFeature = 1, outSpatial = [2]> strides = [1] low = [2] high = [2] lhs_dilation = [1] rhs_dilation = [1] reversed = [false] groups = 3 x 1
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [f, 0, b]x[o, i, 0]->[b, f, 0], window = {pad = [[2, 2]]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<6x2x9xf32>, tensor<6x2x3xf32>) -> tensor<9x6x4xf32>
  // CHECK-NEXT: <lhsBatch = 0, lhsFeature = 1, rhsInput = 1, rhsOutput = 0, outBatch = 0, outFeature = 1> strides = [] low = [] high = [] lhs_dilation = [] rhs_dilation = [] reversed = [] groups = 1 x 3
  %1 = stablehlo.convolution(%a, %b) dim_numbers = [b, f]x[o, i]->[b, f], window = {stride = [], pad = [], lhs_dilate = [], rhs_dilate = [], reverse = []} {batch_group_count = 3 : i64, feature_group_count = 1 : i64} : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<2x6xf32>
  return %0, %1 : tensor<9x6x4xf32>, tensor<2x6xf32>
}

// Tests windows, with an initial value that counts, and of booleans.

// CHECK-LABEL: func @reduce_window
func.func @reduce_window(%x: tensor<4x9xf32>, %c: tensor<f32>, %p: tensor<6xi1>) -> (tensor<4x5xf32>, tensor<4x5xf32>, tensor<3xi1>) {
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %no = stablehlo.constant dense<false> : tensor<i1>
  // CHECK: %[[MAX:.*]] = net.reduce_window max %arg0 sizes = [1, 3] strides = [1, 2] low = [0, 1] high = [0, 1] base_dilation = [1, 1] window_dilation = [1, 1]
  %0 = "stablehlo.reduce_window"(%x, %lowest) <{base_dilations = array<i64: 1, 1>, padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %3 = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %3 : tensor<f32>
  }) : (tensor<4x9xf32>, tensor<f32>) -> tensor<4x5xf32>
  // CHECK: %[[SUM:.*]] = net.reduce_window sum %arg0
  // CHECK: %[[START:.*]] = net.broadcast %arg1 dims = []
  // CHECK: net.add %[[START]], %[[SUM]]
  %1 = "stablehlo.reduce_window"(%x, %c) <{padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %3 = stablehlo.add %b, %a : tensor<f32>
    stablehlo.return %3 : tensor<f32>
  }) : (tensor<4x9xf32>, tensor<f32>) -> tensor<4x5xf32>
  // CHECK: net.reduce_window or %arg2
  %2 = "stablehlo.reduce_window"(%p, %no) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<i1>, %b: tensor<i1>):
    %3 = stablehlo.maximum %a, %b : tensor<i1>
    stablehlo.return %3 : tensor<i1>
  }) : (tensor<6xi1>, tensor<i1>) -> tensor<3xi1>
  return %0, %1, %2 : tensor<4x5xf32>, tensor<4x5xf32>, tensor<3xi1>
}

// Tests that a window over all that comes before becomes pairs, pairs of pairs and so on, and never a window.

// CHECK-LABEL: func @running_sum
// CHECK-NOT: net.reduce_window
func.func @running_sum(%x: tensor<2x5xf32>) -> tensor<2x5xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  // CHECK: %[[FIRST:.*]] = net.slice %arg0 starts = [0, 0] limits = [2, 3] steps = [1, 2] : tensor<2x5xf32> -> tensor<2x2xf32>
  // CHECK-NEXT: %[[SECOND:.*]] = net.slice %arg0 starts = [0, 1] limits = [2, 4] steps = [1, 2] : tensor<2x5xf32> -> tensor<2x2xf32>
  // CHECK-NEXT: %[[PAIRS:.*]] = net.add %[[FIRST]], %[[SECOND]] : tensor<2x2xf32>
  // CHECK: return %{{.*}} : tensor<2x5xf32>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<[[0, 0], [4, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 5>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<2x5xf32>, tensor<f32>) -> tensor<2x5xf32>
  return %0 : tensor<2x5xf32>
}

// CHECK-LABEL: func @select_and_scatter
func.func @select_and_scatter(%x: tensor<4x9xf32>, %s: tensor<4x5xf32>) -> tensor<4x9xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  // CHECK: net.select_and_scatter min %arg0, %arg1 sizes = [1, 3] strides = [1, 2] low = [0, 1] high = [0, 1]
  // CHECK-NEXT: return
  %0 = "stablehlo.select_and_scatter"(%x, %s, %zero) <{padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare LE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4x9xf32>, tensor<4x5xf32>, tensor<f32>) -> tensor<4x9xf32>
  return %0 : tensor<4x9xf32>
}
