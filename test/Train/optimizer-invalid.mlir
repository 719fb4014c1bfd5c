// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file --dist-train-optimizer -verify-diagnostics

// Tests that gradients are those of parameters that the step reads.

net.variable parameter @w : tensor<4xf32>
func.func @not_read(%x: tensor<4xf32>) {
  // expected-error @below {{is the gradient of @w, which the step does not read}}
  %0 = net.negate %x {net.name = "grad/w"} : tensor<4xf32>
  return
}

// -----

net.variable parameter @w : tensor<4xf32>
func.func @other_shape(%x: tensor<8xf32>) {
  %w = net.read @w : tensor<4xf32>
  // expected-error @below {{is the gradient of @w, of 'tensor<8xf32>' where that is of 'tensor<4xf32>'}}
  %0 = net.negate %x {net.name = "grad/w"} : tensor<8xf32>
  return
}

// -----

// Tests that a step without gradients is warned of.

net.variable parameter @w : tensor<4xf32>
// expected-warning @below {{there are no gradients, so no parameter is updated}}
func.func @no_gradients(%x: tensor<4xf32>) {
  %w = net.read @w : tensor<4xf32>
  return
}
