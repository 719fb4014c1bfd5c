// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file --dist-schedule-form-kernels | FileCheck %s

// Tests that what backward computes again waits for the cotangent, and is computed beside what reads it: forward and backward of a
// function between two products are one kernel each, and the second reads the argument of the first and the cotangent.
// CHECK-LABEL: @waits_for_the_cotangent
// CHECK: %[[Y:.*]] = dist.matmul
// CHECK-NEXT: %[[F:.*]] = dist.kernel(%[[Y]])
// CHECK: dist.matmul %[[F]]
// CHECK: %[[G:.*]] = dist.matmul
// CHECK-NEXT: dist.kernel(%[[Y]], %[[G]])
// CHECK: net.tanh
// CHECK: net.multiply
// CHECK-NOT: dist.kernel
// CHECK: return
func.func @waits_for_the_cotangent(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %y = net.dot %x, %w batch = [] x [] contract = [1] x [0] {net.role = #net.role<forward>} : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %t = net.tanh %y {net.recomputed = 1 : i64, net.role = #net.role<forward>} : tensor<8x8xf32>
  %z = net.dot %t, %w batch = [] x [] contract = [1] x [0] {net.role = #net.role<forward>} : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %g = net.dot %z, %w batch = [] x [] contract = [1] x [1] {net.role = #net.role<backward>} : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %u = net.tanh %y {net.recomputes = 1 : i64, net.role = #net.role<backward>} : tensor<8x8xf32>
  %r = net.multiply %u, %g {net.role = #net.role<backward>} : tensor<8x8xf32>
  return %z, %r : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// Tests that a recomputed GEMM comes after the GEMM whose result is read with it.
// CHECK-LABEL: @products_wait
// CHECK: %[[Z:.*]] = dist.matmul
// CHECK-NEXT: %[[G:.*]] = dist.matmul %[[Z]]
// CHECK-NEXT: %[[AGAIN:.*]] = dist.matmul %arg0 {{.*}}%arg1 {{.*}}net.recomputes
// CHECK-NEXT: dist.kernel(%[[AGAIN]], %[[G]])
func.func @products_wait(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %y = net.dot %x, %w batch = [] x [] contract = [1] x [0] {net.recomputed = 1 : i64, net.role = #net.role<forward>} : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %g = net.dot %y, %w batch = [] x [] contract = [1] x [1] {net.role = #net.role<backward>} : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %u = net.dot %x, %w batch = [] x [] contract = [1] x [0] {net.recomputes = 1 : i64, net.role = #net.role<backward>} : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %r = net.multiply %u, %g {net.role = #net.role<backward>} : tensor<8x8xf32>
  return %y, %r : tensor<8x8xf32>, tensor<8x8xf32>
}
