// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

// Tests transpose_c1: what is no permutation, and sizes that do not follow it.
func.func @transpose_c1_twice(%x: tensor<4x8xf32>) {
  // expected-error @below {{dims names dimension 1 twice}}
  %0 = net.transpose %x dims = [1, 1] : tensor<4x8xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @transpose_c1_count(%x: tensor<4x8xf32>) {
  // expected-error @below {{has 1 dims for a tensor of rank 2}}
  %0 = net.transpose %x dims = [1] : tensor<4x8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @transpose_c1_shape(%x: tensor<4x8xf32>) {
  // expected-error @below {{has result shape [4, 8] but its operands and attributes make [8, 4]}}
  %0 = net.transpose %x dims = [1, 0] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}
