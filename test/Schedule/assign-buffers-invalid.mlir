// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file --dist-schedule-assign-buffers -verify-diagnostics

// Tests that places in memory are numbers: what is kept, as often as it is kept, and what a loop makes, as often as it does.

// expected-error @below {{the values of a step up to this one have more than 288230376151711744 bytes, the most that can be added up}}
net.variable buffer @kept : tensor<4xf64> {dist.slots = 4611686018427387904 : i64}
func.func @slots() {
  return
}

// -----

func.func @trips(%x: tensor<4294967296xf32>) -> tensor<4294967296xf32> {
  %i = net.loop count = 2147483647
  // expected-error @below {{the values of a step up to this one have more than 288230376151711744 bytes}}
  %c = net.carry %x in %i : tensor<4294967296xf32>
  %0 = net.negate %c : tensor<4294967296xf32>
  %1 = net.next %0 for %c : tensor<4294967296xf32>
  net.end_loop %i
  return %1 : tensor<4294967296xf32>
}

// -----

func.func @trips_of_trips(%x: tensor<f32>) {
  %i = net.loop count = 2147483647
  // expected-error @below {{the values of a step up to this one have more than 288230376151711744 bytes}}
  %j = net.loop count = 2147483647
  %0 = net.negate %x : tensor<f32>
  net.end_loop %j
  net.end_loop %i
  return
}
