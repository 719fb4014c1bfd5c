// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

// Tests broadcast_c1: one entry per dimension, distinct and in range.
func.func @broadcast_c1_count(%x: tensor<4xf32>) {
  // expected-error @below {{has 2 dims for a tensor of rank 1}}
  %0 = net.broadcast %x dims = [0, 1] : tensor<4xf32> -> tensor<4x2xf32>
  return
}

// -----

func.func @broadcast_c1_range(%x: tensor<4xf32>) {
  // expected-error @below {{dims names dimension 2 of a tensor of rank 2}}
  %0 = net.broadcast %x dims = [2] : tensor<4xf32> -> tensor<4x2xf32>
  return
}

// -----

func.func @broadcast_c1_twice(%x: tensor<4x4xf32>) {
  // expected-error @below {{dims names dimension 0 twice}}
  %0 = net.broadcast %x dims = [0, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----

// Tests broadcast_c2: a dimension of size 1 does not repeat by itself.
func.func @broadcast_c2(%x: tensor<1xf32>) {
  // expected-error @below {{maps dimension 0 of size 1 to dimension 1 of size 4}}
  %0 = net.broadcast %x dims = [1] : tensor<1xf32> -> tensor<2x4xf32>
  return
}
