// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

// Tests accumulate_c1: operands of different types.
dist.mesh @mesh <[steps "accumulation" = 4]>
net.variable accumulator @"accumulator/w" : tensor<4xf32>
func.func @accumulate_c1(%g: tensor<4xbf16>) {
  %0 = net.read @"accumulator/w" : tensor<4xf32>
  // expected-error @below {{requires the same type for all operands and results}}
  %1 = "dist.accumulate"(%0, %g) {axis = "accumulation"} : (tensor<4xf32>, tensor<4xbf16>) -> tensor<4xf32>
  return
}

// -----

// Tests accumulate_c2: a module without mesh.
net.variable accumulator @"accumulator/w" : tensor<4xf32>
func.func @accumulate_c2(%g: tensor<4xf32>) {
  %0 = net.read @"accumulator/w" : tensor<4xf32>
  // expected-error @below {{names axis "accumulation", which is no axis of times of the module's mesh}}
  %1 = dist.accumulate %0, %g over "accumulation" : tensor<4xf32>
  return
}

// -----

// Tests accumulate_c2: an axis of ranks.
dist.mesh @mesh <["dp" = 4]>
net.variable accumulator @"accumulator/w" : tensor<4xf32>
func.func @accumulate_c2_ranks(%g: tensor<4xf32>) {
  %0 = net.read @"accumulator/w" : tensor<4xf32>
  // expected-error @below {{names axis "dp", which is no axis of times of the module's mesh}}
  %1 = dist.accumulate %0, %g over "dp" : tensor<4xf32>
  return
}

// -----

// Tests that sums begin after the first coordinate and ascend within the axis.

dist.mesh @mesh <[slices "micro" = 4]>
net.variable accumulator @a : tensor<f32>
func.func @sums(%x: tensor<f32>) {
  %before = net.read @a : tensor<f32>
  // expected-error @below {{sums at coordinate 0 after 0 of axis "micro" of size 4; these ascend, and the first has nothing to add to}}
  %sum = dist.accumulate %before, %x over "micro" sums [0, 1] : tensor<f32>
  return
}

// -----

dist.mesh @mesh <[slices "micro" = 4]>
net.variable accumulator @a : tensor<f32>
func.func @sums(%x: tensor<f32>) {
  %before = net.read @a : tensor<f32>
  // expected-error @below {{sums at coordinate 4 after 3 of axis "micro" of size 4}}
  %sum = dist.accumulate %before, %x over "micro" sums [1, 3, 4] : tensor<f32>
  return
}
