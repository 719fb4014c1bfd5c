// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

// Tests arg_reduce_c1: a dimension that is not there, or is empty.
func.func @arg_reduce_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{dim names dimension 2 of a tensor of rank 2}}
  %0, %1 = net.arg_reduce max %x dim = 2 : tensor<4x8xf32> -> tensor<4xf32>, tensor<4xi32>
  return
}

// -----

func.func @arg_reduce_c1_empty(%x: tensor<4x0xf32>) {
  // expected-error @below {{looks for an element in dimension 1 of size 0}}
  %0, %1 = net.arg_reduce max %x dim = 1 : tensor<4x0xf32> -> tensor<4xf32>, tensor<4xi32>
  return
}

// -----

// Tests arg_reduce_c2: a value of another type, and another shape.
func.func @arg_reduce_c2_type(%x: tensor<4x8xf32>) {
  // expected-error @below {{takes elements of 'tensor<4x8xf32>' into 'tensor<4xf64>'}}
  %0, %1 = net.arg_reduce max %x dim = 1 : tensor<4x8xf32> -> tensor<4xf64>, tensor<4xi32>
  return
}

// -----

func.func @arg_reduce_c2_shape(%x: tensor<4x8xf32>) {
  // expected-error @below {{has result shape [8] but its operands and attributes make [4]}}
  %0, %1 = net.arg_reduce max %x dim = 1 : tensor<4x8xf32> -> tensor<4xf32>, tensor<8xi32>
  return
}
