// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

// Tests dot_c1: paired dimensions of unlike size, out of range, twice, or unpaired.
func.func @dot_c1_size(%a: tensor<5x2x3xf32>, %b: tensor<5x3x4xf32>) {
  // expected-error @below {{pairs dimension 2 of size 3 with dimension 2 of size 4}}
  %0 = net.dot %a, %b batch = [0] x [0] contract = [2] x [2] : tensor<5x2x3xf32>, tensor<5x3x4xf32> -> tensor<5x2x3xf32>
  return
}

// -----

func.func @dot_c1_range(%a: tensor<5x2x3xf32>, %b: tensor<5x3x4xf32>) {
  // expected-error @below {{lhs names dimension 3 of a tensor of rank 3}}
  %0 = net.dot %a, %b batch = [0] x [0] contract = [3] x [1] : tensor<5x2x3xf32>, tensor<5x3x4xf32> -> tensor<5x2x4xf32>
  return
}

// -----

func.func @dot_c1_twice(%a: tensor<5x2x3xf32>, %b: tensor<5x3x4xf32>) {
  // expected-error @below {{rhs names dimension 0 twice}}
  %0 = net.dot %a, %b batch = [0] x [0] contract = [2] x [0] : tensor<5x2x3xf32>, tensor<5x3x4xf32> -> tensor<5x2x4xf32>
  return
}

// -----

func.func @dot_c1_count(%a: tensor<5x2x3xf32>, %b: tensor<5x3x4xf32>) {
  // expected-error @below {{pairs 1 and 1 dimensions with 0 and 1}}
  %0 = net.dot %a, %b batch = [0] x [] contract = [2] x [1] : tensor<5x2x3xf32>, tensor<5x3x4xf32> -> tensor<5x2x4xf32>
  return
}

// -----

// Tests dot_c2: another shape than batching, lhs, rhs.
func.func @dot_c2(%a: tensor<5x2x3xf32>, %b: tensor<5x3x4xf32>) {
  // expected-error @below {{has result shape [5, 4, 2] but its operands and attributes make [5, 2, 4]}}
  %0 = net.dot %a, %b batch = [0] x [0] contract = [2] x [1] : tensor<5x2x3xf32>, tensor<5x3x4xf32> -> tensor<5x4x2xf32>
  return
}
