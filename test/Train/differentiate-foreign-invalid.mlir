// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: foreign-opt %s --dist-train-differentiate -verify-diagnostics

// Tests that a gradient cannot pass an operation without a derivative.

net.variable parameter @w : tensor<4xf64>

func.func @step() -> tensor<f64> {
  %w = net.read @w : tensor<4xf64>
  // expected-error @below {{has no derivative, but a gradient has to pass it}}
  %0 = foreign.scale %w by 0.5 : tensor<4xf64>
  %loss = net.reduce sum %0 dims = [0] : tensor<4xf64> -> tensor<f64>
  return %loss : tensor<f64>
}
