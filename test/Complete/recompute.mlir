// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file --dist-complete-recompute | FileCheck %s
// RUN: dist-opt %s -split-input-file --dist-complete-recompute="policy=products" | FileCheck %s --check-prefix=PRODUCTS

// Tests that backward keeps the argument of a chain of cheap operations, in its narrow type, and computes the rest again in front of
// its first user.
// CHECK-LABEL: @keeps_the_narrow_argument
func.func @keeps_the_narrow_argument(%x: tensor<4x8xbf16>, %w: tensor<8x8xbf16>, %g: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK: %[[X:.*]] = net.dot
  %y = net.dot %x, %w batch = [] x [] contract = [1] x [0] {net.role = #net.role<forward>, net.scope = "h.0"} : tensor<4x8xbf16>, tensor<8x8xbf16> -> tensor<4x8xbf16>
  // CHECK-NEXT: net.convert %[[X]] {net.recomputed = [[A:[0-9]+]] : i64, net.role = #net.role<forward>, net.scope = "h.0"}
  // CHECK-NEXT: net.tanh {{.*}}net.recomputed = [[B:[0-9]+]]
  %c = net.convert %y {net.role = #net.role<forward>, net.scope = "h.0"} : tensor<4x8xbf16> -> tensor<4x8xf32>
  %t = net.tanh %c {net.role = #net.role<forward>, net.scope = "h.0"} : tensor<4x8xf32>
  // CHECK-NEXT: net.negate
  %n = net.negate %g {net.role = #net.role<backward>, net.scope = "h.0"} : tensor<4x8xf32>
  // CHECK-NEXT: %[[C:.*]] = net.convert %[[X]] {net.recomputes = [[A]] : i64, net.role = #net.role<backward>, net.scope = "h.0"}
  // CHECK-NEXT: %[[T:.*]] = net.tanh %[[C]] {net.recomputes = [[B]] : i64
  // CHECK-NEXT: net.multiply %[[T]], %{{.*}}
  %r = net.multiply %t, %n {net.role = #net.role<backward>, net.scope = "h.0"} : tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// Tests that reductions are kept rather than computed again, but not where the policy keeps products alone.
// CHECK-LABEL: @keeps_what_is_reduced
// PRODUCTS-LABEL: @keeps_what_is_reduced
func.func @keeps_what_is_reduced(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %g: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = net.dot %x, %w batch = [] x [] contract = [1] x [0] {net.role = #net.role<forward>} : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  // CHECK: %[[S:.*]] = net.reduce sum
  %s = net.reduce sum %y dims = [1] {net.role = #net.role<forward>} : tensor<4x8xf32> -> tensor<4xf32>
  // CHECK: net.broadcast %[[S]] {{.*}}net.recomputes
  // PRODUCTS: net.reduce sum {{.*}}net.recomputes
  // PRODUCTS-NEXT: net.broadcast {{.*}}net.recomputes
  %b = net.broadcast %s dims = [0] {net.role = #net.role<forward>} : tensor<4xf32> -> tensor<4x8xf32>
  %p = net.multiply %y, %b {net.role = #net.role<forward>} : tensor<4x8xf32>
  %q = net.multiply %g, %p {net.role = #net.role<backward>} : tensor<4x8xf32>
  %r = net.multiply %q, %y {net.role = #net.role<backward>} : tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// Tests that parameters, converted or not, are there anyway.
net.variable parameter @w : tensor<8x8xf32>
// CHECK-LABEL: @leaves_parameters
func.func @leaves_parameters(%g: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
  // CHECK-NOT: net.recompute
  %w = net.read @w {net.role = #net.role<forward>} : tensor<8x8xf32>
  %n = net.convert %w {net.role = #net.role<forward>} : tensor<8x8xf32> -> tensor<8x8xbf16>
  %r = net.dot %g, %n batch = [] x [] contract = [1] x [0] {net.role = #net.role<backward>} : tensor<4x8xbf16>, tensor<8x8xbf16> -> tensor<4x8xbf16>
  // CHECK: return
  return %r : tensor<4x8xbf16>
}

// -----

// Tests that what is random is not made twice for nothing: of a long chain that is made of indices alone the narrow end is kept.
// CHECK-LABEL: @keeps_random_numbers
func.func @keeps_random_numbers(%g: tensor<8xf32>) -> tensor<8xf32> {
  %0 = net.iota dim = 0 {net.role = #net.role<forward>} : tensor<8xui32>
  %1 = net.add %0, %0 {net.role = #net.role<forward>} : tensor<8xui32>
  %2 = net.xor %1, %0 {net.role = #net.role<forward>} : tensor<8xui32>
  %3 = net.add %2, %1 {net.role = #net.role<forward>} : tensor<8xui32>
  %4 = net.xor %3, %2 {net.role = #net.role<forward>} : tensor<8xui32>
  %5 = net.add %4, %3 {net.role = #net.role<forward>} : tensor<8xui32>
  %6 = net.xor %5, %4 {net.role = #net.role<forward>} : tensor<8xui32>
  %7 = net.add %6, %5 {net.role = #net.role<forward>} : tensor<8xui32>
  // CHECK: %[[MASK:.*]] = net.compare
  %m = net.compare lt, %7, %0 {net.role = #net.role<forward>} : tensor<8xui32> -> tensor<8xi1>
  // CHECK-NEXT: net.convert %[[MASK]] {net.recomputed
  // CHECK-NEXT: net.convert %[[MASK]] {net.recomputes
  %f = net.convert %m {net.role = #net.role<forward>} : tensor<8xi1> -> tensor<8xf32>
  %r = net.multiply %g, %f {net.role = #net.role<backward>} : tensor<8xf32>
  return %r : tensor<8xf32>
}
