// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics --dist-partition-inline-conditionals

// Tests that a value of a conditional cannot be read at other times, by an assignment, a result or an operation.

dist.mesh @mesh <[steps "accumulation" = 4]>
net.variable parameter @w : tensor<4xf32>
func.func @assigned(%x: tensor<4xf32>) {
  %late = dist.when {accumulation = array<i64: 3>} {
    // expected-error @below {{runs at {accumulation = array<i64: 3>} alone, as the conditional around it says, but is needed at {accumulation = array<i64: 0, 3>}}}
    %y = net.negate %x : tensor<4xf32>
    dist.yield %y : tensor<4xf32>
  } : tensor<4xf32>
  net.assign @w, %late {dist.during = {accumulation = array<i64: 0, 3>}} : tensor<4xf32>
  return
}

// -----

dist.mesh @mesh <[steps "accumulation" = 4]>
func.func @returned(%x: tensor<4xf32>) -> tensor<4xf32> {
  %late = dist.when {accumulation = array<i64: 3>} {
    // expected-error @below {{is needed at all times}}
    %y = net.negate %x : tensor<4xf32>
    dist.yield %y : tensor<4xf32>
  } : tensor<4xf32>
  return %late : tensor<4xf32>
}

// -----

// Tests that an assignment does not state its times beside those of the conditional.

dist.mesh @mesh <[steps "accumulation" = 4]>
net.variable parameter @w : tensor<4xf32>
func.func @twice(%x: tensor<4xf32>) {
  dist.when {accumulation = array<i64: 3>} {
    // expected-error @below {{states its times of axis "accumulation", which the conditional around it states}}
    net.assign @w, %x {dist.during = {accumulation = array<i64: 0>}} : tensor<4xf32>
    dist.yield
  }
  return
}
