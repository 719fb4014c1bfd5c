// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

// Tests reduce_precision_c2: a float without exponent.
func.func @reduce_precision_c2(%x: tensor<4xf32>) {
  // expected-error @below {{has 0 bits of exponent and 10 of mantissa}}
  %0 = net.reduce_precision %x exponent = 0 mantissa = 10 : tensor<4xf32>
  return
}
