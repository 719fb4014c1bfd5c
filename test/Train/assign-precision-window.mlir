// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-train-assign-precision="compute=bf16" | FileCheck %s

// Tests that convolutions are computed in 16 bit, that the largest element of a window follows, and that sums in windows are wide.

net.variable parameter @w : tensor<3x2x4xf32>

// CHECK-LABEL: func.func @step
func.func @step(%x: tensor<2x8x2xf32>) -> tensor<f32> {
  %w = net.read @w : tensor<3x2x4xf32>
  // CHECK: net.convolution {{.*}} : tensor<2x8x2xbf16>, tensor<3x2x4xbf16> -> tensor<2x8x4xbf16>
  %y = net.convolution %x, %w <lhsBatch = 0, lhsFeature = 2, lhsSpatial = [1], rhsInput = 1, rhsOutput = 2, rhsSpatial = [0], outBatch = 0, outFeature = 2, outSpatial = [1]> strides = [1] low = [1] high = [1] lhs_dilation = [1] rhs_dilation = [1] reversed = [false] groups = 1 x 1 : tensor<2x8x2xf32>, tensor<3x2x4xf32> -> tensor<2x8x4xf32>
  // CHECK: net.reduce_window max {{.*}} : tensor<2x8x4xbf16> -> tensor<2x4x4xbf16>
  %m = net.reduce_window max %y sizes = [1, 2, 1] strides = [1, 2, 1] low = [0, 0, 0] high = [0, 0, 0] base_dilation = [1, 1, 1] window_dilation = [1, 1, 1] : tensor<2x8x4xf32> -> tensor<2x4x4xf32>
  // CHECK: net.reduce_window sum {{.*}} : tensor<2x4x4xf32> -> tensor<2x2x4xf32>
  %s = net.reduce_window sum %m sizes = [1, 2, 1] strides = [1, 2, 1] low = [0, 0, 0] high = [0, 0, 0] base_dilation = [1, 1, 1] window_dilation = [1, 1, 1] : tensor<2x4x4xf32> -> tensor<2x2x4xf32>
  %loss = net.reduce sum %s dims = [0, 1, 2] : tensor<2x2x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
