// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-import-convert-stablehlo -verify-diagnostics -split-input-file

func.func @clamp(%low: tensor<3xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{stablehlo.clamp clamps 'tensor<4xf32>' between 'tensor<3xf32>' and 'tensor<4xf32>' into 'tensor<4xf32>'}}
  %0 = stablehlo.clamp %low, %x, %x : (tensor<3xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @integers(%x: tensor<4xi32>) -> tensor<4xi32> {
  // expected-error @below {{chlo.asin is of 'tensor<4xi32>', not of floats}}
  %0 = chlo.asin %x : tensor<4xi32> -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// -----

func.func @rounded_integers(%x: tensor<4xi32>) -> tensor<4xi32> {
  // expected-error @below {{stablehlo.round_nearest_afz is of 'tensor<4xi32>', not of floats}}
  %0 = stablehlo.round_nearest_afz %x : tensor<4xi32>
  return %0 : tensor<4xi32>
}

// -----

func.func @exponential_of_integers(%x: tensor<4xi32>) -> tensor<4xi32> {
  // expected-error @below {{stablehlo.exponential is of 'tensor<4xi32>', not of floats}}
  %0 = stablehlo.exponential %x : tensor<4xi32>
  return %0 : tensor<4xi32>
}

// -----

func.func @shifted_floats(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{stablehlo.shift_left is of 'tensor<4xf32>', not of integers}}
  %0 = stablehlo.shift_left %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @counted_floats(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{stablehlo.popcnt turns 'tensor<4xf32>' into 'tensor<4xf32>'}}
  %0 = stablehlo.popcnt %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @format(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{"f16" is not a format of floats; e5m10 is one}}
  %0 = stablehlo.reduce_precision %x, format = f16 : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @infinite(%x: tensor<4xi32>) -> tensor<4xi1> {
  // expected-error @below {{chlo.is_inf turns 'tensor<4xi32>' into 'tensor<4xi1>'}}
  %0 = chlo.is_inf %x : tensor<4xi32> -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// -----

func.func @constant_like(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{chlo.constant_like has no value of 'f32'}}
  %0 = "chlo.constant_like"(%x) <{value = 2 : i32}> : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @fourier(%x: tensor<4xcomplex<f32>>) {
  // expected-error @below {{is a Fourier transform, which is not supported; multiply with its matrix instead}}
  %0 = stablehlo.fft %x, type = FFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return
}

// -----

func.func @real(%x: tensor<4xcomplex<f32>>) {
  // expected-error @below {{operation stablehlo.real computes with complex numbers, which are not supported; compute real and imaginary parts separately}}
  %0 = "stablehlo.real"(%x) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return
}

// -----

func.func @without_mantissa(%x: tensor<4xf32>) {
  // expected-error @below {{stablehlo.convert has a value of 'tensor<4xf8E8M0FNU>', whose elements are not known}}
  %0 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xf8E8M0FNU>
  return
}
