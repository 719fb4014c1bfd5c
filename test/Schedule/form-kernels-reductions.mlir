// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-schedule-form-kernels | FileCheck %s

// Tests that a reduction of few neighbours, with kept dimensions between them and others, has two steps: rows first.

// CHECK-LABEL: func.func @groups
func.func @groups(%x: tensor<2x8x8x6x4xf32>, %n: tensor<2x8x6x4xi8>) -> (tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xi8>) {
  // CHECK-DAG: net.reduce sum {{.*}} dims = [1, 2] : tensor<2x8x8x6x4xf32> -> tensor<2x6x4xf32>
  // CHECK-DAG: net.reduce sum {{.*}} dims = [2] : tensor<2x6x4xf32> -> tensor<2x6xf32>
  // CHECK-DAG: net.reduce max {{.*}} dims = [1, 2] : tensor<2x8x8x6x4xf32> -> tensor<2x6x4xf32>
  // CHECK-DAG: net.reduce max {{.*}} dims = [2] : tensor<2x6x4xf32> -> tensor<2x6xf32>
  // CHECK-DAG: net.reduce sum {{.*}} dims = [1] : tensor<2x8x6x4xi8> -> tensor<2x6x4xi8>
  // CHECK-DAG: net.reduce sum {{.*}} dims = [2] : tensor<2x6x4xi8> -> tensor<2x6xi8>
  // CHECK: return
  %0 = net.reduce sum %x dims = [1, 2, 4] : tensor<2x8x8x6x4xf32> -> tensor<2x6xf32>
  %1 = net.reduce max %x dims = [1, 2, 4] : tensor<2x8x8x6x4xf32> -> tensor<2x6xf32>
  %2 = net.reduce sum %n dims = [1, 3] : tensor<2x8x6x4xi8> -> tensor<2x6xi8>
  return %0, %1, %2 : tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xi8>
}

// A step of its own would round sums in 16 bits; nothing is between neighbours and rows; neighbours are many; rows few.
// CHECK-LABEL: func.func @whole
// CHECK-COUNT-4: net.reduce sum
// CHECK-NOT: net.reduce
func.func @whole(%a: tensor<8x6x4xbf16>, %b: tensor<6x8x4xf32>, %c: tensor<8x6x128xf32>, %d: tensor<4x6x4xf32>)
    -> (tensor<6xbf16>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) {
  %0 = net.reduce sum %a dims = [0, 2] : tensor<8x6x4xbf16> -> tensor<6xbf16>
  %1 = net.reduce sum %b dims = [1, 2] : tensor<6x8x4xf32> -> tensor<6xf32>
  %2 = net.reduce sum %c dims = [0, 2] : tensor<8x6x128xf32> -> tensor<6xf32>
  %3 = net.reduce sum %d dims = [0, 2] : tensor<4x6x4xf32> -> tensor<6xf32>
  return %0, %1, %2, %3 : tensor<6xbf16>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
}
