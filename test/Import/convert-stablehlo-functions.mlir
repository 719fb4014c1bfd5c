// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-import-convert-stablehlo | FileCheck %s

// Tests that what net calls the same stays.
// CHECK-LABEL: func @same
func.func @same(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: net.acos
  %0 = chlo.acos %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: net.acosh
  %1 = chlo.acosh %0 : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: net.asin
  %2 = chlo.asin %1 : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: net.asinh
  %3 = chlo.asinh %2 : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: net.atanh
  %4 = chlo.atanh %3 : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: net.cosh
  %5 = chlo.cosh %4 : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: net.sinh
  %6 = chlo.sinh %5 : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: net.lgamma
  %7 = chlo.lgamma %6 : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: net.digamma
  %8 = chlo.digamma %7 : tensor<4xf32> -> tensor<4xf32>
  return %8 : tensor<4xf32>
}

// CHECK-LABEL: func @clamp
// CHECK-SAME: %[[LOW:.*]]: tensor<f32>, %[[X:.*]]: tensor<4xf32>, %[[HIGH:.*]]: tensor<4xf32>
func.func @clamp(%low: tensor<f32>, %x: tensor<4xf32>, %high: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[LOWS:.*]] = net.broadcast %[[LOW]]
  // CHECK: %[[RAISED:.*]] = net.maximum %[[LOWS]], %[[X]]
  // CHECK: net.minimum %[[HIGH]], %[[RAISED]]
  %0 = stablehlo.clamp %low, %x, %high : (tensor<f32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Tests that a float that is no narrower rounds nothing.
// CHECK-LABEL: func @reduce_precision
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
func.func @reduce_precision(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %[[HALF:.*]] = net.reduce_precision %[[X]] exponent = 5 mantissa = 10
  %0 = stablehlo.reduce_precision %x, format = e5m10 : tensor<4xf32>
  %1 = "stablehlo.reduce_precision"(%x) <{exponent_bits = 8 : i32, mantissa_bits = 23 : i32}> : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: return %[[HALF]], %[[X]]
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func @infinite
func.func @infinite(%x: tensor<4xf32>) -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
  // CHECK: %[[MAGNITUDE:.*]] = net.abs
  // CHECK: net.constant dense<0x7F800000>
  // CHECK: net.compare eq, %[[MAGNITUDE]]
  %0 = chlo.is_inf %x : tensor<4xf32> -> tensor<4xi1>
  // CHECK: net.constant dense<0x7F800000>
  %1 = chlo.is_pos_inf %x : tensor<4xf32> -> tensor<4xi1>
  // CHECK: net.constant dense<0xFF800000>
  %2 = chlo.is_neg_inf %x : tensor<4xf32> -> tensor<4xi1>
  return %0, %1, %2 : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}

// CHECK-LABEL: func @constant_like
func.func @constant_like(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: net.constant dense<2.500000e+00> : tensor<4xf32>
  %0 = "chlo.constant_like"(%x) <{value = 2.5 : f32}> : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
