// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

// Tests slice_c1: lists of another length.
func.func @slice_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{has 1 starts for a tensor of rank 2}}
  %0 = net.slice %x starts = [0] limits = [4, 8] steps = [1, 1] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// Tests slice_c2: boxes that leave the tensor, and steps of 0.
func.func @slice_c2_limit(%x: tensor<4x8xf32>) {
  // expected-error @below {{takes [0:9:1] of dimension 1 of size 8}}
  %0 = net.slice %x starts = [0, 0] limits = [4, 9] steps = [1, 1] : tensor<4x8xf32> -> tensor<4x9xf32>
  return
}

// -----

func.func @slice_c2_start(%x: tensor<4x8xf32>) {
  // expected-error @below {{takes [-1:4:1] of dimension 0 of size 4}}
  %0 = net.slice %x starts = [-1, 0] limits = [4, 8] steps = [1, 1] : tensor<4x8xf32> -> tensor<5x8xf32>
  return
}

// -----

func.func @slice_c2_step(%x: tensor<4x8xf32>) {
  // expected-error @below {{takes [0:4:0] of dimension 0 of size 4}}
  %0 = net.slice %x starts = [0, 0] limits = [4, 8] steps = [0, 1] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// Tests slice_c3: sizes round up.
func.func @slice_c3(%x: tensor<4x8xf32>) {
  // expected-error @below {{has result shape [4, 2] but its operands and attributes make [4, 3]}}
  %0 = net.slice %x starts = [0, 1] limits = [4, 8] steps = [1, 3] : tensor<4x8xf32> -> tensor<4x2xf32>
  return
}
