// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-import-convert-stablehlo -verify-diagnostics -split-input-file

func.func @starts(%x: tensor<4x8xf32>, %i: tensor<i32>) -> tensor<1x8xf32> {
  // expected-error @below {{stablehlo.dynamic_slice has 1 starts for an operand of rank 2}}
  %0 = stablehlo.dynamic_slice %x, %i, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>) -> tensor<1x8xf32>
  return %0 : tensor<1x8xf32>
}

// -----

func.func @start_type(%x: tensor<4xf32>, %i: tensor<f32>) -> tensor<1xf32> {
  // expected-error @below {{stablehlo.dynamic_slice starts at a 'tensor<f32>'; starts are scalars of one type of integers}}
  %0 = stablehlo.dynamic_slice %x, %i, sizes = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

// -----

func.func @sizes(%x: tensor<4xf32>, %i: tensor<i32>) -> tensor<1xf32> {
  // expected-error @below {{stablehlo.dynamic_slice has a result of 'tensor<1xf32>', which is not of its slice_sizes}}
  %0 = stablehlo.dynamic_slice %x, %i, sizes = [2] : (tensor<4xf32>, tensor<i32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

// -----

func.func @box(%x: tensor<4xf32>, %y: tensor<5xf32>, %i: tensor<i32>) -> tensor<4xf32> {
  // expected-error @below {{stablehlo.dynamic_update_slice has a box of size 5 in dimension 0 of size 4}}
  %0 = stablehlo.dynamic_update_slice %x, %y, %i : (tensor<4xf32>, tensor<5xf32>, tensor<i32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @element(%x: tensor<4xf32>, %y: tensor<2xi32>, %i: tensor<i32>) -> tensor<4xf32> {
  // expected-error @below {{stablehlo.dynamic_update_slice has a box of 'tensor<2xi32>' in 'tensor<4xf32>'}}
  %0 = stablehlo.dynamic_update_slice %x, %y, %i : (tensor<4xf32>, tensor<2xi32>, tensor<i32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @result(%x: tensor<4xf32>, %y: tensor<2xf32>, %i: tensor<i32>) -> tensor<5xf32> {
  // expected-error @below {{stablehlo.dynamic_update_slice turns 'tensor<4xf32>' into 'tensor<5xf32>'}}
  %0 = stablehlo.dynamic_update_slice %x, %y, %i : (tensor<4xf32>, tensor<2xf32>, tensor<i32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

func.func @operands(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{stablehlo.dynamic_update_slice has 1 operands, not a tensor and a box at least}}
  %0 = "stablehlo.dynamic_update_slice"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
