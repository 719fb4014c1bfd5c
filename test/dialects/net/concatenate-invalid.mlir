// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

// Tests concatenate_c1: no operand, or another rank.
func.func @concatenate_c1() {
  // expected-error @below {{expected 1 or more operands, but found 0}}
  %0 = "net.concatenate"() <{dim = 0 : i64}> : () -> tensor<4xf32>
  return
}

// -----

func.func @concatenate_c1_rank(%x: tensor<4xf32>, %y: tensor<4x2xf32>) {
  // expected-error @below {{joins operand 0 of rank 1 into a result of rank 2}}
  %0 = net.concatenate %x, %y dim = 0 : tensor<4xf32>, tensor<4x2xf32> -> tensor<8x2xf32>
  return
}

// -----

// Tests concatenate_c2: sizes that differ elsewhere, or do not add up.
func.func @concatenate_c2_other(%x: tensor<4x2xf32>, %y: tensor<4x3xf32>) {
  // expected-error @below {{joins operand 1 of size 3 in dimension 1 with one of size 2}}
  %0 = net.concatenate %x, %y dim = 0 : tensor<4x2xf32>, tensor<4x3xf32> -> tensor<8x2xf32>
  return
}

// -----

func.func @concatenate_c2_sum(%x: tensor<4xf32>) {
  // expected-error @below {{has result shape [7] but its operands and attributes make [8]}}
  %0 = net.concatenate %x, %x dim = 0 : tensor<4xf32>, tensor<4xf32> -> tensor<7xf32>
  return
}

// -----

func.func @concatenate_dim(%x: tensor<4xf32>) {
  // expected-error @below {{dim names dimension 1 of a tensor of rank 1}}
  %0 = net.concatenate %x dim = 1 : tensor<4xf32> -> tensor<4xf32>
  return
}
