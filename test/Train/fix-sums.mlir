// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-train-fix-sums=parts=4 | FileCheck %s

// Tests that a sum has the parts that its first summed dimension divides into, and one where it does not.
// Unequal parts count too, unless one were empty.
// CHECK-LABEL: func.func @sums
// CHECK-SAME: net.sum_parts = 4
func.func @sums(%x: tensor<8x3xf32>, %y: tensor<6x3xf32>, %z: tensor<7x3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<8xf32>) {
  // CHECK: net.reduce sum %{{.*}} dims = [0] {net.sum_parts = 4 : i64} : tensor<8x3xf32>
  %0 = net.reduce sum %x dims = [0] : tensor<8x3xf32> -> tensor<3xf32>
  // CHECK: net.reduce sum %{{.*}} dims = [0] {net.sum_parts = 1 : i64} : tensor<6x3xf32>
  %1 = net.reduce sum %y dims = [0] : tensor<6x3xf32> -> tensor<3xf32>
  // CHECK: net.reduce sum %{{.*}} dims = [0] {net.sum_parts = 4 : i64} : tensor<7x3xf32>
  %3 = net.reduce sum %z dims = [0] : tensor<7x3xf32> -> tensor<3xf32>
  // A maximum has no order.
  // CHECK: net.reduce max %{{.*}} dims = [1] : tensor<8x3xf32>
  %2 = net.reduce max %x dims = [1] : tensor<8x3xf32> -> tensor<8xf32>
  return %0, %1, %3, %2 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<8xf32>
}

// Tests that a sum over the batch and the sequence has parts of both, one after the other, and that the first of two sums
// in 16 bits is in f32. Where the sequence is too short for parts, there is one sum.
// CHECK-LABEL: func.func @sequence
func.func @sequence(%x: tensor<2x8x3xf32>, %y: tensor<4x8x3xbf16>, %z: tensor<8x3x3xf32>) -> (tensor<3xf32>, tensor<3xbf16>, tensor<3xf32>) {
  // CHECK: %[[SUM:.*]] = net.reduce sum %arg0 dims = [1] {net.sum_parts = 4 : i64} : tensor<2x8x3xf32>
  // CHECK: net.reduce sum %[[SUM]] dims = [0] {net.sum_parts = 1 : i64} : tensor<2x3xf32>
  %0 = net.reduce sum %x dims = [0, 1] : tensor<2x8x3xf32> -> tensor<3xf32>
  // CHECK: %[[WIDE:.*]] = net.convert %arg1 : tensor<4x8x3xbf16>
  // CHECK: %[[SUM:.*]] = net.reduce sum %[[WIDE]] dims = [1] {net.sum_parts = 4 : i64} : tensor<4x8x3xf32>
  // CHECK: %[[NARROW:.*]] = net.convert %[[SUM]] : tensor<4x3xf32> -> tensor<4x3xbf16>
  // CHECK: net.reduce sum %[[NARROW]] dims = [0] {net.name = "grad/b", net.sum_parts = 4 : i64} : tensor<4x3xbf16>
  %1 = net.reduce sum %y dims = [0, 1] {net.name = "grad/b"} : tensor<4x8x3xbf16> -> tensor<3xbf16>
  // CHECK: net.reduce sum %arg2 dims = [0, 1] {net.sum_parts = 4 : i64} : tensor<8x3x3xf32>
  %2 = net.reduce sum %z dims = [0, 1] : tensor<8x3x3xf32> -> tensor<3xf32>
  return %0, %1, %2 : tensor<3xf32>, tensor<3xbf16>, tensor<3xf32>
}

// Tests that products and gradients in 16 bits round their parts, and that other sums add in f32 and round once.
// CHECK-LABEL: func.func @narrow
func.func @narrow(%x: tensor<8x3xbf16>, %w: tensor<8x2xbf16>) -> (tensor<3x2xbf16>, tensor<3xbf16>, tensor<3xbf16>) {
  // CHECK: net.reduce sum %arg0 dims = [0] {net.name = "grad/b", net.sum_parts = 4 : i64} : tensor<8x3xbf16>
  %2 = net.reduce sum %x dims = [0] {net.name = "grad/b"} : tensor<8x3xbf16> -> tensor<3xbf16>
  // CHECK: net.dot %{{.*}} {net.name = "grad/w", net.sum_parts = 4 : i64} : tensor<8x3xbf16>, tensor<8x2xbf16> -> tensor<3x2xbf16>
  %0 = net.dot %x, %w batch = [] x [] contract = [0] x [0] {net.name = "grad/w"} : tensor<8x3xbf16>, tensor<8x2xbf16> -> tensor<3x2xbf16>
  // CHECK: %[[SUM:.*]] = net.reduce sum %{{.*}} dims = [0] {net.sum_parts = 4 : i64} : tensor<8x3xf32>
  // CHECK: net.convert %[[SUM]] : tensor<3xf32> -> tensor<3xbf16>
  %1 = net.reduce sum %x dims = [0] : tensor<8x3xbf16> -> tensor<3xbf16>
  return %0, %1, %2 : tensor<3x2xbf16>, tensor<3xbf16>, tensor<3xbf16>
}

// Tests that a sum that is rounded before its reduction has rounded parts, and one that is widened has not.
// CHECK-LABEL: func.func @deferred
func.func @deferred(%x: tensor<8x3xf32>, %ids: tensor<8x1xi32>, %y: tensor<8x2xbf16>) -> (tensor<5x3xbf16>, tensor<3x3xbf16>, tensor<2x2xf32>) {
  %zeros = net.constant dense<0.0> : tensor<5x3xf32>
  // CHECK: %[[TABLE:.*]] = net.scatter add
  // CHECK-SAME: net.sum_parts = 4
  // CHECK: net.convert %[[TABLE]] {dist.defer_reduction, net.sum_parts = 4 : i64} : tensor<5x3xf32> -> tensor<5x3xbf16>
  %0 = net.scatter add %zeros, %ids, %x <updateWindowDims = [1], insertedDims = [0], scatterDimsToOperandDims = [0], indexVectorDim = 1> : tensor<5x3xf32>, tensor<8x1xi32>, tensor<8x3xf32> -> tensor<5x3xf32>
  %1 = net.convert %0 {dist.defer_reduction} : tensor<5x3xf32> -> tensor<5x3xbf16>
  // CHECK-NEXT: net.dot {{.*}}net.sum_parts = 4 : i64} : tensor<8x3xf32>, tensor<8x3xf32> -> tensor<3x3xbf16>
  %2 = net.dot %x, %x batch = [] x [] contract = [0] x [0] : tensor<8x3xf32>, tensor<8x3xf32> -> tensor<3x3xf32>
  %3 = net.convert %2 {dist.defer_reduction} : tensor<3x3xf32> -> tensor<3x3xbf16>
  // CHECK-NEXT: net.dot {{.*}}net.sum_parts = 4 : i64} : tensor<8x2xbf16>, tensor<8x2xbf16> -> tensor<2x2xf32>
  %4 = net.dot %y, %y batch = [] x [] contract = [0] x [0] : tensor<8x2xbf16>, tensor<8x2xbf16> -> tensor<2x2xbf16>
  %5 = net.convert %4 {dist.defer_reduction} : tensor<2x2xbf16> -> tensor<2x2xf32>
  return %1, %3, %5 : tensor<5x3xbf16>, tensor<3x3xbf16>, tensor<2x2xf32>
}

// Tests that products in one block that are added become one, which sums over a part of each in turn; a product of
// another block stays.
// CHECK-LABEL: func.func @joined
// CHECK-SAME: %[[A:.*]]: tensor<2x8xf32>, %[[P:.*]]: tensor<8x3xf32>, %[[B:.*]]: tensor<2x4xf32>, %[[Q:.*]]: tensor<4x3xf32>
func.func @joined(%a: tensor<2x8xf32>, %p: tensor<8x3xf32>, %b: tensor<2x4xf32>, %q: tensor<4x3xf32>) -> tensor<2x3xf32> {
  // CHECK-DAG: %[[A4:.*]] = net.reshape %[[A]] {{.*}} : tensor<2x8xf32> -> tensor<2x4x2xf32>
  // CHECK-DAG: %[[B4:.*]] = net.reshape %[[B]] {{.*}} : tensor<2x4xf32> -> tensor<2x4x1xf32>
  // CHECK-DAG: %[[P4:.*]] = net.reshape %[[P]] {{.*}} : tensor<8x3xf32> -> tensor<4x2x3xf32>
  // CHECK-DAG: %[[Q4:.*]] = net.reshape %[[Q]] {{.*}} : tensor<4x3xf32> -> tensor<4x1x3xf32>
  // CHECK-DAG: %[[LEFT:.*]] = net.concatenate %[[A4]], %[[B4]] dim = 2
  // CHECK-DAG: %[[RIGHT:.*]] = net.concatenate %[[P4]], %[[Q4]] dim = 1
  // CHECK: %[[SUM:.*]] = net.dot %[[LEFT]], %[[RIGHT]] batch = [] x [] contract = [1, 2] x [0, 1] {net.scope = "h.0.q", net.sum_parts = 4 : i64}
  // CHECK: net.add %[[SUM]], %{{.*}} {net.name = "dx"}
  %0 = net.dot %a, %p batch = [] x [] contract = [1] x [0] {net.scope = "h.0.q"} : tensor<2x8xf32>, tensor<8x3xf32> -> tensor<2x3xf32>
  %1 = net.dot %b, %q batch = [] x [] contract = [1] x [0] {net.scope = "h.1.q"} : tensor<2x4xf32>, tensor<4x3xf32> -> tensor<2x3xf32>
  %2 = net.dot %b, %q batch = [] x [] contract = [1] x [0] {net.scope = "h.0.k"} : tensor<2x4xf32>, tensor<4x3xf32> -> tensor<2x3xf32>
  %3 = net.add %0, %1 : tensor<2x3xf32>
  %4 = net.add %3, %2 {net.name = "dx"} : tensor<2x3xf32>
  return %4 : tensor<2x3xf32>
}

// Tests that the terms of a fused projection, whose cotangents lie side by side, are sorted into parts; that of another
// concatenation is not.
// CHECK-LABEL: func.func @fused
// CHECK-SAME: %[[W:.*]]: tensor<12x3xf32>
func.func @fused(%w: tensor<12x3xf32>, %q: tensor<2x8xf32>, %k: tensor<2x4xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  // CHECK: net.slice %[[W]] starts = [8, 0] limits = [12, 3]
  // CHECK: net.dot {{.*}} contract = [1, 2] x [0, 1] {net.role = #net.role<backward>, net.sum_parts = 4 : i64} : tensor<2x4x3xf32>, tensor<4x3x3xf32>
  %0 = net.concatenate %q, %k dim = 1 {net.role = #net.role<backward>} : tensor<2x8xf32>, tensor<2x4xf32> -> tensor<2x12xf32>
  %1 = net.dot %0, %w batch = [] x [] contract = [1] x [0] {net.role = #net.role<backward>} : tensor<2x12xf32>, tensor<12x3xf32> -> tensor<2x3xf32>
  // CHECK: net.dot {{.*}} contract = [1] x [0] {net.sum_parts = 4 : i64} : tensor<2x12xf32>, tensor<12x3xf32>
  %2 = net.concatenate %q, %k dim = 1 : tensor<2x8xf32>, tensor<2x4xf32> -> tensor<2x12xf32>
  %3 = net.dot %2, %w batch = [] x [] contract = [1] x [0] : tensor<2x12xf32>, tensor<12x3xf32> -> tensor<2x3xf32>
  return %1, %3 : tensor<2x3xf32>, tensor<2x3xf32>
}

// Tests that a product over heads and their width sums over both as one where heads have no parts.
// CHECK-LABEL: func.func @heads
func.func @heads(%x: tensor<2x3x8xf32>, %w: tensor<3x8x5xf32>) -> tensor<2x5xf32> {
  // CHECK: net.dot {{.*}} contract = [1] x [0] {net.sum_parts = 4 : i64} : tensor<2x24xf32>, tensor<24x5xf32>
  %0 = net.dot %x, %w batch = [] x [] contract = [1, 2] x [0, 1] : tensor<2x3x8xf32>, tensor<3x8x5xf32> -> tensor<2x5xf32>
  return %0 : tensor<2x5xf32>
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
