// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-import-convert-stablehlo -split-input-file -verify-diagnostics

func.func @dimension_twice(%x: tensor<8x9x3xf32>, %w: tensor<3x3x4xf32>) -> tensor<8x7x4xf32> {
  // expected-error @below {{dimensions are b, f and the numbers of the spatial dimensions from 0 on, each once}}
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, b, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x9x3xf32>, tensor<3x3x4xf32>) -> tensor<8x7x4xf32>
  return %0 : tensor<8x7x4xf32>
}

// -----

func.func @window_entry(%x: tensor<8x9x3xf32>, %w: tensor<3x3x4xf32>) -> tensor<8x7x4xf32> {
  // expected-error @below {{"dilate" of a window is not known; stride, pad, lhs_dilate, rhs_dilate and reverse are}}
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {dilate = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x9x3xf32>, tensor<3x3x4xf32>) -> tensor<8x7x4xf32>
  return %0 : tensor<8x7x4xf32>
}

// -----

func.func @padding_of_one_side(%x: tensor<8x9x3xf32>, %w: tensor<3x3x4xf32>) -> tensor<8x7x4xf32> {
  // expected-error @below {{stablehlo.convolution has 1 numbers as "padding", not 2}}
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x9x3xf32>, tensor<3x3x4xf32>) -> tensor<8x7x4xf32>
  return %0 : tensor<8x7x4xf32>
}

// -----

func.func @no_groups(%x: tensor<8x9x3xf32>, %w: tensor<3x3x4xf32>) -> tensor<8x7x4xf32> {
  // expected-error @below {{stablehlo.convolution has no integer "batch_group_count"}}
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {feature_group_count = 1 : i64} : (tensor<8x9x3xf32>, tensor<3x3x4xf32>) -> tensor<8x7x4xf32>
  return %0 : tensor<8x7x4xf32>
}

// -----

func.func @reversal(%x: tensor<8x9x3xf32>, %w: tensor<3x3x4xf32>) -> tensor<8x7x4xf32> {
  // expected-error @below {{stablehlo.convolution has array<i64: 1> as "window_reversal", which is not a list of booleans}}
  %0 = "stablehlo.convolution"(%x, %w) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64, window_reversal = array<i64: 1>}> : (tensor<8x9x3xf32>, tensor<3x3x4xf32>) -> tensor<8x7x4xf32>
  return %0 : tensor<8x7x4xf32>
}

// -----

func.func @body(%x: tensor<9xf32>, %c: tensor<f32>) -> tensor<7xf32> {
  // expected-error @below {{stablehlo.reduce_window has a body that is not known for result 0; add, multiply, maximum, minimum, and, or of its own two elements are, and the logarithm of a running sum of exponentials}}
  %0 = "stablehlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 3>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.power %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<9xf32>, tensor<f32>) -> tensor<7xf32>
  return %0 : tensor<7xf32>
}

// -----

func.func @initial_value(%x: tensor<9xf32>, %c: tensor<2xf32>) -> tensor<7xf32> {
  // expected-error @below {{stablehlo.reduce_window reduces 'tensor<9xf32>' from 'tensor<2xf32>' to 'tensor<7xf32>'}}
  %0 = "stablehlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 3>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<9xf32>, tensor<2xf32>) -> tensor<7xf32>
  return %0 : tensor<7xf32>
}

// -----

func.func @selection(%x: tensor<8xf32>, %s: tensor<4xf32>, %c: tensor<f32>) -> tensor<8xf32> {
  // expected-error @below {{stablehlo.select_and_scatter has bodies that are not known; selecting by GE or LE of the two elements and scattering by add is}}
  %0 = "stablehlo.select_and_scatter"(%x, %s, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<8xf32>, tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @one_region(%x: tensor<8xf32>, %s: tensor<4xf32>, %c: tensor<f32>) -> tensor<8xf32> {
  // expected-error @below {{stablehlo.select_and_scatter has 1 regions, not two of one block each}}
  %0 = "stablehlo.select_and_scatter"(%x, %s, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<8xf32>, tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Tests that what the operation that is made checks is an error at the line of the text.
func.func @shape(%x: tensor<9xf32>) -> tensor<9xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  // expected-error @below {{has a result of shape [9] but its operands and attributes make [7]}}
  %0 = "stablehlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 3>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<9xf32>, tensor<f32>) -> tensor<9xf32>
  return %0 : tensor<9xf32>
}

// -----

func.func @reversal_of_any_length(%x: tensor<8x9x3xf32>, %w: tensor<3x3x4xf32>) -> tensor<8x7x4xf32> {
  // expected-error @below {{stablehlo.convolution has a list of type 'tensor<100000000000xi1>' as "window_reversal", which is longer than the 6 numbers that tensors of rank 3 take at most}}
  %0 = "stablehlo.convolution"(%x, %w) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64, window_reversal = dense<true> : tensor<100000000000xi1>}> : (tensor<8x9x3xf32>, tensor<3x3x4xf32>) -> tensor<8x7x4xf32>
  return %0 : tensor<8x7x4xf32>
}

// -----

func.func @reversals(%x: tensor<8x9x3xf32>, %w: tensor<3x3x4xf32>) -> tensor<8x7x4xf32> {
  // expected-error @below {{stablehlo.convolution has 2 numbers as "window_reversal", not 1}}
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x9x3xf32>, tensor<3x3x4xf32>) -> tensor<8x7x4xf32>
  return %0 : tensor<8x7x4xf32>
}
