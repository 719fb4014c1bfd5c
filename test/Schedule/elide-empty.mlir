// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-schedule-elide-empty | FileCheck %s

dist.mesh @mesh <["dp" = 2]>

// Tests that what has no elements is a constant, exchanges between ranks among it, and that what is made of such is not.
// CHECK-LABEL: func.func @nothing
// CHECK-NEXT: %[[NONE:.*]] = net.constant {net.role = #net.role<forward>} dense<> : tensor<4x0xf32>
// CHECK-NEXT: %[[LESS:.*]] = net.constant dense<> : tensor<2x0xf32>
// CHECK-NEXT: %[[ALL:.*]] = net.constant dense<> : tensor<4x0xf32>
// CHECK-NEXT: %[[SUM:.*]] = net.reduce sum %[[ALL]] dims = [1] : tensor<4x0xf32> -> tensor<4xf32>
// CHECK-NEXT: return %[[SUM]], %[[NONE]]
func.func @nothing(%x: tensor<4x2xf32>) -> (tensor<4xf32>, tensor<4x0xf32>) {
  %0 = net.slice %x starts = [0, 2] limits = [4, 2] steps = [1, 1] {net.role = #net.role<forward>} : tensor<4x2xf32> -> tensor<4x0xf32>
  %1 = net.slice %0 starts = [0, 0] limits = [2, 0] steps = [1, 1] : tensor<4x0xf32> -> tensor<2x0xf32>
  %2 = dist.c_allgather %1 axes ["dp"] from <dims = [["dp"], []]> to <dims = [[], []]> shape [4, 0] : tensor<2x0xf32> -> tensor<4x0xf32>
  %3 = net.reduce sum %2 dims = [1] : tensor<4x0xf32> -> tensor<4xf32>
  return %3, %0 : tensor<4xf32>, tensor<4x0xf32>
}
