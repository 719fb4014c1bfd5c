// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s | dist-opt - | FileCheck %s
// RUN: dist-opt %s --mlir-print-op-generic | dist-opt - | FileCheck %s

// Tests that every conversion prints as it is written.

dist.mesh @mesh <["dp" = 2, "tp" = 2]>

// CHECK-LABEL: @collectives
func.func @collectives(%p: tensor<8x4xf32>, %s: tensor<4x4xf32>) {
  // CHECK: dist.c_allreduce %{{.*}} axes ["dp", "tp"] from <dims = {{\[}}[], []], partial = sum ["dp", "tp"]> to <dims = {{\[}}[], []]> shape [8, 4] : tensor<8x4xf32> -> tensor<8x4xf32>
  %0 = dist.c_allreduce %p axes ["dp", "tp"] from <dims = [[], []], partial = sum ["dp", "tp"]> to <dims = [[], []]> shape [8, 4] : tensor<8x4xf32> -> tensor<8x4xf32>
  // CHECK: dist.c_reducescatter %{{.*}} axes ["tp"] {{.*}} -> tensor<4x4xf32>
  %1 = dist.c_reducescatter %p axes ["tp"] from <dims = [[], []], partial = max ["tp"]> to <dims = [["tp"], []]> shape [8, 4] : tensor<8x4xf32> -> tensor<4x4xf32>
  // CHECK: dist.c_allgather %{{.*}} axes ["tp"] {{.*}} -> tensor<8x4xf32>
  %2 = dist.c_allgather %s axes ["tp"] from <dims = [["tp"], []]> to <dims = [[], []]> shape [8, 4] : tensor<4x4xf32> -> tensor<8x4xf32>
  // Parts of a gather under a digit that stays come to lie between each other.
  // CHECK: dist.c_allgather %{{.*}} axes ["dp"] from <dims = {{\[}}["dp", "tp"], []]> to <dims = {{\[}}[2, "tp"], []]> shape [16, 4] : tensor<4x4xf32> -> tensor<8x4xf32>
  %3 = dist.c_allgather %s axes ["dp"] from <dims = [["dp", "tp"], []]> to <dims = [[2, "tp"], []]> shape [16, 4] : tensor<4x4xf32> -> tensor<8x4xf32>
  // CHECK: dist.c_alltoall %{{.*}} axes ["tp"] {{.*}} -> tensor<8x2xf32>
  %4 = dist.c_alltoall %s axes ["tp"] from <dims = [["tp"], []]> to <dims = [[], ["tp"]]> shape [8, 4] : tensor<4x4xf32> -> tensor<8x2xf32>
  return
}

// CHECK-LABEL: @with_one_holder
func.func @with_one_holder(%p: tensor<8x4xf32>) {
  // CHECK: dist.c_reduce %{{.*}} axes ["tp"] from <dims = {{\[}}[], []], partial = sum ["tp"]> to <dims = {{\[}}[], []], on {"tp" = [1]}> shape [8, 4] : tensor<8x4xf32> -> tensor<8x4xf32>
  %0 = dist.c_reduce %p axes ["tp"] from <dims = [[], []], partial = sum ["tp"]> to <dims = [[], []], on {"tp" = [1]}> shape [8, 4] : tensor<8x4xf32> -> tensor<8x4xf32>
  // CHECK: dist.c_broadcast %{{.*}} axes ["dp", "tp"] from <dims = {{\[}}[], []], on {"dp" = [0], "tp" = [1]}> to <dims = {{\[}}[], []]> shape [8, 4] : tensor<8x4xf32> -> tensor<8x4xf32>
  %1 = dist.c_broadcast %0 axes ["dp", "tp"] from <dims = [[], []], on {"dp" = [0], "tp" = [1]}> to <dims = [[], []]> shape [8, 4] : tensor<8x4xf32> -> tensor<8x4xf32>
  // CHECK: dist.to_partial %{{.*}} at() axes ["tp"] from <dims = {{\[}}[], []], on {"tp" = [1]}> to <dims = {{\[}}[], []], partial = max ["tp"]> shape [8, 4] : tensor<8x4xf32> -> tensor<8x4xf32>
  %2 = dist.to_partial %0 at () axes ["tp"] from <dims = [[], []], on {"tp" = [1]}> to <dims = [[], []], partial = max ["tp"]> shape [8, 4] : tensor<8x4xf32> -> tensor<8x4xf32>
  // CHECK: dist.c_send %{{.*}} axes ["tp"] from <dims = {{\[}}[], []], on {"tp" = [1]}> to <dims = {{\[}}[], []], on {"tp" = [0]}> shape [8, 4] : tensor<8x4xf32> -> tensor<8x4xf32>
  %3 = dist.c_send %0 axes ["tp"] from <dims = [[], []], on {"tp" = [1]}> to <dims = [[], []], on {"tp" = [0]}> shape [8, 4] : tensor<8x4xf32> -> tensor<8x4xf32>
  return
}

// CHECK-LABEL: @local_conversions
func.func @local_conversions(%r: tensor<7xf32>, %s: tensor<4xf32>) {
  // CHECK: %[[TP:.*]] = dist.coordinate "tp"
  %tp = dist.coordinate "tp" : tensor<i32>
  // CHECK: dist.shard %{{.*}} at(%[[TP]]) axes ["tp"] from <dims = {{\[}}[]]> to <dims = {{\[}}["tp"]]> shape [7] : tensor<7xf32> -> tensor<4xf32>
  %0 = dist.shard %r at (%tp) axes ["tp"] from <dims = [[]]> to <dims = [["tp"]]> shape [7] : tensor<7xf32> -> tensor<4xf32>
  // CHECK: dist.to_partial %{{.*}} at(%[[TP]]) axes ["tp"]
  %1 = dist.to_partial %r at (%tp) axes ["tp"] from <dims = [[]]> to <dims = [[]], partial = sum ["tp"]> shape [7] : tensor<7xf32> -> tensor<7xf32>
  // CHECK: dist.mask %{{.*}} at(%[[TP]]) dims [0] placement <dims = {{\[}}["tp"]]> shape [7] fill 0.000000e+00 : f32 : tensor<4xf32>
  %2 = dist.mask %s at (%tp) dims [0] placement <dims = [["tp"]]> shape [7] fill 0.0 : f32 : tensor<4xf32>
  return
}
