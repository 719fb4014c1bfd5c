// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-import-convert-stablehlo | FileCheck %s --implicit-check-not=stablehlo.

// Tests that collectives become conversions over the axes along which their groups stand.

dist.mesh @mesh <["dp" = 2, "tp" = 2]>

// CHECK-LABEL: func.func @all_reduce
func.func @all_reduce(%x: tensor<4xf32>, %y: tensor<2xi1>) -> (tensor<4xf32>, tensor<4xf32>, tensor<2xi1>) {
  // CHECK: %[[SUM:.*]] = dist.c_allreduce %arg0 axes ["tp"] from <dims = {{\[}}[]], partial = sum ["tp"]> to <dims = {{\[}}[]]> shape [4] : tensor<4xf32> -> tensor<4xf32>
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[1, 0], [2, 3]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  // No groups are one group of all ranks; several operands are reduced one by one, i1 by or.
  // CHECK: %[[MAX:.*]] = dist.c_allreduce %arg0 axes ["dp", "tp"] from <dims = {{\[}}[]], partial = max ["dp", "tp"]>
  // CHECK: %[[OR:.*]] = dist.c_allreduce %arg1 axes ["dp", "tp"] from <dims = {{\[}}[]], partial = or ["dp", "tp"]>
  %1:2 = "stablehlo.all_reduce"(%x, %y) <{replica_groups = dense<> : tensor<0x0xi64>}> ({
  ^bb0(%a: tensor<f32>, %c: tensor<i1>, %b: tensor<f32>, %d: tensor<i1>):
    %s = stablehlo.maximum %a, %b : tensor<f32>
    %t = stablehlo.add %c, %d : tensor<i1>
    stablehlo.return %s, %t : tensor<f32>, tensor<i1>
  }) : (tensor<4xf32>, tensor<2xi1>) -> (tensor<4xf32>, tensor<2xi1>)
  // CHECK: return %[[SUM]], %[[MAX]], %[[OR]]
  return %0, %1#0, %1#1 : tensor<4xf32>, tensor<4xf32>, tensor<2xi1>
}

// CHECK-LABEL: func.func @alone
// CHECK-NEXT: return %arg0
func.func @alone(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0], [1], [2], [3]]> : tensor<4x1xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// The order of ranks in the groups is that of the parts.
// CHECK-LABEL: func.func @orders
func.func @orders(%x: tensor<4x8xf32>) -> (tensor<16x8xf32>, tensor<4x2xf32>) {
  // CHECK: dist.c_allgather %arg0 axes ["tp", "dp"] from <dims = {{\[}}["tp", "dp"], []]> to <dims = {{\[}}[], []]> shape [16, 8]
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 2, 1, 3]]> : tensor<1x4xi64>}> : (tensor<4x8xf32>) -> tensor<16x8xf32>
  // CHECK: dist.c_reducescatter %arg0 axes ["dp", "tp"] from <dims = {{\[}}[], []], partial = sum ["dp", "tp"]> to <dims = {{\[}}[], ["dp", "tp"]]> shape [4, 8]
  %1 = "stablehlo.reduce_scatter"(%x) <{scatter_dimension = 1 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x8xf32>) -> tensor<4x2xf32>
  return %0, %1 : tensor<16x8xf32>, tensor<4x2xf32>
}

// CHECK-LABEL: func.func @all_to_all
func.func @all_to_all(%x: tensor<4x8xf32>) -> (tensor<8x4xf32>, tensor<4x8xf32>) {
  // CHECK: %[[PARTS:.*]] = net.reshape %arg0 : tensor<4x8xf32> -> tensor<4x2x4xf32>
  // CHECK: %[[FRONT:.*]] = net.transpose %[[PARTS]] dims = [1, 0, 2]
  // CHECK: %[[LOCAL:.*]] = net.reshape %[[FRONT]] : tensor<2x4x4xf32> -> tensor<1x2x4x4xf32>
  // CHECK: %[[EXCHANGED:.*]] = dist.c_alltoall %[[LOCAL]] axes ["dp"] from <dims = {{\[}}["dp"], [], [], []]> to <dims = {{\[}}[], ["dp"], [], []]> shape [2, 2, 4, 4] : tensor<1x2x4x4xf32> -> tensor<2x1x4x4xf32>
  // CHECK: net.reshape %[[EXCHANGED]] : tensor<2x1x4x4xf32> -> tensor<2x4x4xf32>
  // CHECK: net.reshape %{{.*}} : tensor<2x4x4xf32> -> tensor<8x4xf32>
  %0 = "stablehlo.all_to_all"(%x) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> : (tensor<4x8xf32>) -> tensor<8x4xf32>
  // Along one dimension, over two axes.
  // CHECK: dist.c_alltoall %{{.*}} axes ["dp"] {{.*}} : tensor<1x1x2x2x1x8xf32> -> tensor<2x1x1x2x1x8xf32>
  // CHECK: dist.c_alltoall %{{.*}} axes ["tp"] {{.*}} : tensor<2x1x1x2x1x8xf32> -> tensor<2x2x1x1x1x8xf32>
  %1 = "stablehlo.all_to_all"(%x) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0, %1 : tensor<8x4xf32>, tensor<4x8xf32>
}

// Only axes along which values move are gathered. A rank without a source receives zeros.
// CHECK-LABEL: func.func @permute
func.func @permute(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: dist.c_allgather %{{.*}} axes ["tp"] {{.*}} : tensor<1x4xf32> -> tensor<2x4xf32>
  // CHECK: net.constant dense<[2, 0, 2, 0]> : tensor<4xi32>
  // CHECK: net.dynamic_slice
  // CHECK: net.dynamic_slice {{.*}} -> tensor<1x4xf32>
  // CHECK: net.select
  %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @broadcast
func.func @broadcast(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: dist.c_allgather %{{.*}} axes ["dp"] {{.*}} : tensor<1x4xf32> -> tensor<2x4xf32>
  // CHECK: net.constant dense<[1, 0, 1, 0]> : tensor<4xi32>
  // CHECK-NOT: net.select
  // CHECK: return
  %0 = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[2, 0], [1, 3]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @numbers
func.func @numbers() -> (tensor<ui32>, tensor<ui32>) {
  // CHECK: %[[DP:.*]] = dist.coordinate "dp"
  // CHECK: %[[TP:.*]] = dist.coordinate "tp"
  // CHECK: %[[ROW:.*]] = net.multiply %{{.*}}, %[[DP]]
  // CHECK: %[[RANK:.*]] = net.add %[[ROW]], %[[TP]]
  // CHECK: net.convert %[[RANK]] : tensor<i32> -> tensor<ui32>
  %0 = stablehlo.partition_id : tensor<ui32>
  %1 = stablehlo.replica_id : tensor<ui32>
  return %0, %1 : tensor<ui32>, tensor<ui32>
}
