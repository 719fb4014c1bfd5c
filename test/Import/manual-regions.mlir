// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-import-manual-regions="mesh=dp=2,tp=2" -split-input-file | FileCheck %s --implicit-check-not=sdy.

// Tests that a computation per rank becomes straight code between conversions.

// The example of the pass, on a mesh of two axes.
// CHECK: dist.mesh @mesh <["dp" = 2, "tp" = 2]>
// CHECK-LABEL: func.func @main
// CHECK: %[[PART:.*]] = dist.to_local %arg0 in <dims = {{\[}}["dp"]]> : tensor<8xf32> -> tensor<4xf32>
// CHECK: %[[TANH:.*]] = "stablehlo.tanh"(%[[PART]])
// CHECK: %[[WHOLE:.*]] = dist.to_global %[[TANH]] over ["dp", "tp"] in <dims = {{\[}}["dp"]]> : tensor<4xf32> -> tensor<8xf32>
// CHECK: return %[[WHOLE]]
sdy.mesh @mesh = <["dp"=2, "tp"=2]>
func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"dp"}]>] out_shardings=[<@mesh, [{"dp"}]>] manual_axes={"dp", "tp"} (%arg1: tensor<4xf32>) {
    %1 = stablehlo.tanh %arg1 : tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Tests computations in each other: the inner one divides what the outer one leaves whole, over axes of its own. Axes
// that are not manual, priorities and open dimensions say nothing at the boundary.

// CHECK-LABEL: func.func @nested
// CHECK: %[[OUTER:.*]] = dist.to_local %arg0 in <dims = {{\[}}["dp"], []]> : tensor<8x8xf32> -> tensor<4x8xf32>
// CHECK: %[[INNER:.*]] = dist.to_local %[[OUTER]] in <dims = {{\[}}[], ["tp"]]> : tensor<4x8xf32> -> tensor<4x4xf32>
// CHECK: %[[SINE:.*]] = "stablehlo.sine"(%[[INNER]])
// CHECK: %[[BACK:.*]] = dist.to_global %[[SINE]] over ["tp"] in <dims = {{\[}}[], ["tp"]]>
// CHECK: dist.to_global %[[BACK]] over ["dp"] in <dims = {{\[}}["dp"], []]>
sdy.mesh @mesh = <["dp"=2, "tp"=2]>
func.func @nested(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"dp"}p1, {"tp", ?}]>] out_shardings=[<@mesh, [{"dp"}, {?}], replicated={"tp"}>] manual_axes={"dp"} (%arg1: tensor<4x8xf32>) {
    %1 = sdy.manual_computation(%arg1) in_shardings=[<@mesh, [{}, {"tp"}]>] out_shardings=[<@mesh, [{}, {"tp"}]>] manual_axes={"tp"} (%arg2: tensor<4x4xf32>) {
      %2 = stablehlo.sine %arg2 : tensor<4x4xf32>
      sdy.return %2 : tensor<4x4xf32>
    } : (tensor<4x8xf32>) -> tensor<4x8xf32>
    sdy.return %1 : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = sdy.sharding_constraint %0 <@mesh, [{"dp"}, {"tp"}]> : tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}

// -----

// Tests the form before Shardy: lists of devices become axes of the mesh that is given.

// CHECK-LABEL: func.func @older
// CHECK: dist.to_local {{.*}} in <dims = {{\[}}["tp"], []]> : tensor<8x8xf32> -> tensor<4x8xf32>
// CHECK: dist.to_global {{.*}} over ["dp", "tp"] in <dims = {{\[}}["dp"], ["tp"]]> : tensor<4x8xf32> -> tensor<8x16xf32>
// CHECK: dist.to_global {{.*}} over ["dp", "tp"] in <dims = {{\[}}["tp", "dp"], []]> : tensor<4x8xf32> -> tensor<16x8xf32>
// CHECK: dist.to_global {{.*}} over ["dp", "tp"] in <dims = {{\[}}["dp", "tp"], []]> : tensor<4x8xf32> -> tensor<16x8xf32>
// CHECK: dist.to_global {{.*}} over ["dp", "tp"] in <dims = {{\[}}[], []]> : tensor<4x8xf32> -> tensor<4x8xf32>
func.func @older(%arg0: tensor<8x8xf32>) {
  %0 = stablehlo.custom_call @Sharding(%arg0) {mhlo.sharding = "{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"} : (tensor<8x8xf32>) -> tensor<4x8xf32>
  %2 = stablehlo.custom_call @SPMDShardToFullShape(%1) {mhlo.sharding = "{devices=[2,2]<=[4]}"} : (tensor<4x8xf32>) -> tensor<8x16xf32>
  %3 = stablehlo.custom_call @SPMDShardToFullShape(%1) {mhlo.sharding = "{devices=[4,1]0,2,1,3}"} : (tensor<4x8xf32>) -> tensor<16x8xf32>
  %4 = stablehlo.custom_call @SPMDShardToFullShape(%1) {mhlo.sharding = "{devices=[4,1]<=[4]}"} : (tensor<4x8xf32>) -> tensor<16x8xf32>
  %5 = stablehlo.custom_call @SPMDShardToFullShape(%1) {mhlo.sharding = "{replicated}"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// Tests that a mesh with other axes for the same ranks, which nothing refers to, makes place for the given one.

// CHECK: dist.mesh @mesh <["dp" = 2, "tp" = 2]>
// CHECK-NOT: dist.mesh
sdy.mesh @other = <["axis_0"=4]>
sdy.mesh @empty_mesh = <[]>
