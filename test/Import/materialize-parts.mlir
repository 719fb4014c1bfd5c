// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-import-materialize-parts | FileCheck %s --implicit-check-not=dist.to_

// Tests that a rank takes its part of what enters a computation per rank, and that what leaves it is gathered.

dist.mesh @mesh <["dp" = 2, "tp" = 2]>

// The example of the pass.
// CHECK-LABEL: func.func @example
func.func @example(%0: tensor<8xf32>) -> tensor<8xf32> {
  %whole = net.negate %0 : tensor<8xf32>
  // CHECK: %[[DP:.*]] = dist.coordinate "dp" : tensor<i32>
  // CHECK: %[[PART:.*]] = dist.shard %{{.*}} at(%[[DP]]) axes ["dp"] from <dims = {{\[}}[]]> to <dims = {{\[}}["dp"]]> shape [8] : tensor<8xf32> -> tensor<4xf32>
  %1 = dist.to_local %whole in <dims = [["dp"]]> : tensor<8xf32> -> tensor<4xf32>
  // CHECK: dist.c_allgather %[[PART]] axes ["dp"] from <dims = {{\[}}["dp"]]> to <dims = {{\[}}[]]> shape [8] : tensor<4xf32> -> tensor<8xf32>
  %2 = dist.to_global %1 over ["dp", "tp"] in <dims = [["dp"]]> : tensor<4xf32> -> tensor<8xf32>
  %3 = net.negate %2 : tensor<8xf32>
  return %3 : tensor<8xf32>
}

// CHECK-LABEL: func.func @both_axes
func.func @both_axes(%0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %whole = net.negate %0 : tensor<8x8xf32>
  // CHECK: dist.shard {{.*}} axes ["tp"] from <dims = {{\[}}[], []]> to <dims = {{\[}}["tp"], []]> {{.*}} -> tensor<4x8xf32>
  // CHECK: dist.shard {{.*}} axes ["dp"] from <dims = {{\[}}["tp"], []]> to <dims = {{\[}}["tp", "dp"], []]> {{.*}} -> tensor<2x8xf32>
  %1 = dist.to_local %whole in <dims = [["tp", "dp"], []]> : tensor<8x8xf32> -> tensor<2x8xf32>
  // CHECK: dist.c_allgather {{.*}} axes ["tp", "dp"]
  %2 = dist.to_global %1 over ["dp", "tp"] in <dims = [["tp", "dp"], []]> : tensor<2x8xf32> -> tensor<8x8xf32>
  %3 = net.negate %2 : tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}

// A boundary that names no axis is nothing.
// CHECK-LABEL: func.func @replicated
// CHECK-NEXT: return %arg0
func.func @replicated(%0: tensor<8xf32>) -> tensor<8xf32> {
  %1 = dist.to_local %0 in <dims = [[]]> : tensor<8xf32> -> tensor<8xf32>
  %2 = dist.to_global %1 over ["dp", "tp"] in <dims = [[]]> : tensor<8xf32> -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// Arguments that only enter, and results that have just left, are parts.
// CHECK-LABEL: func.func @ports
// CHECK-SAME: (%[[PART:.*]]: tensor<4xf32> {dist.mapping = #dist.mapping<dims = {{\[}}["dp"]]>}) -> (tensor<4xf32> {dist.mapping = #dist.mapping<dims = {{\[}}["dp"]]>})
// CHECK-NEXT: %[[TANH:.*]] = net.tanh %[[PART]] : tensor<4xf32>
// CHECK-NEXT: return %[[TANH]]
func.func @ports(%0: tensor<8xf32>) -> tensor<8xf32> {
  %1 = dist.to_local %0 in <dims = [["dp"]]> : tensor<8xf32> -> tensor<4xf32>
  %2 = net.tanh %1 : tensor<4xf32>
  %3 = dist.to_global %2 over ["dp", "tp"] in <dims = [["dp"]]> : tensor<4xf32> -> tensor<8xf32>
  return %3 : tensor<8xf32>
}
