// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

// Tests read_c1: a variable that is not there, or has another type.
func.func @read_c1() {
  // expected-error @below {{names @w, which is no variable}}
  %0 = net.read @w : tensor<4xf32>
  return
}

// -----

// expected-note @below {{the variable is here}}
net.variable parameter @w : tensor<4xf32>
func.func @read_c1_type() {
  // expected-error @below {{uses @w as 'tensor<5xf32>' but it is 'tensor<4xf32>'}}
  %0 = net.read @w : tensor<5xf32>
  return
}
