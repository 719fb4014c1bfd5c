// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

// Tests select_c1: branches of different types.
func.func @select_c1(%p: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error @below {{all of {on_true, on_false, result} have same type}}
  %0 = "net.select"(%p, %x, %y) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

// Tests select_c2: a predicate of another shape.
func.func @select_c2(%p: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error @below {{all of {predicate, result} have same shape}}
  %0 = net.select %p, %x, %x : tensor<i1>, tensor<4xf32>
  return
}
