// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

// Tests compare_c1: operands of different types.
func.func @compare_c1(%x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error @below {{requires all operands to have the same type}}
  %0 = "net.compare"(%x, %y) <{direction = #net<compare_direction lt>}> : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xi1>
  return
}

// -----

// Tests compare_c2: a result of another shape.
func.func @compare_c2(%x: tensor<4xf32>) {
  // expected-error @below {{all non-scalar operands/results must have the same shape and base type}}
  %0 = net.compare lt, %x, %x : tensor<4xf32> -> tensor<5xi1>
  return
}

// -----

// Tests compare_c2: a result that is no truth value.
func.func @compare_c2_type(%x: tensor<4xf32>) {
  // expected-error @below {{must be statically shaped tensor of 1-bit signless integer values, but got 'tensor<4xi32>'}}
  %0 = net.compare lt, %x, %x : tensor<4xf32> -> tensor<4xi32>
  return
}

// -----

// Tests compare_c3: integers have no other order.
func.func @compare_c3(%x: tensor<4xi32>) {
  // expected-error @below {{asks for the total order of floats but compares 'i32'}}
  %0 = net.compare lt, %x, %x total_order : tensor<4xi32> -> tensor<4xi1>
  return
}
