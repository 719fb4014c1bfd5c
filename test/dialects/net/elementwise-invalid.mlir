// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

// Tests unary_c1: a result of another type, in the generic form where it can be written.
func.func @unary_c1(%x: tensor<4xf32>) {
  // expected-error @below {{all non-scalar operands/results must have the same shape and base type}}
  %0 = "net.abs"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// Tests binary_c1: operands of different types.
func.func @binary_c1(%x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error @below {{requires the same type for all operands and results}}
  %0 = "net.add"(%x, %y) : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

// Tests that shapes are static.
func.func @dynamic_shape(%x: tensor<?xf32>) {
  // expected-error @below {{must be statically shaped tensor of any type values, but got 'tensor<?xf32>'}}
  %0 = net.abs %x : tensor<?xf32>
  return
}

// -----

// Tests convert_c1: another shape.
func.func @convert_c1(%x: tensor<4xf32>) {
  // expected-error @below {{all non-scalar operands/results must have the same shape and base type}}
  %0 = net.convert %x : tensor<4xf32> -> tensor<5xf64>
  return
}

// -----

// Tests bitcast_convert_c1: another shape.
func.func @bitcast_convert_c1(%x: tensor<4xf32>) {
  // expected-error @below {{all non-scalar operands/results must have the same shape and base type}}
  %0 = net.bitcast_convert %x : tensor<4xf32> -> tensor<5xui32>
  return
}

// -----

// Tests bitcast_convert_c2: elements of another width.
func.func @bitcast_convert_c2(%x: tensor<4xf32>) {
  // expected-error @below {{reads elements of 32 bits as 'ui64' of 64}}
  %0 = net.bitcast_convert %x : tensor<4xf32> -> tensor<4xui64>
  return
}

// -----

// Tests is_finite_c1: a result that is no truth value.
func.func @is_finite_c1(%x: tensor<4xf32>) {
  // expected-error @below {{must be statically shaped tensor of 1-bit signless integer values, but got 'tensor<4xf32>'}}
  %0 = net.is_finite %x : tensor<4xf32> -> tensor<4xf32>
  return
}
