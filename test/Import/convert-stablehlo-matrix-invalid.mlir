// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-import-convert-stablehlo -verify-diagnostics -split-input-file

func.func @square(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  // expected-error @below {{stablehlo.cholesky has 'tensor<4x3xf32>', which are not square matrices of floats}}
  %0 = stablehlo.cholesky %x, lower = true : tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

func.func @flag(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{stablehlo.triangular_solve has no flag "left_side"}}
  %0 = "stablehlo.triangular_solve"(%x, %x) <{lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

func.func @sides(%a: tensor<4x4xf32>, %b: tensor<3x4xf32>) -> tensor<3x4xf32> {
  // expected-error @below {{stablehlo.triangular_solve solves 'tensor<4x4xf32>' for 'tensor<3x4xf32>' into 'tensor<3x4xf32>'}}
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<4x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

func.func @letters(%a: tensor<4x4xf64>) -> tensor<4x4xf64> {
  // expected-error @below {{stablehlo.custom_call has no letter "uplo" in "mhlo.backend_config"}}
  %0:2 = stablehlo.custom_call @lapack_dpotrf_ffi(%a) : (tensor<4x4xf64>) -> (tensor<4x4xf64>, tensor<i32>)
  return %0#0 : tensor<4x4xf64>
}

// -----

func.func @state(%a: tensor<2x4x4xf64>) -> tensor<2x4x4xf64> {
  // expected-error @below {{stablehlo.custom_call returns 'tensor<i32>' as the state of factors of 'tensor<2x4x4xf64>', which is 'tensor<2xi32>'}}
  %0:2 = stablehlo.custom_call @lapack_dpotrf_ffi(%a) {mhlo.backend_config = {uplo = 76 : ui8}} : (tensor<2x4x4xf64>) -> (tensor<2x4x4xf64>, tensor<i32>)
  return %0#0 : tensor<2x4x4xf64>
}

// -----

func.func @transpose(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{stablehlo.triangular_solve has TRANSPOSE_INVALID as "transpose_a"}}
  %0 = "stablehlo.triangular_solve"(%x, %x) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE_INVALID>, unit_diagonal = false}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
