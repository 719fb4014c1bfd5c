// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-schedule-expand-sums | FileCheck %s

// Tests that parts are sums of their own, which a tree adds.
// CHECK-LABEL: func.func @sum
func.func @sum(%x: tensor<2x12x3xf32>) -> tensor<2xf32> {
  // CHECK: %[[CUT:.*]] = net.reshape %{{.*}} : tensor<2x12x3xf32> -> tensor<2x4x3x3xf32>
  // CHECK: %[[SUMS:.*]] = net.reduce sum %[[CUT]] dims = [2, 3] : tensor<2x4x3x3xf32> -> tensor<2x4xf32>
  // CHECK: net.slice %[[SUMS]] starts = [0, 0] limits = [2, 1]
  // CHECK: %[[LEFT:.*]] = net.add
  // CHECK: net.slice %[[SUMS]] starts = [0, 2] limits = [2, 3]
  // CHECK: %[[RIGHT:.*]] = net.add
  // CHECK: net.add %[[LEFT]], %[[RIGHT]] {net.name = "loss"} : tensor<2xf32>
  %0 = net.reduce sum %x dims = [1, 2] {net.name = "loss", net.sum_parts = 4 : i64} : tensor<2x12x3xf32> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// Tests that a scatter of each part begins at the same zeros.
// CHECK-LABEL: func.func @scatter
func.func @scatter(%ids: tensor<8x1xi32>, %rows: tensor<8x3xf32>) -> tensor<5x3xf32> {
  %zeros = net.constant dense<0.0> : tensor<5x3xf32>
  // CHECK: %[[ZEROS:.*]] = net.constant dense<0.000000e+00> : tensor<5x3xf32>
  // CHECK: net.scatter add %[[ZEROS]], %{{.*}} : tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>
  // CHECK: net.scatter add %[[ZEROS]], %{{.*}} : tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>
  // CHECK: net.add
  %0 = net.scatter add %zeros, %ids, %rows <updateWindowDims = [1], insertedDims = [0], scatterDimsToOperandDims = [0], indexVectorDim = 1> {net.sum_parts = 2 : i64} : tensor<5x3xf32>, tensor<8x1xi32>, tensor<8x3xf32> -> tensor<5x3xf32>
  return %0 : tensor<5x3xf32>
}

// Tests that a product rounds its own result where nothing else reads it.
// CHECK-LABEL: func.func @rounded
func.func @rounded(%x: tensor<8x3xbf16>, %w: tensor<8x2xbf16>) -> tensor<3x2xbf16> {
  // CHECK: net.dot %{{.*}} {net.sum_parts = 4 : i64} : tensor<8x3xbf16>, tensor<8x2xbf16> -> tensor<3x2xbf16>
  // CHECK-NEXT: return
  %0 = net.dot %x, %w batch = [] x [] contract = [0] x [0] {net.sum_parts = 4 : i64} : tensor<8x3xbf16>, tensor<8x2xbf16> -> tensor<3x2xf32>
  %1 = net.convert %0 : tensor<3x2xf32> -> tensor<3x2xbf16>
  return %1 : tensor<3x2xbf16>
}

// Tests that the gradient of a kernel is one convolution of each part of the batch, all in a fixed order.
// CHECK-LABEL: func.func @kernel
func.func @kernel(%x: tensor<8x5x2xf32>, %dy: tensor<8x5x3xf32>) -> tensor<3x2x3xf32> {
  // CHECK: net.slice %arg0 starts = [0, 0, 0] limits = [4, 5, 2]
  // CHECK: net.slice %arg1 starts = [0, 0, 0] limits = [4, 5, 3]
  // CHECK: %[[LEFT:.*]] = net.convolution {{.*}} {net.sum_parts = 1 : i64} : tensor<4x5x2xf32>, tensor<4x5x3xf32> -> tensor<3x2x3xf32>
  // CHECK: net.slice %arg0 starts = [4, 0, 0] limits = [8, 5, 2]
  // CHECK: net.slice %arg1 starts = [4, 0, 0] limits = [8, 5, 3]
  // CHECK: %[[RIGHT:.*]] = net.convolution {{.*}} {net.sum_parts = 1 : i64} : tensor<4x5x2xf32>, tensor<4x5x3xf32> -> tensor<3x2x3xf32>
  // CHECK: net.add %[[LEFT]], %[[RIGHT]] : tensor<3x2x3xf32>
  %0 = net.convolution %x, %dy <lhsBatch = 2, lhsFeature = 0, lhsSpatial = [1], rhsInput = 0, rhsOutput = 2, rhsSpatial = [1], outBatch = 1, outFeature = 2, outSpatial = [0]> strides = [1] low = [1] high = [1] lhs_dilation = [1] rhs_dilation = [1] reversed = [false] groups = 1 x 1 {net.sum_parts = 2 : i64} : tensor<8x5x2xf32>, tensor<8x5x3xf32> -> tensor<3x2x3xf32>
  return %0 : tensor<3x2x3xf32>
}
