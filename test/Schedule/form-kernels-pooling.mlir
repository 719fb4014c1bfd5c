// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-schedule-form-kernels --split-input-file | FileCheck %s

// Tests that the gradient of pooling is elementwise: a number per window, and a sum over the windows of an element.

// Windows of 2 with stride 1 and one gap before: the first element is inside from window 1 on.
// CHECK-LABEL: func.func @overlapping
// CHECK: dist.kernel
// CHECK-DAG: %[[NONE:.*]] = net.constant dense<2> : tensor<4x3xi8>
// CHECK-DAG: net.compare ge, {{.*}} : tensor<4xi32>
// CHECK-DAG: net.compare ge, {{.*}} : tensor<4x3xf32>
// CHECK-DAG: net.compare ne, %{{.*}}, %[[NONE]]
// The earlier of two windows, which shows the element last, adds first.
// CHECK: %[[SECOND:.*]] = net.pad %{{.*}}, %{{.*}} low = [0, 0] high = [1, 0] interior = [0, 0] : tensor<3x3xf32>
// CHECK: net.add %{{.*}}, %[[SECOND]]
// CHECK-NOT: net.select_and_scatter
// CHECK: return
func.func @overlapping(%x: tensor<4x3xf32>, %g: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %0 = net.select_and_scatter max %x, %g sizes = [2, 1] strides = [1, 1] low = [1, 0] high = [0, 0] base_dilation = [1, 1] window_dilation = [1, 1] : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

// CHECK-LABEL: func.func @large_windows
// CHECK: net.select_and_scatter
func.func @large_windows(%x: tensor<130x3xf32>, %g: tensor<2x3xf32>) -> tensor<130x3xf32> {
  %0 = net.select_and_scatter max %x, %g sizes = [65, 1] strides = [65, 1] low = [0, 0] high = [0, 0] base_dilation = [1, 1] window_dilation = [1, 1] : tensor<130x3xf32>, tensor<2x3xf32> -> tensor<130x3xf32>
  return %0 : tensor<130x3xf32>
}

// -----

// CHECK-LABEL: func.func @dilated
// CHECK: net.select_and_scatter
func.func @dilated(%x: tensor<4x3xf32>, %g: tensor<3x3xf32>) -> tensor<4x3xf32> {
  %0 = net.select_and_scatter max %x, %g sizes = [2, 1] strides = [2, 1] low = [0, 0] high = [0, 0] base_dilation = [2, 1] window_dilation = [1, 1] : tensor<4x3xf32>, tensor<3x3xf32> -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}
