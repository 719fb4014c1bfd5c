// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

// Tests reverse_c1: dimensions that are not there, or stand twice.
func.func @reverse_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{reverses dimension 2 of a tensor of rank 2}}
  %0 = net.reverse %x dims = [2] : tensor<4x8xf32>
  return
}

// -----

func.func @reverse_c1_twice(%x: tensor<4x8xf32>) {
  // expected-error @below {{reverses dimension 1 twice}}
  %0 = net.reverse %x dims = [1, 1] : tensor<4x8xf32>
  return
}
