// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-schedule-form-kernels | FileCheck %s --check-prefix=AGAIN
// RUN: dist-opt %s --dist-schedule-form-kernels=library-epilogues | FileCheck %s

// Tests that the sum of a product and a bias, which two kernels read, is computed again from the product, unless a library may make it
// without the product: then it is stored.
// AGAIN-LABEL: @sum_is_read_twice
// AGAIN: %[[PRODUCT:.*]] = dist.matmul
// AGAIN-NEXT: %{{[0-9]+}} = dist.kernel(%[[PRODUCT]], %arg2)
// AGAIN: dist.kernel(%[[PRODUCT]], %arg2, %
// CHECK-LABEL: @sum_is_read_twice
// CHECK: %[[PRODUCT:.*]] = dist.matmul
// CHECK-NEXT: %[[SUM:.*]]:2 = dist.kernel(%[[PRODUCT]], %arg2)
// CHECK: dist.yield %[[INNER:.*]], %
// CHECK: dist.matmul %[[SUM]]#1
// CHECK-NEXT: dist.kernel(%[[SUM]]#0, %
// CHECK-NOT: dist.kernel(%[[PRODUCT]]
// CHECK: return
func.func @sum_is_read_twice(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %1 = net.broadcast %b dims = [1] : tensor<8xf32> -> tensor<4x8xf32>
  %2 = net.add %0, %1 : tensor<4x8xf32>
  %3 = net.tanh %2 : tensor<4x8xf32>
  %4 = net.dot %3, %w batch = [] x [] contract = [1] x [0] : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %5 = net.multiply %2, %4 : tensor<4x8xf32>
  return %5 : tensor<4x8xf32>
}

// The sum of two GEMMs is no epilogue.
// CHECK-LABEL: @sum_of_products
// CHECK: %[[A:.*]] = dist.matmul
// CHECK: %[[B:.*]] = dist.matmul
// CHECK: dist.kernel(%[[A]], %[[B]])
func.func @sum_of_products(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %0 = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %1 = net.dot %x, %w batch = [] x [] contract = [1] x [1] : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %2 = net.add %0, %1 : tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
