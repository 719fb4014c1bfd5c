// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-import-read-shardings | FileCheck %s

// Tests a computation per rank: what enters and leaves it is constrained, and an argument that enters it is kept so
// although other operations read it. Its axes are divided as all others are.

// CHECK: given.mesh = #given.mesh<["x:(1)2" = 2, "x:(2)2" = 2]>
// CHECK: "sdy.mesh"() {mesh = {axes = ["x:(1)2", "x:(2)2"], sizes = array<i64: 2, 2>}, sym_name = "mesh"}
// CHECK-LABEL: func.func @manual
// CHECK-SAME: (%arg0: tensor<8xf32> {given.sharding = #given.sharding<[{"x:(1)2", "x:(2)2"}]>}, %arg1: tensor<4xf32>)
// CHECK: %[[IN:.*]] = given.constrain %arg0 to <[{"x:(1)2", "x:(2)2"}]>
// CHECK: %[[OUT:.*]] = "sdy.manual_computation"(%[[IN]], %arg1)
// CHECK: %[[SUM:.*]] = "stablehlo.add"
// CHECK-NEXT: "stablehlo.return"(%[[SUM]])
// CHECK: in_shardings = [{dims = [{axes = ["x:(1)2", "x:(2)2"]}], mesh = @mesh}, {dims = [{axes = []}], mesh = @mesh}], manual_axes = ["x:(1)2", "x:(2)2"]
// CHECK: given.constrain %[[OUT]] to <[{"x:(1)2", "x:(2)2"}]>
// CHECK: given.constrain %{{.*}} to <[{"x:(2)2"}]>
sdy.mesh @mesh = <["x"=4]>
func.func @manual(%arg0: tensor<8xf32>, %arg1: tensor<4xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"x"}]>, <@mesh, [{}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%arg2: tensor<2xf32>, %arg3: tensor<4xf32>) {
    // JAX constrains the numbers that a reduction combines.
    %1 = "stablehlo.all_reduce"(%arg2) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      %t = sdy.sharding_constraint %s <@mesh, []> : tensor<f32>
      stablehlo.return %t : tensor<f32>
    }) : (tensor<2xf32>) -> tensor<2xf32>
    sdy.return %1 : tensor<2xf32>
  } : (tensor<8xf32>, tensor<4xf32>) -> tensor<8xf32>
  %2 = stablehlo.add %0, %arg0 : tensor<8xf32>
  %3 = sdy.sharding_constraint %2 <@mesh, [{"x":(2)2}]> : tensor<8xf32>
  return %3 : tensor<8xf32>
}
