// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-optimize-merge-conversions | FileCheck %s

dist.mesh @mesh <["tp" = 2]>

// Tests that two targets which begin with the same step share it.
// CHECK-LABEL: @equal_conversions
// CHECK: %[[ALL:.*]] = dist.c_allgather %arg0
// CHECK-NOT: dist.c_allgather
// CHECK: net.negate %[[ALL]]
// CHECK: net.tanh %[[ALL]]
func.func @equal_conversions(%arg0: tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = dist.c_allgather %arg0 axes ["tp"] from <dims = [["tp"]]> to <dims = [[]]> shape [8] {net.scope = "a"} : tensor<4xf32> -> tensor<8xf32>
  %1 = net.negate %0 : tensor<8xf32>
  %2 = dist.c_allgather %arg0 axes ["tp"] from <dims = [["tp"]]> to <dims = [[]]> shape [8] {net.scope = "b"} : tensor<4xf32> -> tensor<8xf32>
  %3 = net.tanh %2 : tensor<8xf32>
  return %1, %3 : tensor<8xf32>, tensor<8xf32>
}

// Tests that three partial sums which are added are reduced once.
// CHECK-LABEL: @sum_of_three
// CHECK-NEXT: %[[TWO:.*]] = net.add %arg0, %arg1
// CHECK-NEXT: %[[THREE:.*]] = net.add %[[TWO]], %arg2
// CHECK-NEXT: %[[ALL:.*]] = dist.c_allreduce %[[THREE]]
// CHECK-NEXT: return %[[ALL]]
func.func @sum_of_three(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>) -> tensor<8xf32> {
  %0 = dist.c_allreduce %arg0 axes ["tp"] from <dims = [[]], partial = sum ["tp"]> to <dims = [[]]> shape [8] : tensor<8xf32> -> tensor<8xf32>
  %1 = dist.c_allreduce %arg1 axes ["tp"] from <dims = [[]], partial = sum ["tp"]> to <dims = [[]]> shape [8] : tensor<8xf32> -> tensor<8xf32>
  %2 = net.add %0, %1 : tensor<8xf32>
  %3 = dist.c_allreduce %arg2 axes ["tp"] from <dims = [[]], partial = sum ["tp"]> to <dims = [[]]> shape [8] : tensor<8xf32> -> tensor<8xf32>
  %4 = net.add %2, %3 : tensor<8xf32>
  return %4 : tensor<8xf32>
}

// Tests that the sum of two scattered values is taken before they are scattered.
// CHECK-LABEL: @scattered_sum
// CHECK-NEXT: %[[SUM:.*]] = net.subtract %arg0, %arg1 : tensor<8xf32>
// CHECK-NEXT: dist.c_reducescatter %[[SUM]]
func.func @scattered_sum(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> tensor<4xf32> {
  %0 = dist.c_reducescatter %arg0 axes ["tp"] from <dims = [[]], partial = sum ["tp"]> to <dims = [["tp"]]> shape [8] : tensor<8xf32> -> tensor<4xf32>
  %1 = dist.c_reducescatter %arg1 axes ["tp"] from <dims = [[]], partial = sum ["tp"]> to <dims = [["tp"]]> shape [8] : tensor<8xf32> -> tensor<4xf32>
  %2 = net.subtract %0, %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}

// Tests what stays: a reduction with another user, a product, a maximum, and one reduced value plus a whole one.
// CHECK-LABEL: @stays
// CHECK-COUNT-5: dist.c_allreduce
// CHECK-NOT: dist.c_allreduce
// CHECK: return
func.func @stays(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = dist.c_allreduce %arg0 axes ["tp"] from <dims = [[]], partial = sum ["tp"]> to <dims = [[]]> shape [8] : tensor<8xf32> -> tensor<8xf32>
  %1 = dist.c_allreduce %arg1 axes ["tp"] from <dims = [[]], partial = sum ["tp"]> to <dims = [[]]> shape [8] : tensor<8xf32> -> tensor<8xf32>
  %2 = net.add %0, %1 : tensor<8xf32>
  %3 = net.multiply %0, %arg1 : tensor<8xf32>
  %4 = dist.c_allreduce %arg0 axes ["tp"] from <dims = [[]], partial = max ["tp"]> to <dims = [[]]> shape [8] : tensor<8xf32> -> tensor<8xf32>
  %5 = dist.c_allreduce %arg1 axes ["tp"] from <dims = [[]], partial = max ["tp"]> to <dims = [[]]> shape [8] : tensor<8xf32> -> tensor<8xf32>
  %6 = net.add %4, %5 : tensor<8xf32>
  %7 = dist.c_allreduce %3 axes ["tp"] from <dims = [[]], partial = sum ["tp"]> to <dims = [[]]> shape [8] : tensor<8xf32> -> tensor<8xf32>
  %8 = net.add %7, %arg0 : tensor<8xf32>
  return %2, %3, %6, %8 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
