// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-train-assign-precision="compute=bf16" -split-input-file | FileCheck %s

// Tests that a mask is drawn as it is written, so that it has the same bits in every precision, and that what it leaves is in 16 bit.

net.variable parameter @w : tensor<4x4xf32>
func.func @step(%x: tensor<2x4xf32>, %bits: tensor<2x4xui32>) -> tensor<f32> {
  %w = net.read @w : tensor<4x4xf32>
  %y = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  // CHECK: %[[DRAWN:.*]] = net.bitcast_convert %arg1 : tensor<2x4xui32> -> tensor<2x4xf32>
  // CHECK: %[[UNIFORM:.*]] = net.subtract %[[DRAWN]], %{{.*}} : tensor<2x4xf32>
  // CHECK: %[[MASK:.*]] = net.compare lt, %[[UNIFORM]], %{{.*}} : tensor<2x4xf32> -> tensor<2x4xi1>
  %drawn = net.bitcast_convert %bits : tensor<2x4xui32> -> tensor<2x4xf32>
  %one = net.constant dense<1.0> : tensor<2x4xf32>
  %uniform = net.subtract %drawn, %one : tensor<2x4xf32>
  %keep = net.constant dense<0.9> : tensor<2x4xf32>
  %mask = net.compare lt, %uniform, %keep : tensor<2x4xf32> -> tensor<2x4xi1>
  // CHECK: net.select %[[MASK]], %{{.*}}, %{{.*}} : tensor<2x4xi1>, tensor<2x4xbf16>
  %zero = net.constant dense<0.0> : tensor<2x4xf32>
  %left = net.select %mask, %y, %zero : tensor<2x4xi1>, tensor<2x4xf32>
  %loss = net.reduce sum %left dims = [0, 1] : tensor<2x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Tests that the bits of a value are those of the type that was written.

net.variable parameter @w : tensor<4x4xf32>
func.func @step(%x: tensor<2x4xf32>) -> tensor<2x4xui32> {
  // CHECK: %[[Y:.*]] = net.dot {{.*}} -> tensor<2x4xbf16>
  // CHECK: %[[WIDE:.*]] = net.convert %[[Y]] : tensor<2x4xbf16> -> tensor<2x4xf32>
  // CHECK: net.bitcast_convert %[[WIDE]] : tensor<2x4xf32> -> tensor<2x4xui32>
  %w = net.read @w : tensor<4x4xf32>
  %y = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %bits = net.bitcast_convert %y : tensor<2x4xf32> -> tensor<2x4xui32>
  return %bits : tensor<2x4xui32>
}
