// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file --dist-train-defer-divisions | FileCheck %s

// Tests that a product takes the exponentials of a softmax, and that its result is divided.
// CHECK-LABEL: @attention
// CHECK-SAME: (%{{.*}}: tensor<4x8x8xf32>, %[[S:.*]]: tensor<4x8xf32>, %[[V:.*]]: tensor<4x8x2xf32>)
func.func @attention(%x: tensor<4x8x8xf32>, %s: tensor<4x8xf32>, %v: tensor<4x8x2xf32>) -> tensor<4x8x2xf32> {
  // CHECK: %[[X:.*]] = net.exponential
  %c = net.subtract %x, %x : tensor<4x8x8xf32>
  %e = net.exponential %c : tensor<4x8x8xf32>
  %r = net.broadcast %s dims = [0, 1] : tensor<4x8xf32> -> tensor<4x8x8xf32>
  %p = net.divide %e, %r : tensor<4x8x8xf32>
  // CHECK: %[[U:.*]] = net.dot %[[X]], %[[V]] batch = [0] x [0] contract = [2] x [1]
  // CHECK: %[[R:.*]] = net.broadcast %{{.*}} dims = [0, 1] : tensor<4x8xf32> -> tensor<4x8x2xf32>
  // CHECK-NEXT: %[[O:.*]] = net.divide %[[U]], %[[R]]
  // CHECK-NEXT: return %[[O]]
  %o = net.dot %p, %v batch = [0] x [0] contract = [2] x [1] : tensor<4x8x8xf32>, tensor<4x8x2xf32> -> tensor<4x8x2xf32>
  return %o : tensor<4x8x2xf32>
}

// -----

// Tests that the divisor follows the quotients through what moves and scales them on their way to the right operand: a
// dropout, a transposition and a reshape.
// CHECK-LABEL: @moved
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x8x16xf32>, %[[S:.*]]: tensor<3x8xf32>, %[[KEEP:.*]]: tensor<2x3x8x16xi1>, %[[V:.*]]: tensor<6x4x16xf32>)
func.func @moved(%x: tensor<2x3x8x16xf32>, %s: tensor<3x8xf32>, %keep: tensor<2x3x8x16xi1>, %v: tensor<6x4x16xf32>) -> tensor<6x4x8xf32> {
  %zero = net.constant dense<0.0> : tensor<2x3x8x16xf32>
  %rate = net.constant dense<2.0> : tensor<2x3x8x16xf32>
  %c = net.subtract %x, %x : tensor<2x3x8x16xf32>
  %e = net.exponential %c : tensor<2x3x8x16xf32>
  %r = net.broadcast %s dims = [1, 2] : tensor<3x8xf32> -> tensor<2x3x8x16xf32>
  // CHECK-NOT: net.divide
  %p = net.divide %e, %r : tensor<2x3x8x16xf32>
  %d = net.multiply %rate, %p : tensor<2x3x8x16xf32>
  %k = net.select %keep, %d, %zero : tensor<2x3x8x16xi1>, tensor<2x3x8x16xf32>
  %t = net.transpose %k dims = [1, 0, 2, 3] : tensor<2x3x8x16xf32> -> tensor<3x2x8x16xf32>
  %f = net.reshape %t : tensor<3x2x8x16xf32> -> tensor<6x8x16xf32>
  // CHECK: %[[U:.*]] = net.dot %[[V]], %{{.*}} -> tensor<6x4x8xf32>
  // CHECK-NEXT: %[[A:.*]] = net.broadcast %[[S]] dims = [1, 2] : tensor<3x8xf32> -> tensor<2x3x8xf32>
  // CHECK-NEXT: %[[B:.*]] = net.transpose %[[A]] dims = [1, 0, 2] : tensor<2x3x8xf32> -> tensor<3x2x8xf32>
  // CHECK-NEXT: %[[C:.*]] = net.reshape %[[B]] : tensor<3x2x8xf32> -> tensor<6x8xf32>
  // CHECK-NEXT: %[[R:.*]] = net.broadcast %[[C]] dims = [0, 2] : tensor<6x8xf32> -> tensor<6x4x8xf32>
  // CHECK-NEXT: net.divide %[[U]], %[[R]]
  %o = net.dot %v, %f batch = [0] x [0] contract = [2] x [2] : tensor<6x4x16xf32>, tensor<6x8x16xf32> -> tensor<6x4x8xf32>
  return %o : tensor<6x4x8xf32>
}

// -----

// Tests that the division comes after what moves the outputs, up to where their rows are no dimensions any more.
// CHECK-LABEL: @outputs
// CHECK-SAME: (%{{.*}}: tensor<6x8x16xf32>, %[[S:.*]]: tensor<6x8xf32>,
func.func @outputs(%x: tensor<6x8x16xf32>, %s: tensor<6x8xf32>, %v: tensor<6x16x4xf32>) -> tensor<16x12xf32> {
  %c = net.subtract %x, %x : tensor<6x8x16xf32>
  %e = net.exponential %c : tensor<6x8x16xf32>
  %r = net.broadcast %s dims = [0, 1] : tensor<6x8xf32> -> tensor<6x8x16xf32>
  %p = net.divide %e, %r : tensor<6x8x16xf32>
  // CHECK: net.dot
  // CHECK-NEXT: net.reshape
  // CHECK-NEXT: %[[T:.*]] = net.transpose %{{.*}} dims = [0, 2, 1, 3] : tensor<2x3x8x4xf32> -> tensor<2x8x3x4xf32>
  // CHECK-NEXT: %[[A:.*]] = net.reshape %[[S]] : tensor<6x8xf32> -> tensor<2x3x8xf32>
  // CHECK-NEXT: %[[B:.*]] = net.transpose %[[A]] dims = [0, 2, 1] : tensor<2x3x8xf32> -> tensor<2x8x3xf32>
  // CHECK-NEXT: %[[R:.*]] = net.broadcast %[[B]] dims = [0, 1, 2] : tensor<2x8x3xf32> -> tensor<2x8x3x4xf32>
  // CHECK-NEXT: %[[O:.*]] = net.divide %[[T]], %[[R]]
  // CHECK-NEXT: net.reshape %[[O]]
  %u = net.dot %p, %v batch = [0] x [0] contract = [2] x [1] : tensor<6x8x16xf32>, tensor<6x16x4xf32> -> tensor<6x8x4xf32>
  %h = net.reshape %u : tensor<6x8x4xf32> -> tensor<2x3x8x4xf32>
  %t = net.transpose %h dims = [0, 2, 1, 3] : tensor<2x3x8x4xf32> -> tensor<2x8x3x4xf32>
  %o = net.reshape %t : tensor<2x8x3x4xf32> -> tensor<16x12xf32>
  return %o : tensor<16x12xf32>
}

// -----

// Tests that the division stays where it is of other numbers than exponentials of differences, where the quotients are
// read elsewhere, in 16 bits, where the product sums along what the divisor has, and where its result is no smaller.
// CHECK-LABEL: @stays
func.func @stays(%x: tensor<8x8xf32>, %h: tensor<8x8xbf16>, %s: tensor<8xf32>, %t: tensor<8xbf16>, %v: tensor<8x2xf32>, %w: tensor<8x2xbf16>, %u: tensor<8x9xf32>)
    -> (tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x8xf32>, tensor<8x2xbf16>, tensor<8x2xf32>, tensor<8x9xf32>) {
  %r = net.broadcast %s dims = [0] : tensor<8xf32> -> tensor<8x8xf32>
  %c = net.subtract %x, %x : tensor<8x8xf32>
  %e = net.exponential %c : tensor<8x8xf32>
  %y = net.exponential %x : tensor<8x8xf32>
  // CHECK-COUNT-3: net.divide %{{.*}} : tensor<8x8xf32>
  %p0 = net.divide %y, %r : tensor<8x8xf32>
  %o0 = net.dot %p0, %v batch = [] x [] contract = [1] x [0] : tensor<8x8xf32>, tensor<8x2xf32> -> tensor<8x2xf32>
  %p1 = net.divide %e, %r : tensor<8x8xf32>
  %o1 = net.dot %p1, %v batch = [] x [] contract = [1] x [0] : tensor<8x8xf32>, tensor<8x2xf32> -> tensor<8x2xf32>
  %p2 = net.divide %e, %r : tensor<8x8xf32>
  %o2 = net.dot %p2, %v batch = [] x [] contract = [0] x [0] : tensor<8x8xf32>, tensor<8x2xf32> -> tensor<8x2xf32>
  // CHECK: net.divide %{{.*}} : tensor<8x8xbf16>
  %q = net.broadcast %t dims = [0] : tensor<8xbf16> -> tensor<8x8xbf16>
  %d = net.subtract %h, %h : tensor<8x8xbf16>
  %f = net.exponential %d : tensor<8x8xbf16>
  %p3 = net.divide %f, %q : tensor<8x8xbf16>
  %o3 = net.dot %p3, %w batch = [] x [] contract = [1] x [0] : tensor<8x8xbf16>, tensor<8x2xbf16> -> tensor<8x2xbf16>
  // CHECK: net.divide %{{.*}} : tensor<8x8xf32>
  %p4 = net.divide %e, %r : tensor<8x8xf32>
  %o4 = net.dot %p4, %u batch = [] x [] contract = [1] x [0] : tensor<8x8xf32>, tensor<8x9xf32> -> tensor<8x9xf32>
  // CHECK-NOT: net.divide
  return %o0, %o1, %p1, %o3, %o2, %o4 : tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x8xf32>, tensor<8x2xbf16>, tensor<8x2xf32>, tensor<8x9xf32>
}
