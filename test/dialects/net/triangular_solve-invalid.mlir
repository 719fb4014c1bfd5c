// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

// Tests triangular_solve_c1: matrices that are not square.
func.func @triangular_solve_c1(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{has 'tensor<4xf32>', whose last two dimensions are not square matrices}}
  %0 = net.triangular_solve %a, %b : tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// Tests triangular_solve_c2: a right-hand side with other rows.
func.func @triangular_solve_c2(%a: tensor<2x4x4xf32>, %b: tensor<2x3x4xf32>) {
  // expected-error @below {{solves 'tensor<2x4x4xf32>' for 'tensor<2x3x4xf32>'}}
  %0 = net.triangular_solve %a, %b : tensor<2x4x4xf32>, tensor<2x3x4xf32>
  return
}
