// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-import=parameters=p.* -split-input-file -verify-diagnostics -o /dev/null

// Tests that bytes which cannot be added up are an error where they are too many: 2^62 and 2^62 would be less than nothing.

// expected-error @below {{the values of a step up to this one have more than 288230376151711744 bytes, the most that can be added up}}
func.func public @main(%w: tensor<576460752303423488xf64> {net.name = "p.w"}, %v: tensor<576460752303423488xf64> {net.name = "p.v"}) -> (tensor<f64> {net.name = "s"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = stablehlo.add %w, %v : tensor<576460752303423488xf64>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<576460752303423488xf64>, tensor<f64>) -> tensor<f64>
  return %1 : tensor<f64>
}

// -----

// Each value alone could be counted.
func.func public @main(%x: tensor<1048576xf32> {net.name = "p.x"}) -> (tensor<f32> {net.name = "s"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<1048576xf32>) -> tensor<1048576x4294967296xf32>
  // 2^54 bytes, then as often as they are read and made.
  %1 = stablehlo.negate %0 : tensor<1048576x4294967296xf32>
  %2 = stablehlo.negate %1 : tensor<1048576x4294967296xf32>
  %3 = stablehlo.negate %2 : tensor<1048576x4294967296xf32>
  %4 = stablehlo.negate %3 : tensor<1048576x4294967296xf32>
  %5 = stablehlo.negate %4 : tensor<1048576x4294967296xf32>
  %6 = stablehlo.negate %5 : tensor<1048576x4294967296xf32>
  %7 = stablehlo.negate %6 : tensor<1048576x4294967296xf32>
  // expected-error @below {{the values of a step up to this one have more than 288230376151711744 bytes}}
  %8 = stablehlo.negate %7 : tensor<1048576x4294967296xf32>
  %9 = stablehlo.reduce(%8 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<1048576x4294967296xf32>, tensor<f32>) -> tensor<f32>
  return %9 : tensor<f32>
}

// -----

// Values without elements have no bytes.
func.func public @main(%x: tensor<576460752303423487x0xf64> {net.name = "p.x"}) -> (tensor<576460752303423487x0xf64> {net.name = "y"}) {
  %0 = stablehlo.negate %x : tensor<576460752303423487x0xf64>
  return %0 : tensor<576460752303423487x0xf64>
}
