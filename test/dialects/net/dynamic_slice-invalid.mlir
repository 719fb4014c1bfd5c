// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

// Tests dynamic_slice_c1: a start for every dimension.
func.func @dynamic_slice_c1(%x: tensor<4x8xf32>, %i: tensor<i32>) {
  // expected-error @below {{has 1 starts for a tensor of rank 2}}
  %0 = net.dynamic_slice %x[%i] : tensor<4x8xf32>, tensor<i32> -> tensor<1x8xf32>
  return
}

// -----

// Tests dynamic_slice_c2: one rank and element type.
func.func @dynamic_slice_c2(%x: tensor<4x8xf32>, %i: tensor<i32>) {
  // expected-error @below {{has a box of 'tensor<8xf32>' in 'tensor<4x8xf32>'}}
  %0 = net.dynamic_slice %x[%i, %i] : tensor<4x8xf32>, tensor<i32>, tensor<i32> -> tensor<8xf32>
  return
}

// -----

// Tests dynamic_slice_c3: boxes that do not fit.
func.func @dynamic_slice_c3(%x: tensor<4x8xf32>, %i: tensor<i32>) {
  // expected-error @below {{has a box of size 9 in dimension 1 of size 8}}
  %0 = net.dynamic_slice %x[%i, %i] : tensor<4x8xf32>, tensor<i32>, tensor<i32> -> tensor<1x9xf32>
  return
}
