// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file --dist-schedule-assign-buffers -verify-diagnostics -allow-unregistered-dialect

// Tests that places in memory are numbers: what is kept, as often as it is kept, and what a loop makes, as often as it does.

// expected-error @below {{the values of a step up to this one have more than 288230376151711744 bytes, the most that can be added up}}
net.variable buffer @kept : tensor<4xf64> {dist.slots = 4611686018427387904 : i64}
func.func @slots() {
  return
}

// -----

func.func @iterations(%x: tensor<4294967296xf32>) -> tensor<4294967296xf32> {
  %i = net.loop count = 2147483647
  // expected-error @below {{the values of a step up to this one have more than 288230376151711744 bytes}}
  %c = net.carry %x in %i : tensor<4294967296xf32>
  %0 = net.negate %c : tensor<4294967296xf32>
  %1 = net.next %0 for %c : tensor<4294967296xf32>
  net.end_loop %i
  return %1 : tensor<4294967296xf32>
}

// -----

func.func @iterations_of_iterations(%x: tensor<f32>) {
  %i = net.loop count = 2147483647
  // expected-error @below {{the values of a step up to this one have more than 288230376151711744 bytes}}
  %j = net.loop count = 2147483647
  %0 = net.negate %x : tensor<f32>
  net.end_loop %j
  net.end_loop %i
  return
}

// -----

// Tests that what is no program of tensors is refused.

// expected-error @below {{function @blocks has 2 blocks, not one}}
func.func @blocks(%x: tensor<4xf32>) -> tensor<4xf32> {
  "foreign.jump"() [^next] : () -> ()
^next:
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{argument 1 is of 'index', which is not a tensor of static shape}}
func.func @argument(%x: tensor<4xf32>, %i: index) {
  return
}

// -----

// expected-error @below {{argument 0 is of 'tensor<?xf32>', whose dimension 0 has no size; export with static shapes}}
func.func @dynamic(%x: tensor<?xf32>) {
  return
}

// -----

func.func @result(%x: tensor<4xf32>) {
  // expected-error @below {{foreign.make has a result of 'f32', which is not a tensor of static shape}}
  %0 = "foreign.make"() : () -> f32
  return
}

// -----

// expected-error @below {{variable @w is of 'tensor<4xcomplex<f32>>', whose elements are not known}}
net.variable parameter @w : tensor<4xcomplex<f32>>
