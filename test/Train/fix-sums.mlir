// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-train-fix-sums=parts=4 | FileCheck %s

// Tests that a sum has the parts that its first summed dimension divides into, and one where it does not.
// CHECK-LABEL: func.func @sums
// CHECK-SAME: net.sum_parts = 4
func.func @sums(%x: tensor<8x3xf32>, %y: tensor<6x3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<8xf32>) {
  // CHECK: net.reduce sum %{{.*}} dims = [0] {net.sum_parts = 4 : i64} : tensor<8x3xf32>
  %0 = net.reduce sum %x dims = [0] : tensor<8x3xf32> -> tensor<3xf32>
  // CHECK: net.reduce sum %{{.*}} dims = [0] {net.sum_parts = 1 : i64} : tensor<6x3xf32>
  %1 = net.reduce sum %y dims = [0] : tensor<6x3xf32> -> tensor<3xf32>
  // A maximum has no order.
  // CHECK: net.reduce max %{{.*}} dims = [1] : tensor<8x3xf32>
  %2 = net.reduce max %x dims = [1] : tensor<8x3xf32> -> tensor<8xf32>
  return %0, %1, %2 : tensor<3xf32>, tensor<3xf32>, tensor<8xf32>
}

// Tests that products and sums in 16 bits add in f32 and round once.
// CHECK-LABEL: func.func @narrow
func.func @narrow(%x: tensor<8x3xbf16>, %w: tensor<8x2xbf16>) -> (tensor<3x2xbf16>, tensor<3xbf16>) {
  // CHECK: %[[PRODUCT:.*]] = net.dot %{{.*}} {net.sum_parts = 4 : i64} : tensor<8x3xbf16>, tensor<8x2xbf16> -> tensor<3x2xf32>
  // CHECK: net.convert %[[PRODUCT]] {net.name = "grad/w"} : tensor<3x2xf32> -> tensor<3x2xbf16>
  %0 = net.dot %x, %w batch = [] x [] contract = [0] x [0] {net.name = "grad/w"} : tensor<8x3xbf16>, tensor<8x2xbf16> -> tensor<3x2xbf16>
  // CHECK: %[[SUM:.*]] = net.reduce sum %{{.*}} dims = [0] {net.sum_parts = 4 : i64} : tensor<8x3xf32>
  // CHECK: net.convert %[[SUM]] : tensor<3xf32> -> tensor<3xbf16>
  %1 = net.reduce sum %x dims = [0] : tensor<8x3xbf16> -> tensor<3xbf16>
  return %0, %1 : tensor<3x2xbf16>, tensor<3xbf16>
}

// Tests that a scatter adds into zeros: its parts are complete before they meet the other contribution.
// CHECK-LABEL: func.func @scatter
// CHECK-SAME: %[[OTHER:.*]]: tensor<5x3xf32>
func.func @scatter(%other: tensor<5x3xf32>, %ids: tensor<8x1xi32>, %rows: tensor<8x3xf32>) -> tensor<5x3xf32> {
  // CHECK: %[[ZEROS:.*]] = net.constant dense<0.000000e+00> : tensor<5x3xf32>
  // CHECK: %[[TABLE:.*]] = net.scatter add %[[ZEROS]]
  // CHECK-SAME: net.sum_parts = 4
  // CHECK: net.add %[[OTHER]], %[[TABLE]] {net.name = "grad/table"}
  %0 = net.scatter add %other, %ids, %rows <updateWindowDims = [1], insertedDims = [0], scatterDimsToOperandDims = [0], indexVectorDim = 1> {net.name = "grad/table"} : tensor<5x3xf32>, tensor<8x1xi32>, tensor<8x3xf32> -> tensor<5x3xf32>
  return %0 : tensor<5x3xf32>
}
