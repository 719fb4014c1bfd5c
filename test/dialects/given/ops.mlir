// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s | dist-opt - | FileCheck %s

// Tests that what is printed is parsed as it was.

// CHECK: module attributes {given.mesh = #given.mesh<["dp" = 2, "x:(1)2" = 2, "x:(2)4" = 4]>}
module attributes {given.mesh = #given.mesh<["dp" = 2, "x:(1)2" = 2, "x:(2)4" = 4]>} {
  // CHECK: net.variable parameter @w : tensor<8xf32> {given.sharding = #given.sharding<[{"x:(1)2", "x:(2)4"}]>}
  net.variable parameter @w : tensor<8xf32> {given.sharding = #given.sharding<[{"x:(1)2", "x:(2)4"}]>}
  // CHECK: func.func @f(%[[X:.*]]: tensor<8x4xf32> {given.sharding = #given.sharding<[{"dp"}, {?}p1]>}, %[[S:.*]]: tensor<f32> {given.sharding = #given.sharding<[]>})
  func.func @f(%x: tensor<8x4xf32> {given.sharding = #given.sharding<[{"dp"}, {?}p1]>}, %s: tensor<f32> {given.sharding = #given.sharding<[]>}) -> tensor<8x4xf32> {
    // CHECK: given.constrain %[[X]] to <[{}, {"x:(1)2", ?}p3], replicated = ["dp"], unreduced = ["x:(2)4"]> : tensor<8x4xf32>
    %0 = given.constrain %x to <[{}, {"x:(1)2", ?}p3], replicated = ["dp"], unreduced = ["x:(2)4"]> : tensor<8x4xf32>
    // CHECK: given.constrain %{{.*}} group 4 : tensor<8x4xf32>
    %1 = given.constrain %0 group 4 : tensor<8x4xf32>
    return %1 : tensor<8x4xf32>
  }
}
