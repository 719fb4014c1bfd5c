// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

// Tests iota_c1: a dimension that the result does not have.
func.func @iota_c1() {
  // expected-error @below {{dim names dimension 2 of a tensor of rank 2}}
  %0 = net.iota dim = 2 : tensor<2x4xi32>
  return
}

// -----

func.func @iota_c1_negative() {
  // expected-error @below {{dim names dimension -1 of a tensor of rank 2}}
  %0 = net.iota dim = -1 : tensor<2x4xi32>
  return
}
