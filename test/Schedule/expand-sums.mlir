// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-schedule-expand-sums --split-input-file --verify-diagnostics | FileCheck %s

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

// Tests that zeros fill up the last part of a sum, and that the last part of a scatter has what is left.
// CHECK-LABEL: func.func @uneven
func.func @uneven(%x: tensor<2x7xf32>, %ids: tensor<7x1xi32>, %rows: tensor<7x3xf32>) -> (tensor<2xf32>, tensor<5x3xf32>) {
  // CHECK: %[[PADDED:.*]] = net.pad %arg0, %{{.*}} low = [0, 0] high = [0, 1]
  // CHECK: net.reshape %[[PADDED]] : tensor<2x8xf32> -> tensor<2x4x2xf32>
  %0 = net.reduce sum %x dims = [1] {net.sum_parts = 4 : i64} : tensor<2x7xf32> -> tensor<2xf32>
  %zeros = net.constant dense<0.0> : tensor<5x3xf32>
  // CHECK: net.slice %arg1 starts = [0, 0] limits = [4, 1]
  // CHECK: net.slice %arg1 starts = [4, 0] limits = [7, 1]
  %1 = net.scatter add %zeros, %ids, %rows <updateWindowDims = [1], insertedDims = [0], scatterDimsToOperandDims = [0], indexVectorDim = 1> {net.sum_parts = 2 : i64} : tensor<5x3xf32>, tensor<7x1xi32>, tensor<7x3xf32> -> tensor<5x3xf32>
  return %0, %1 : tensor<2xf32>, tensor<5x3xf32>
}

// Tests that a conversion rounds the parts of its sum, and that one part is rounded by itself.
// CHECK-LABEL: func.func @rounded
func.func @rounded(%x: tensor<8x3xf32>, %y: tensor<4x3xf32>) -> (tensor<3xbf16>, tensor<3xbf16>) {
  // CHECK: %[[LEFT:.*]] = net.convert %{{.*}} : tensor<3xf32> -> tensor<3xbf16>
  // CHECK: %[[RIGHT:.*]] = net.convert %{{.*}} : tensor<3xf32> -> tensor<3xbf16>
  // CHECK: net.add %[[LEFT]], %[[RIGHT]] {net.name = "grad/b"} : tensor<3xbf16>
  %0 = net.reduce sum %x dims = [0] {net.sum_parts = 2 : i64} : tensor<8x3xf32> -> tensor<3xf32>
  %1 = net.convert %0 {net.name = "grad/b", net.sum_parts = 2 : i64} : tensor<3xf32> -> tensor<3xbf16>
  // CHECK: %[[SUM:.*]] = net.reduce sum %arg1
  // CHECK: net.convert %[[SUM]] : tensor<3xf32> -> tensor<3xbf16>
  %2 = net.reduce sum %y dims = [0] {net.sum_parts = 1 : i64} : tensor<4x3xf32> -> tensor<3xf32>
  %3 = net.convert %2 {net.sum_parts = 1 : i64} : tensor<3xf32> -> tensor<3xbf16>
  return %1, %3 : tensor<3xbf16>, tensor<3xbf16>
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

// -----

// Tests that a sum that is complete already is not rounded as if it were a part.
func.func @late(%x: tensor<8x3xf32>) -> tensor<3xbf16> {
  %0 = net.reduce sum %x dims = [0] {net.sum_parts = 2 : i64} : tensor<8x3xf32> -> tensor<3xf32>
  %1 = net.negate %0 : tensor<3xf32>
  // expected-error @+1 {{rounds the parts of a sum, but its operand is added over ranks already}}
  %2 = net.convert %1 {net.sum_parts = 2 : i64} : tensor<3xf32> -> tensor<3xbf16>
  return %2 : tensor<3xbf16>
}
