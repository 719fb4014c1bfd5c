// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-train-simplify -split-input-file -verify-diagnostics

// Tests loop_c1: a loop of no iterations.
func.func @loop_c1() {
  // expected-error @below {{has 0 iterations, not 1 to 2147483647}}
  %i = net.loop count = 0
  net.end_loop %i
  return
}

// -----

// Tests loop_c2: a loop without an end.
func.func @loop_c2() {
  // expected-error @below {{has no net.end_loop}}
  %i = net.loop count = 2
  return
}

// -----

// Tests loop_c2: loops that cross.
func.func @loop_c2_crossing() {
  %i = net.loop count = 2
  %j = net.loop count = 3
  // expected-error @below {{does not stand in the body of its loop}}
  net.end_loop %i
  net.end_loop %j
  return
}

// -----

// Tests loop_c3: a value of one iteration read after the loop.
func.func @loop_c3_behind(%x: tensor<4xf32>) -> tensor<4xf32> {
  %i = net.loop count = 2
  %c = net.carry %x in %i : tensor<4xf32>
  %y = net.tanh %c : tensor<4xf32>
  %z = net.next %y for %c : tensor<4xf32>
  net.end_loop %i
  // expected-error @below {{reads after a loop what net.tanh makes in an iteration}}
  return %y : tensor<4xf32>
}

// -----

// Tests loop_c3: a value that leaves an inner loop, read after the outer one.
func.func @loop_c3_nested(%x: tensor<2xf32>) -> tensor<f32> {
  %i = net.loop count = 2
  %t = net.take %x in %i : tensor<2xf32> -> tensor<f32>
  %j = net.loop count = 3
  %s = net.total %t in %j : tensor<f32>
  net.end_loop %j
  net.end_loop %i
  // expected-error @below {{reads after a loop what net.total makes in an iteration}}
  return %s : tensor<f32>
}

// -----

// Tests loop_c3: a value that is complete only after the loop, read in it.
func.func @loop_c3_inside(%x: tensor<f32>) -> tensor<f32> {
  %i = net.loop count = 2
  %s = net.total %x in %i : tensor<f32>
  // expected-error @below {{reads in a loop what net.total completes after it}}
  %y = net.tanh %s : tensor<f32>
  %z = net.total %y in %i : tensor<f32>
  net.end_loop %i
  return %z : tensor<f32>
}

// -----

// Tests end_loop_c1, and with it carry_c1 and total_c1: a number that no loop counts.
func.func @end_loop_c1(%i: tensor<i32>) {
  // expected-error @below {{is not in the loop of its index, which no net.loop makes}}
  net.end_loop %i
  return
}

// -----

func.func @carry_c1(%x: tensor<4xf32>, %i: tensor<i32>) {
  // expected-error @below {{is not in the loop of its index, which no net.loop makes}}
  %c = net.carry %x in %i : tensor<4xf32>
  return
}

// -----

// Tests take_c2: another number of elements than iterations.
func.func @take_c2(%x: tensor<4xf32>) {
  %i = net.loop count = 2
  // expected-error @below {{has a stack of 'tensor<4xf32>', but its loop has 2 iterations of 'tensor<f32>'}}
  %y = net.take %x in %i : tensor<4xf32> -> tensor<f32>
  net.end_loop %i
  return
}

// -----

// Tests carry_c1: a value that the loop itself makes.
func.func @carry_c1_own(%x: tensor<2x4xf32>) -> tensor<4xf32> {
  %i = net.loop count = 2
  %t = net.take %x in %i : tensor<2x4xf32> -> tensor<4xf32>
  // expected-error @below {{starts from a value that its own loop makes}}
  %c = net.carry %t in %i : tensor<4xf32>
  %y = net.next %t for %c : tensor<4xf32>
  net.end_loop %i
  return %y : tensor<4xf32>
}

// -----

// Tests carry_c3: nothing is handed on, or twice.
func.func @carry_c3(%x: tensor<4xf32>) {
  %i = net.loop count = 2
  // expected-error @below {{has no net.next}}
  %c = net.carry %x in %i : tensor<4xf32>
  net.end_loop %i
  return
}

// -----

func.func @carry_c3_twice(%x: tensor<4xf32>) {
  %i = net.loop count = 2
  %c = net.carry %x in %i : tensor<4xf32>
  %y = net.next %c for %c : tensor<4xf32>
  // expected-error @below {{is the second for one net.carry}}
  %z = net.next %x for %c : tensor<4xf32>
  net.end_loop %i
  return
}

// -----

// Tests next_c1: a value that is not carried.
func.func @next_c1(%x: tensor<4xf32>) {
  // expected-error @below {{is for a value that no net.carry makes}}
  %y = net.next %x for %x : tensor<4xf32>
  return
}

// -----

// Tests stack_c2: another number of elements than iterations.
func.func @stack_c2(%x: tensor<4xf32>) -> tensor<3x4xf32> {
  %i = net.loop count = 2
  // expected-error @below {{has a stack of 'tensor<3x4xf32>', but its loop has 2 iterations of 'tensor<4xf32>'}}
  %s = net.stack %x in %i : tensor<4xf32> -> tensor<3x4xf32>
  net.end_loop %i
  return %s : tensor<3x4xf32>
}
