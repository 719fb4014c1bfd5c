// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

// Tests reduce_c1: dims that are not distinct, in range and increasing.
func.func @reduce_c1_twice(%x: tensor<4x8xf32>) {
  // expected-error @below {{dims names dimension 0 twice}}
  %0 = net.reduce sum %x dims = [0, 0] : tensor<4x8xf32> -> tensor<f32>
  return
}

// -----

func.func @reduce_c3(%x: tensor<4x8xf32>) {
  // expected-error @below {{reduces by tree, which is of placements and collectives; it is sum here}}
  %0 = net.reduce tree %x dims = [0] : tensor<4x8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @reduce_c1_order(%x: tensor<4x8xf32>) {
  // expected-error @below {{has dims that do not increase}}
  %0 = net.reduce sum %x dims = [1, 0] : tensor<4x8xf32> -> tensor<f32>
  return
}

// -----

func.func @reduce_c1_range(%x: tensor<4x8xf32>) {
  // expected-error @below {{dims names dimension 2 of a tensor of rank 2}}
  %0 = net.reduce sum %x dims = [2] : tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

// Tests reduce_c2: another shape than what is left.
func.func @reduce_c2(%x: tensor<4x8xf32>) {
  // expected-error @below {{has result shape [8] but its operands and attributes make [4]}}
  %0 = net.reduce sum %x dims = [1] : tensor<4x8xf32> -> tensor<8xf32>
  return
}
