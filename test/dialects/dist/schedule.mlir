// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: dist-opt %s | dist-opt - | FileCheck %s

// Tests that the operations of a scheduled program read as they are written.

dist.mesh @mesh <["tp" = 2]>

// CHECK-LABEL: @operations
func.func @operations(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) -> tensor<2xf32> {
  // CHECK: dist.matmul %arg0 at 0 [3, 1], %arg1 at 0 [4, 1] to [4, 1] batch [] m 2 n 4 k 3 : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
  %0 = dist.matmul %x at 0 [3, 1], %y at 0 [4, 1] to [4, 1] batch [] m 2 n 4 k 3 : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
  // CHECK: %[[KERNEL:.*]]:2 = dist.kernel(%{{.*}}, %arg0) in_place [0, -1] {
  // CHECK: ^bb0(%[[A:.*]]: tensor<2x4xf32>, %{{.*}}: tensor<2x3xf32>):
  // CHECK: dist.yield %{{.*}}, %[[A]] : tensor<2x4xf32>, tensor<2x4xf32>
  // CHECK: } : (tensor<2x4xf32>, tensor<2x3xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  %1:2 = dist.kernel(%0, %x) in_place [0, -1] {
  ^bb0(%a: tensor<2x4xf32>, %b: tensor<2x3xf32>):
    %e = net.exponential %a : tensor<2x4xf32>
    dist.yield %e, %a : tensor<2x4xf32>, tensor<2x4xf32>
  } : (tensor<2x4xf32>, tensor<2x3xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  // CHECK: dist.collective all_gather sum %[[KERNEL]]#0 axes ["tp"] : tensor<2x4xf32> -> tensor<2x2x4xf32>
  %2 = dist.collective all_gather sum %1#0 axes ["tp"] : tensor<2x4xf32> -> tensor<2x2x4xf32>
  // CHECK: dist.collective reduce_scatter max %{{.*}} axes ["tp"] : tensor<2x2x4xf32> -> tensor<2x4xf32>
  %3 = dist.collective reduce_scatter max %2 axes ["tp"] : tensor<2x2x4xf32> -> tensor<2x4xf32>
  // CHECK: dist.view %{{.*}} at 6 : tensor<2x4xf32> -> tensor<2xf32>
  %4 = dist.view %3 at 6 : tensor<2x4xf32> -> tensor<2xf32>
  return %4 : tensor<2xf32>
}
