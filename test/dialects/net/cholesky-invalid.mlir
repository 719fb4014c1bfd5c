// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

// Tests cholesky_c1: matrices that are not square.
func.func @cholesky_c1(%x: tensor<2x4x3xf32>) {
  // expected-error @below {{has 'tensor<2x4x3xf32>', whose last two dimensions are not square matrices}}
  %0 = net.cholesky %x : tensor<2x4x3xf32>
  return
}
