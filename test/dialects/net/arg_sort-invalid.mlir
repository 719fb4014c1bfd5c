// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

// Tests arg_sort_c1: keys of one shape.
func.func @arg_sort_c1(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) {
  // expected-error @below {{requires the same shape for all operands}}
  %0 = net.arg_sort %x, %y dim = 0 : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x8xi32>
  return
}

// -----

func.func @arg_sort_c1_none() {
  // expected-error @below {{expected 1 or more operands, but found 0}}
  %0 = "net.arg_sort"() <{dim = 0 : i64}> : () -> tensor<4xi32>
  return
}

// -----

// Tests arg_sort_c2: a dimension that is not there.
func.func @arg_sort_c2(%x: tensor<4x8xf32>) {
  // expected-error @below {{orders along dimension 2 of a tensor of rank 2}}
  %0 = net.arg_sort %x dim = 2 : tensor<4x8xf32> -> tensor<4x8xi32>
  return
}

// -----

// Tests arg_sort_c3: as many positions as elements.
func.func @arg_sort_c3(%x: tensor<4x8xf32>) {
  // expected-error @below {{turns 'tensor<4x8xf32>' into 'tensor<4x2xi32>'}}
  %0 = net.arg_sort %x dim = 1 : tensor<4x8xf32> -> tensor<4x2xi32>
  return
}
