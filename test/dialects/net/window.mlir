// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s | dist-opt - | FileCheck %s
// RUN: dist-opt %s --mlir-print-op-generic | dist-opt - | FileCheck %s

// Tests that operations with windows print as they are written.

// CHECK-LABEL: @convolution
func.func @convolution(%x: tensor<8x32x32x3xf32>, %w: tensor<3x3x3x16xf32>) {
  // CHECK: net.convolution %{{.*}}, %{{.*}} <lhsBatch = 0, lhsFeature = 3, lhsSpatial = [1, 2], rhsInput = 2, rhsOutput = 3, rhsSpatial = [0, 1], outBatch = 0, outFeature = 3, outSpatial = [1, 2]> strides = [2, 2] low = [1, 1] high = [1, 1] lhs_dilation = [1, 1] rhs_dilation = [1, 1] reversed = [false, true] groups = 1 x 1 : tensor<8x32x32x3xf32>, tensor<3x3x3x16xf32> -> tensor<8x16x16x16xf32>
  %0 = net.convolution %x, %w <lhsBatch = 0, lhsFeature = 3, lhsSpatial = [1, 2], rhsInput = 2, rhsOutput = 3, rhsSpatial = [0, 1], outBatch = 0, outFeature = 3, outSpatial = [1, 2]>
       strides = [2, 2] low = [1, 1] high = [1, 1] lhs_dilation = [1, 1] rhs_dilation = [1, 1] reversed = [false, true] groups = 1 x 1
       : tensor<8x32x32x3xf32>, tensor<3x3x3x16xf32> -> tensor<8x16x16x16xf32>
  return
}

// CHECK-LABEL: @without_spatial_dimensions
func.func @without_spatial_dimensions(%x: tensor<6x4xf64>, %w: tensor<6x4xf64>) {
  // CHECK: net.convolution %{{.*}}, %{{.*}} <lhsBatch = 0, lhsFeature = 1, rhsInput = 1, rhsOutput = 0, outBatch = 0, outFeature = 1> strides = [] low = [] high = [] lhs_dilation = [] rhs_dilation = [] reversed = [] groups = 1 x 3
  %0 = net.convolution %x, %w <lhsBatch = 0, lhsFeature = 1, rhsInput = 1, rhsOutput = 0, outBatch = 0, outFeature = 1>
       strides = [] low = [] high = [] lhs_dilation = [] rhs_dilation = [] reversed = [] groups = 1 x 3
       : tensor<6x4xf64>, tensor<6x4xf64> -> tensor<2x6xf64>
  return
}

// CHECK-LABEL: @windows
func.func @windows(%x: tensor<8x32xf32>, %s: tensor<8x17xf32>) {
  // CHECK: net.reduce_window max %{{.*}} sizes = [1, 3] strides = [1, 2] low = [0, 1] high = [0, 2] base_dilation = [1, 1] window_dilation = [1, 1] : tensor<8x32xf32> -> tensor<8x17xf32>
  %0 = net.reduce_window max %x sizes = [1, 3] strides = [1, 2] low = [0, 1] high = [0, 2] base_dilation = [1, 1] window_dilation = [1, 1] : tensor<8x32xf32> -> tensor<8x17xf32>
  // CHECK: net.select_and_scatter min %{{.*}}, %{{.*}} sizes = [1, 3] strides = [1, 2] low = [0, 1] high = [0, 2] base_dilation = [1, 1] window_dilation = [1, 1] : tensor<8x32xf32>, tensor<8x17xf32> -> tensor<8x32xf32>
  %1 = net.select_and_scatter min %x, %s sizes = [1, 3] strides = [1, 2] low = [0, 1] high = [0, 2] base_dilation = [1, 1] window_dilation = [1, 1] : tensor<8x32xf32>, tensor<8x17xf32> -> tensor<8x32xf32>
  return
}
