// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics --dist-train-differentiate --dist-train-accumulate-gradients=steps=4

// expected-note @below {{it is here}}
net.variable buffer @"accumulator/w" : tensor<f32>
// expected-error @below {{accumulating its gradients needs a variable @accumulator/w, which exists already}}
net.variable parameter @w : tensor<f32>
func.func @name_is_taken() -> tensor<f32> {
  %w = net.read @w : tensor<f32>
  %loss = net.multiply %w, %w : tensor<f32>
  return %loss : tensor<f32>
}

// -----

// expected-error @below {{the mesh has an axis "accumulation" or one of steps already}}
dist.mesh @mesh <["accumulation" = 2]>
net.variable parameter @w : tensor<f32>
func.func @axis_is_taken() -> tensor<f32> {
  %w = net.read @w : tensor<f32>
  %loss = net.multiply %w, %w : tensor<f32>
  return %loss : tensor<f32>
}

// -----

// expected-error @below {{the mesh has an axis "accumulation" or one of steps already}}
dist.mesh @mesh <[steps "again" = 2]>
net.variable parameter @w : tensor<f32>
func.func @merged_twice() -> tensor<f32> {
  %w = net.read @w : tensor<f32>
  %loss = net.multiply %w, %w : tensor<f32>
  return %loss : tensor<f32>
}
