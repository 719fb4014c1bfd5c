// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-import-convert-stablehlo | FileCheck %s

// Tests that operands are repeated as numpy does it, and that what is left is the operation itself.
// CHECK-LABEL: func.func @rows_and_columns
// CHECK: %[[COLUMNS:.*]] = net.broadcast %{{.*}} dims = [0] : tensor<4xf32> -> tensor<4x3xf32>
// CHECK: %[[ROWS:.*]] = net.broadcast %{{.*}} dims = [1] : tensor<3xf32> -> tensor<4x3xf32>
// CHECK: net.add %[[COLUMNS]], %[[ROWS]] : tensor<4x3xf32>
func.func @rows_and_columns(%x: tensor<4x1xf32>, %y: tensor<1x3xf32>) -> tensor<4x3xf32> {
  %0 = chlo.broadcast_add %x, %y : (tensor<4x1xf32>, tensor<1x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// CHECK-LABEL: func.func @ranks
// CHECK: %[[ROWS:.*]] = net.broadcast %arg1 dims = [1] : tensor<3xf32> -> tensor<4x3xf32>
// CHECK: net.power %arg0, %[[ROWS]]
// CHECK: %[[COLUMNS:.*]] = net.broadcast %arg2 dims = [0] : tensor<4xf32> -> tensor<4x3xf32>
// CHECK: net.atan2 %arg0, %[[COLUMNS]]
// CHECK: %[[ALL:.*]] = net.broadcast %arg3 dims = [] : tensor<f32> -> tensor<4x3xf32>
// CHECK: net.maximum %[[ALL]], %arg0
func.func @ranks(%x: tensor<4x3xf32>, %y: tensor<3xf32>, %z: tensor<4xf32>, %s: tensor<f32>)
    -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>) {
  %0 = chlo.broadcast_power %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %1 = chlo.broadcast_atan2 %x, %z {broadcast_dimensions = array<i64: 0>} : (tensor<4x3xf32>, tensor<4xf32>) -> tensor<4x3xf32>
  %2 = "chlo.broadcast_maximum"(%s, %x) : (tensor<f32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return %0, %1, %2 : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>
}

// CHECK-LABEL: func.func @choices
// CHECK: %[[ROWS:.*]] = net.broadcast %arg1 dims = [1] : tensor<3xf32> -> tensor<4x3xf32>
// CHECK: %[[LESS:.*]] = net.compare lt, %arg0, %[[ROWS]] total_order
// CHECK: %[[YES:.*]] = net.broadcast %arg1 dims = [1] : tensor<3xf32> -> tensor<4x3xf32>
// CHECK: %[[NO:.*]] = net.broadcast %arg2 dims = [] : tensor<f32> -> tensor<4x3xf32>
// CHECK: net.select %[[LESS]], %[[YES]], %[[NO]]
func.func @choices(%x: tensor<4x3xf32>, %y: tensor<3xf32>, %s: tensor<f32>) -> tensor<4x3xf32> {
  %0 = chlo.broadcast_compare %x, %y {compare_type = #chlo<comparison_type TOTALORDER>, comparison_direction = #chlo<comparison_direction LT>} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xi1>
  %1 = chlo.broadcast_select %0, %y, %s : (tensor<4x3xi1>, tensor<3xf32>, tensor<f32>) -> tensor<4x3xf32>
  return %1 : tensor<4x3xf32>
}

// Tests all that there are, on integers and floats.
// CHECK-LABEL: func.func @all
// CHECK: net.add
// CHECK: net.and
// CHECK: net.divide
// CHECK: net.minimum
// CHECK: net.multiply
// CHECK: net.or
// CHECK: net.remainder
// CHECK: net.shift_left
// CHECK: net.shift_right_arithmetic
// CHECK: net.shift_right_logical
// CHECK: net.subtract
// CHECK: net.xor
// CHECK: net.bitcast_convert
// CHECK: net.lgamma
// CHECK: net.power
func.func @all(%i: tensor<4xi32>, %j: tensor<1xi32>, %x: tensor<4xf32>, %y: tensor<1xf32>) -> (tensor<4xi32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = chlo.broadcast_add %i, %j : (tensor<4xi32>, tensor<1xi32>) -> tensor<4xi32>
  %1 = chlo.broadcast_and %0, %j : (tensor<4xi32>, tensor<1xi32>) -> tensor<4xi32>
  %2 = chlo.broadcast_divide %1, %j : (tensor<4xi32>, tensor<1xi32>) -> tensor<4xi32>
  %3 = chlo.broadcast_minimum %2, %j : (tensor<4xi32>, tensor<1xi32>) -> tensor<4xi32>
  %4 = chlo.broadcast_multiply %3, %j : (tensor<4xi32>, tensor<1xi32>) -> tensor<4xi32>
  %5 = chlo.broadcast_or %4, %j : (tensor<4xi32>, tensor<1xi32>) -> tensor<4xi32>
  %6 = chlo.broadcast_remainder %5, %j : (tensor<4xi32>, tensor<1xi32>) -> tensor<4xi32>
  %7 = chlo.broadcast_shift_left %6, %j : (tensor<4xi32>, tensor<1xi32>) -> tensor<4xi32>
  %8 = chlo.broadcast_shift_right_arithmetic %7, %j : (tensor<4xi32>, tensor<1xi32>) -> tensor<4xi32>
  %9 = chlo.broadcast_shift_right_logical %8, %j : (tensor<4xi32>, tensor<1xi32>) -> tensor<4xi32>
  %10 = chlo.broadcast_subtract %9, %j : (tensor<4xi32>, tensor<1xi32>) -> tensor<4xi32>
  %11 = chlo.broadcast_xor %10, %j : (tensor<4xi32>, tensor<1xi32>) -> tensor<4xi32>
  %12 = chlo.broadcast_next_after %x, %y : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  %13 = chlo.broadcast_polygamma %y, %x : (tensor<1xf32>, tensor<4xf32>) -> tensor<4xf32>
  %14 = chlo.broadcast_zeta %x, %y : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  return %11, %12, %13, %14 : tensor<4xi32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
