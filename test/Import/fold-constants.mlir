// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file --dist-import-fold-constants | FileCheck %s

// Tests that arithmetic of constants is folded as its format rounds, through broadcasts too.
// CHECK-LABEL: @arithmetic
func.func @arithmetic() -> (tensor<2xf32>, tensor<f32>, tensor<f64>, tensor<f32>) {
  %eight = net.constant dense<8.0> : tensor<f32>
  %three = net.constant dense<3.0> : tensor<f32>
  %many = net.broadcast %eight dims = [] : tensor<f32> -> tensor<2xf32>
  // CHECK-DAG: %[[ROOT:.*]] = net.constant dense<2.82842708> : tensor<2xf32>
  %root = net.sqrt %many : tensor<2xf32>
  // CHECK-DAG: %[[QUOTIENT:.*]] = net.constant dense<2.66666675> : tensor<f32>
  %quotient = net.divide %eight, %three : tensor<f32>
  // A sum of what was rounded.
  // CHECK-DAG: %[[WIDE:.*]] = net.constant dense<2.6666667461395264> : tensor<f64>
  %wide = net.convert %quotient : tensor<f32> -> tensor<f64>
  %product = net.multiply %eight, %three : tensor<f32>
  // CHECK: net.constant dense<-2.400000e+01>
  %negative = net.negate %product : tensor<f32>
  // CHECK-NEXT: net.constant dense<2.400000e+01>
  %magnitude = net.abs %negative : tensor<f32>
  // CHECK-NEXT: %[[LARGER:.*]] = net.constant dense<2.400000e+01>
  %larger = net.maximum %three, %magnitude : tensor<f32>
  // CHECK: return %[[ROOT]], %[[QUOTIENT]], %[[WIDE]], %[[LARGER]]
  return %root, %quotient, %wide, %larger : tensor<2xf32>, tensor<f32>, tensor<f64>, tensor<f32>
}

// -----

// Tests that conversions round, cut towards zero, and read integers as their type does.
// CHECK-LABEL: @conversions
func.func @conversions() -> (tensor<f32>, tensor<i32>, tensor<i1>, tensor<f32>, tensor<f32>, tensor<i8>) {
  // CHECK-DAG: %[[TENTH:.*]] = net.constant dense<1.000000e-01> : tensor<f32>
  %tenth = net.constant dense<0.1> : tensor<f64>
  %narrow = net.convert %tenth : tensor<f64> -> tensor<f32>
  // CHECK-DAG: %[[CUT:.*]] = net.constant dense<-2> : tensor<i32>
  %negative = net.constant dense<-2.75> : tensor<f64>
  %cut = net.convert %negative : tensor<f64> -> tensor<i32>
  // CHECK-DAG: %[[TRUTH:.*]] = net.constant dense<true> : tensor<i1>
  %truth = net.convert %tenth : tensor<f64> -> tensor<i1>
  // CHECK-DAG: %[[SIGNED:.*]] = net.constant dense<-1.000000e+00> : tensor<f32>
  %minus = net.constant dense<-1> : tensor<i8>
  %signed = net.convert %minus : tensor<i8> -> tensor<f32>
  // CHECK-DAG: %[[UNSIGNED:.*]] = net.constant dense<2.550000e+02> : tensor<f32>
  %all = net.constant dense<255> : tensor<ui8>
  %unsigned = net.convert %all : tensor<ui8> -> tensor<f32>
  // What an integer cannot hold stays.
  // CHECK-DAG: %[[LARGE:.*]] = net.convert
  %thousand = net.constant dense<1000.0> : tensor<f64>
  %large = net.convert %thousand : tensor<f64> -> tensor<i8>
  // CHECK: return %[[TENTH]], %[[CUT]], %[[TRUTH]], %[[SIGNED]], %[[UNSIGNED]], %[[LARGE]]
  return %narrow, %cut, %truth, %signed, %unsigned, %large : tensor<f32>, tensor<i32>, tensor<i1>, tensor<f32>, tensor<f32>, tensor<i8>
}

// -----

// Tests that floats are compared, NaN with nothing.
// CHECK-LABEL: @comparisons
func.func @comparisons() -> (tensor<i1>, tensor<i1>, tensor<i1>, tensor<i1>) {
  %zero = net.constant dense<0.0> : tensor<f32>
  %minus = net.constant dense<-0.0> : tensor<f32>
  %one = net.constant dense<1.0> : tensor<f32>
  %nan = net.constant dense<0x7FC00000> : tensor<f32>
  // CHECK-DAG: %[[TRUE:.*]] = net.constant dense<true>
  %greater = net.compare gt, %one, %zero : tensor<f32> -> tensor<i1>
  // CHECK-DAG: %[[EQUAL:.*]] = net.constant dense<true>
  %equal = net.compare eq, %zero, %minus : tensor<f32> -> tensor<i1>
  // CHECK-DAG: %[[FALSE:.*]] = net.constant dense<false>
  %none = net.compare ge, %nan, %zero : tensor<f32> -> tensor<i1>
  // CHECK-DAG: %[[DIFFERS:.*]] = net.constant dense<true>
  %differs = net.compare ne, %nan, %nan : tensor<f32> -> tensor<i1>
  // CHECK: return
  return %greater, %equal, %none, %differs : tensor<i1>, tensor<i1>, tensor<i1>, tensor<i1>
}

// -----

// Tests that functions whose rounding is the machine's, data, and the root of a negative number stay.
// CHECK-LABEL: @stays
func.func @stays(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<2xf32>) {
  %two = net.constant dense<2.0> : tensor<f32>
  %minus = net.constant dense<-2.0> : tensor<f32>
  %both = net.constant dense<[1.0, 2.0]> : tensor<2xf32>
  // CHECK: net.exponential
  %e = net.exponential %two : tensor<f32>
  // CHECK: net.add
  %sum = net.add %x, %two : tensor<f32>
  // CHECK: net.sqrt
  %root = net.sqrt %minus : tensor<f32>
  // CHECK: net.add
  %list = net.add %both, %both : tensor<2xf32>
  return %e, %sum, %root, %list : tensor<f32>, tensor<f32>, tensor<f32>, tensor<2xf32>
}
