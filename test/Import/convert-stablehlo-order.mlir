// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-import-convert-stablehlo | FileCheck %s

// Tests reversing, in both forms.
// CHECK-LABEL: func @reverse
func.func @reverse(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  // CHECK: net.reverse %{{.*}} dims = [1] : tensor<4x6xf32>
  %0 = stablehlo.reverse %x, dims = [1] : tensor<4x6xf32>
  // CHECK: net.reverse %{{.*}} dims = [0, 1] : tensor<4x6xf32>
  %1 = "stablehlo.reverse"(%0) <{dimensions = array<i64: 0, 1>}> : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}

// Tests that floats are compared as JAX does, with one zero and one NaN, and that elements are gathered in their order.
// CHECK-LABEL: func @sort
// CHECK-SAME: %[[X:.*]]: tensor<4x6xf32>
func.func @sort(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  // CHECK: %[[ORDER:.*]] = net.arg_sort %[[X]] dim = 1 : tensor<4x6xf32> -> tensor<4x6xi32>
  // CHECK: %[[VECTORS:.*]] = net.reshape %[[ORDER]] : tensor<4x6xi32> -> tensor<4x6x1xi32>
  // CHECK: net.gather %[[X]], %[[VECTORS]] <collapsedDims = [1], operandBatchingDims = [0], indicesBatchingDims = [0], startIndexMap = [1], indexVectorDim = 2> sizes = [1, 1]
  %0 = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %nan = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %a0 = stablehlo.compare EQ, %a, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %a1 = stablehlo.select %a0, %zero, %a : tensor<i1>, tensor<f32>
    %a2 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %a3 = stablehlo.select %a2, %nan, %a1 : tensor<i1>, tensor<f32>
    %b0 = stablehlo.compare EQ, %b, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %b1 = stablehlo.select %b0, %zero, %b : tensor<i1>, tensor<f32>
    %b2 = stablehlo.compare NE, %b, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %b3 = stablehlo.select %b2, %nan, %b1 : tensor<i1>, tensor<f32>
    %less = stablehlo.compare LT, %a3, %b3, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// Tests several keys, and that an iota that is sorted along is the order itself.
// CHECK-LABEL: func @keys
// CHECK-SAME: %[[I:.*]]: tensor<6xi32>, %[[X:.*]]: tensor<6xf32>
func.func @keys(%i: tensor<6xi32>, %x: tensor<6xf32>) -> tensor<6xi64> {
  %iota = stablehlo.iota dim = 0 : tensor<6xi64>
  // CHECK: %[[ORDER:.*]] = net.arg_sort %[[X]], %[[I]] dim = 0 descending total_order
  // CHECK-NEXT: %[[WIDE:.*]] = net.convert %[[ORDER]] : tensor<6xi32> -> tensor<6xi64>
  // CHECK-NEXT: return %[[WIDE]]
  %0:3 = "stablehlo.sort"(%i, %x, %iota) <{dimension = 0 : i64}> ({
  ^bb0(%i0: tensor<i32>, %i1: tensor<i32>, %x0: tensor<f32>, %x1: tensor<f32>, %n0: tensor<i64>, %n1: tensor<i64>):
    %second = stablehlo.compare GT, %i0, %i1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %first = stablehlo.compare GT, %x0, %x1, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %equal = stablehlo.compare EQ, %x0, %x1, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %both = stablehlo.and %equal, %second : tensor<i1>
    %either = stablehlo.or %first, %both : tensor<i1>
    stablehlo.return %either : tensor<i1>
  }) : (tensor<6xi32>, tensor<6xf32>, tensor<6xi64>) -> (tensor<6xi32>, tensor<6xf32>, tensor<6xi64>)
  return %0#2 : tensor<6xi64>
}

// Tests that greater in the opposite order is less.
// CHECK-LABEL: func @swapped
func.func @swapped(%x: tensor<6xui8>) -> tensor<6xui8> {
  // CHECK: net.arg_sort %{{.*}} dim = 0 : tensor<6xui8> -> tensor<6xi32>
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<ui8>, %b: tensor<ui8>):
    %less = stablehlo.compare GT, %b, %a, UNSIGNED : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<6xui8>) -> tensor<6xui8>
  return %0 : tensor<6xui8>
}

// Tests that the largest are the first of the order, larger ones first.
// CHECK-LABEL: func @top
// CHECK-SAME: %[[X:.*]]: tensor<4x6xf32>
func.func @top(%x: tensor<4x6xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>) {
  // CHECK: %[[ORDER:.*]] = net.arg_sort %[[X]] dim = 1 descending total_order
  // CHECK: %[[FIRST:.*]] = net.slice %[[ORDER]] starts = [0, 0] limits = [4, 2]
  // CHECK: %[[VALUES:.*]] = net.gather %[[X]]
  // CHECK: return %[[VALUES]], %[[FIRST]]
  %values, %indices = chlo.top_k(%x, k = 2) : tensor<4x6xf32> -> (tensor<4x2xf32>, tensor<4x2xi32>)
  return %values, %indices : tensor<4x2xf32>, tensor<4x2xi32>
}
