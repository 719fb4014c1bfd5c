// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file --dist-train-index-one-hots | FileCheck %s

// Tests that a product with a one-hot encoding of positions reads rows, and that rows of positions outside are zero.
// CHECK-LABEL: @rows
func.func @rows(%ids: tensor<32xi32>, %table: tensor<100x8xf32>) -> tensor<32x8xf32> {
  // CHECK-NOT: tensor<32x100x
  // CHECK: %[[AT:.*]] = net.minimum
  // CHECK: %[[IN:.*]] = net.compare eq, %[[AT]], %arg0
  // CHECK: %[[I:.*]] = net.reshape %[[AT]] : tensor<32xi32> -> tensor<32x1xi32>
  // CHECK: %[[ROWS:.*]] = net.gather %arg1, %[[I]] <offsetDims = [1], collapsedDims = [0], startIndexMap = [0], indexVectorDim = 1> sizes = [1, 8]
  // CHECK: %[[HERE:.*]] = net.broadcast %[[IN]] dims = [0]
  // CHECK: net.select %[[HERE]], %[[ROWS]],
  %i = net.iota dim = 1 : tensor<32x100xi32>
  %p = net.broadcast %ids dims = [0] : tensor<32xi32> -> tensor<32x100xi32>
  %c = net.compare eq, %p, %i : tensor<32x100xi32> -> tensor<32x100xi1>
  %h = net.convert %c : tensor<32x100xi1> -> tensor<32x100xf32>
  %x = net.dot %h, %table batch = [] x [] contract = [1] x [0] : tensor<32x100xf32>, tensor<100x8xf32> -> tensor<32x8xf32>
  return %x : tensor<32x8xf32>
}

// -----

// Tests that numbers may have dimensions of size 1 before they are repeated, as in JAX's text.
// CHECK-LABEL: @units
func.func @units(%ids: tensor<32x2xi32>, %table: tensor<100x8xf32>) -> tensor<32x2x8xf32> {
  // CHECK-NOT: net.dot
  // CHECK: net.gather %arg1
  %i = net.iota dim = 2 : tensor<1x1x100xi32>
  %r = net.reshape %i : tensor<1x1x100xi32> -> tensor<100xi32>
  %n = net.broadcast %r dims = [2] : tensor<100xi32> -> tensor<32x2x100xi32>
  %p = net.broadcast %ids dims = [0, 1] : tensor<32x2xi32> -> tensor<32x2x100xi32>
  %c = net.compare eq, %p, %n : tensor<32x2x100xi32> -> tensor<32x2x100xi1>
  %h = net.convert %c : tensor<32x2x100xi1> -> tensor<32x2x100xf32>
  %x = net.dot %h, %table batch = [] x [] contract = [2] x [0] : tensor<32x2x100xf32>, tensor<100x8xf32> -> tensor<32x2x8xf32>
  return %x : tensor<32x2x8xf32>
}

// -----

// Tests that a product along the other dimension, here of positions that are floats, adds rows up where they belong.
// CHECK-LABEL: @added
func.func @added(%places: tensor<64xf32>, %rows: tensor<64x8xf32>) -> tensor<8x16xf32> {
  // CHECK: %[[P:.*]] = net.convert %arg0 : tensor<64xf32> -> tensor<64xi32>
  // CHECK: %[[BACK:.*]] = net.convert %[[P]] : tensor<64xi32> -> tensor<64xf32>
  // CHECK: net.compare eq, %[[BACK]], %arg0
  // CHECK: %[[SUM:.*]] = net.scatter add %{{.*}}, %{{.*}}, %{{.*}} <updateWindowDims = [1], insertedDims = [0], scatterDimsToOperandDims = [0], indexVectorDim = 1>
  // CHECK: net.transpose %[[SUM]] dims = [1, 0]
  // CHECK-NOT: net.dot
  %i = net.iota dim = 0 : tensor<16xf32>
  %n = net.broadcast %i dims = [1] : tensor<16xf32> -> tensor<64x16xf32>
  %p = net.broadcast %places dims = [0] : tensor<64xf32> -> tensor<64x16xf32>
  %c = net.compare eq, %p, %n : tensor<64x16xf32> -> tensor<64x16xi1>
  %h = net.convert %c : tensor<64x16xi1> -> tensor<64x16xf32>
  %x = net.dot %rows, %h batch = [] x [] contract = [0] x [0] : tensor<64x8xf32>, tensor<64x16xf32> -> tensor<8x16xf32>
  return %x : tensor<8x16xf32>
}

// -----

// Tests that products stay which cost little, which compare in another way, and whose positions are read along the encoded
// dimension.
// CHECK-LABEL: @products
func.func @products(%ids: tensor<32xi32>, %pairs: tensor<32x100xi32>, %table: tensor<100x8xf32>, %few: tensor<32x4xf32>, %row: tensor<4x8xf32>) -> (tensor<32x8xf32>, tensor<32x8xf32>, tensor<32x8xf32>) {
  // CHECK-COUNT-3: net.dot
  // CHECK-NOT: net.gather
  %i = net.iota dim = 1 : tensor<32x100xi32>
  %p = net.broadcast %ids dims = [0] : tensor<32xi32> -> tensor<32x100xi32>
  %less = net.compare lt, %p, %i : tensor<32x100xi32> -> tensor<32x100xi1>
  %g = net.convert %less : tensor<32x100xi1> -> tensor<32x100xf32>
  %x = net.dot %g, %table batch = [] x [] contract = [1] x [0] : tensor<32x100xf32>, tensor<100x8xf32> -> tensor<32x8xf32>
  %own = net.compare eq, %pairs, %i : tensor<32x100xi32> -> tensor<32x100xi1>
  %h = net.convert %own : tensor<32x100xi1> -> tensor<32x100xf32>
  %y = net.dot %h, %table batch = [] x [] contract = [1] x [0] : tensor<32x100xf32>, tensor<100x8xf32> -> tensor<32x8xf32>
  %j = net.iota dim = 1 : tensor<32x4xi32>
  %q = net.broadcast %ids dims = [0] : tensor<32xi32> -> tensor<32x4xi32>
  %d = net.compare eq, %q, %j : tensor<32x4xi32> -> tensor<32x4xi1>
  %e = net.convert %d : tensor<32x4xi1> -> tensor<32x4xf32>
  %z = net.dot %e, %row batch = [] x [] contract = [1] x [0] : tensor<32x4xf32>, tensor<4x8xf32> -> tensor<32x8xf32>
  return %x, %y, %z : tensor<32x8xf32>, tensor<32x8xf32>, tensor<32x8xf32>
}
