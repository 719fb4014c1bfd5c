// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

// Tests reshape_c1: another number of elements.
func.func @reshape_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{turns 32 elements into 33}}
  %0 = net.reshape %x : tensor<4x8xf32> -> tensor<33xf32>
  return
}
