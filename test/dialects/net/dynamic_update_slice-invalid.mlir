// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

// Tests dynamic_update_slice_c1: a start for every dimension.
func.func @dynamic_update_slice_c1(%x: tensor<4x8xf32>, %y: tensor<1x8xf32>, %i: tensor<i32>) {
  // expected-error @below {{has 1 starts for a tensor of rank 2}}
  %0 = net.dynamic_update_slice %x, %y[%i] : tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>
  return
}

// -----

// Tests dynamic_update_slice_c2: one element type.
func.func @dynamic_update_slice_c2(%x: tensor<4x8xf32>, %y: tensor<1x8xi32>, %i: tensor<i32>) {
  // expected-error @below {{has a box of 'tensor<1x8xi32>' in 'tensor<4x8xf32>'}}
  %0 = net.dynamic_update_slice %x, %y[%i, %i] : tensor<4x8xf32>, tensor<1x8xi32>, tensor<i32>, tensor<i32>
  return
}

// -----

// Tests dynamic_update_slice_c3: boxes that do not fit.
func.func @dynamic_update_slice_c3(%x: tensor<4x8xf32>, %y: tensor<5x8xf32>, %i: tensor<i32>) {
  // expected-error @below {{has a box of size 5 in dimension 0 of size 4}}
  %0 = net.dynamic_update_slice %x, %y[%i, %i] : tensor<4x8xf32>, tensor<5x8xf32>, tensor<i32>, tensor<i32>
  return
}
