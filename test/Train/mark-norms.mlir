// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-train-mark-norms | FileCheck %s

// Tests that additions which add up sums to a norm are marked in the update, and what is no norm, is a vector, or is of another role is not.

// CHECK-LABEL: func.func @step
func.func @step(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<f32>, tensor<f32>, tensor<4xf32>) {
  %sa = net.reduce sum %a dims = [0] {net.role = #net.role<optimize>} : tensor<4xf32> -> tensor<f32>
  %sb = net.reduce sum %b dims = [0] {net.role = #net.role<optimize>} : tensor<4xf32> -> tensor<f32>
  // CHECK: %[[FIRST:.*]] = net.add {{.*}} {dist.defer_reduction, net.role = #net.role<optimize>} : tensor<f32>
  // CHECK-NEXT: net.add %[[FIRST]], {{.*}} {dist.defer_reduction, net.role = #net.role<optimize>} : tensor<f32>
  %first = net.add %sa, %sb {net.role = #net.role<optimize>} : tensor<f32>
  %second = net.add %first, %sb {net.role = #net.role<optimize>} : tensor<f32>
  // CHECK-NOT: dist.defer_reduction
  %max = net.reduce max %a dims = [0] {net.role = #net.role<optimize>} : tensor<4xf32> -> tensor<f32>
  %mixed = net.add %sa, %max {net.role = #net.role<optimize>} : tensor<f32>
  %backward = net.add %sa, %sb {net.role = #net.role<backward>} : tensor<f32>
  %vector = net.add %a, %b {net.role = #net.role<optimize>} : tensor<4xf32>
  %scalar = net.add %mixed, %backward {net.role = #net.role<optimize>} : tensor<f32>
  return %second, %scalar, %vector : tensor<f32>, tensor<f32>, tensor<4xf32>
}
