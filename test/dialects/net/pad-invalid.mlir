// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

// Tests pad_c1: lists of another length, and interior below 0.
func.func @pad_c1(%x: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @below {{has 2 low for a tensor of rank 1}}
  %0 = net.pad %x, %s low = [0, 0] high = [0] interior = [0] : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  return
}

// -----

func.func @pad_c1_interior(%x: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @below {{has interior -1 and makes dimension 0 of size 1}}
  %0 = net.pad %x, %s low = [0] high = [0] interior = [-1] : tensor<4xf32>, tensor<f32> -> tensor<1xf32>
  return
}

// -----

// Tests pad_c2: another size than the padding makes.
func.func @pad_c2(%x: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @below {{has result shape [6] but its operands and attributes make [7]}}
  %0 = net.pad %x, %s low = [1] high = [2] interior = [0] : tensor<4xf32>, tensor<f32> -> tensor<6xf32>
  return
}

// -----

// Tests pad_c2: more cut off than there is.
func.func @pad_c2_negative(%x: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @below {{has interior 0 and makes dimension 0 of size -1}}
  %0 = net.pad %x, %s low = [-3] high = [-2] interior = [0] : tensor<4xf32>, tensor<f32> -> tensor<0xf32>
  return
}

// -----

// Tests pad_c3: a value that is no scalar.
func.func @pad_c3(%x: tensor<4xf32>) {
  // expected-error @below {{pads 'tensor<4xf32>' with 'tensor<4xf32>' to 'tensor<4xf32>'}}
  %0 = net.pad %x, %x low = [0] high = [0] interior = [0] : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @pad_c3_type(%x: tensor<4xf32>, %s: tensor<f64>) {
  // expected-error @below {{pads 'tensor<4xf32>' with 'tensor<f64>' to 'tensor<4xf32>'}}
  %0 = net.pad %x, %s low = [0] high = [0] interior = [0] : tensor<4xf32>, tensor<f64> -> tensor<4xf32>
  return
}
