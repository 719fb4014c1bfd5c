// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-import-convert-stablehlo -split-input-file -verify-diagnostics

func.func @sizes(%x: tensor<4x3xf32>, %y: tensor<2xf32>) -> tensor<4x3xf32> {
  // expected-error @below {{chlo.broadcast_add repeats dimension of size 2 of operand 1 for one of size 3}}
  %0 = chlo.broadcast_add %x, %y : (tensor<4x3xf32>, tensor<2xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

func.func @ranks(%x: tensor<4x3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error @below {{chlo.broadcast_add repeats 'tensor<4x3xf32>' for 'tensor<3xf32>'}}
  %0 = chlo.broadcast_add %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

func.func @dims(%x: tensor<4x3xf32>, %y: tensor<3xf32>) -> tensor<4x3xf32> {
  // expected-error @below {{chlo.broadcast_add has broadcast_dimensions that are not 1 of the 2 dimensions in order}}
  %0 = chlo.broadcast_add %x, %y {broadcast_dimensions = array<i64: 2>} : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

func.func @types(%x: tensor<4x3xf32>, %y: tensor<3xi32>) -> tensor<4x3xf32> {
  // expected-error @below {{stablehlo.add combines an operand of 'tensor<4x3xi32>' into a result of 'tensor<4x3xf32>'}}
  %0 = chlo.broadcast_add %x, %y : (tensor<4x3xf32>, tensor<3xi32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}
