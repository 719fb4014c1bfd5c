// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-import-convert-stablehlo | FileCheck %s

// Tests boxes at places that are known when the network runs.
// CHECK-LABEL: func @boxes
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %[[ROW:.*]]: tensor<1x8xf32>, %[[I:.*]]: tensor<i32>
func.func @boxes(%x: tensor<4x8xf32>, %row: tensor<1x8xf32>, %i: tensor<i32>) -> (tensor<1x8xf32>, tensor<4x8xf32>) {
  // CHECK: net.dynamic_slice %[[X]][%[[I]], %{{.*}}] : tensor<4x8xf32>, tensor<i32>, tensor<i32> -> tensor<1x8xf32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_slice %x, %i, %c, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
  // CHECK: net.dynamic_update_slice %[[X]], %[[ROW]][%[[I]], %{{.*}}] : tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>
  %1 = stablehlo.dynamic_update_slice %x, %row, %i, %c : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
  return %0, %1 : tensor<1x8xf32>, tensor<4x8xf32>
}

// Tests the generic form, and boxes that span everything.
// CHECK-LABEL: func @whole
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %[[Y:.*]]: tensor<4x8xf32>
func.func @whole(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %i: tensor<i32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = "stablehlo.dynamic_slice"(%x, %i, %i) <{slice_sizes = array<i64: 4, 8>}> : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
  %1 = "stablehlo.dynamic_update_slice"(%x, %y, %i, %i) : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
  // CHECK-NEXT: return %[[X]], %[[Y]]
  return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}

// Tests that constant starts, clamped, make slices and concatenations.
// CHECK-LABEL: func @constant_starts
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %[[BOX:.*]]: tensor<2x3xf32>
func.func @constant_starts(%x: tensor<4x8xf32>, %box: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<4x8xf32>) {
  %high = stablehlo.constant dense<7> : tensor<i32>
  %low = stablehlo.constant dense<-2> : tensor<i32>
  // CHECK: net.slice %[[X]] starts = [2, 0] limits = [4, 3] steps = [1, 1] : tensor<4x8xf32> -> tensor<2x3xf32>
  %0 = stablehlo.dynamic_slice %x, %high, %low, sizes = [2, 3] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
  // CHECK: %[[RIGHT:.*]] = net.slice %[[X]] starts = [2, 3] limits = [4, 8] steps = [1, 1]
  // CHECK: %[[ROWS:.*]] = net.concatenate %[[BOX]], %[[RIGHT]] dim = 1 : tensor<2x3xf32>, tensor<2x5xf32> -> tensor<2x8xf32>
  // CHECK: %[[ABOVE:.*]] = net.slice %[[X]] starts = [0, 0] limits = [2, 8] steps = [1, 1]
  // CHECK: net.concatenate %[[ABOVE]], %[[ROWS]] dim = 0 : tensor<2x8xf32>, tensor<2x8xf32> -> tensor<4x8xf32>
  %1 = stablehlo.dynamic_update_slice %x, %box, %high, %low : (tensor<4x8xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
  return %0, %1 : tensor<2x3xf32>, tensor<4x8xf32>
}

// Tests that starts without sign are large, not negative.
// CHECK-LABEL: func @unsigned_start
func.func @unsigned_start(%x: tensor<8xf32>) -> tensor<3xf32> {
  %c = stablehlo.constant dense<200> : tensor<ui8>
  // CHECK: net.slice %{{.*}} starts = [5] limits = [8]
  %0 = stablehlo.dynamic_slice %x, %c, sizes = [3] : (tensor<8xf32>, tensor<ui8>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
