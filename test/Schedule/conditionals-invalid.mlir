// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics --dist-schedule-assign-times

// Tests that a pass that reads times refuses a conditional instead of dropping what is in it.

dist.mesh @mesh <[steps "accumulation" = 4]>
net.variable parameter @w : tensor<4xf32>
func.func @formed(%x: tensor<4xf32>) {
  // expected-error @below {{stands where operations are to be in one line; run dist-partition-inline-conditionals first}}
  dist.when {accumulation = array<i64: 3>} {
    net.assign @w, %x : tensor<4xf32>
    dist.yield
  }
  return
}
