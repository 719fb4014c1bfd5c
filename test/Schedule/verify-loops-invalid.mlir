// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: dist-opt %s --dist-schedule-verify --split-input-file --verify-diagnostics

// Tests that the gate of Schedule finds what is wrong with places of values of loops.

// The next value overwrites the carried one, which the iteration reads afterwards.
func.func @written_too_early(%x: tensor<16xf32> {dist.offset = 0 : i64}, %w: tensor<16xf32> {dist.offset = 64 : i64}) attributes {dist.arena_bytes = 256 : i64} {
  %i = net.loop count = 3
  %c = net.carry %x in %i {dist.offsets = array<i64: 128>} : tensor<16xf32>
  // expected-error @below {{overwrites a carried value that the same iteration still reads}}
  %0 = dist.matmul %w at 0 [4, 1], %w at 0 [4, 1] to [4, 1] batch [] m 4 n 4 k 4 {dist.offsets = array<i64: 128>} : tensor<16xf32>, tensor<16xf32> -> tensor<16xf32>
  %1 = dist.matmul %c at 0 [4, 1], %w at 0 [4, 1] to [4, 1] batch [] m 4 n 4 k 4 {dist.offsets = array<i64: 192>} : tensor<16xf32>, tensor<16xf32> -> tensor<16xf32>
  %2 = net.next %0 for %c {dist.offsets = array<i64: 128>} : tensor<16xf32>
  net.end_loop %i
  return
}

// -----

// The next value is handed on while the iteration still reads the present one.
func.func @handed_on_too_early(%x: tensor<16xf32> {dist.offset = 0 : i64}, %w: tensor<16xf32> {dist.offset = 64 : i64}) attributes {dist.arena_bytes = 320 : i64} {
  %i = net.loop count = 3
  %c = net.carry %x in %i {dist.offsets = array<i64: 128>} : tensor<16xf32>
  %0 = dist.matmul %w at 0 [4, 1], %w at 0 [4, 1] to [4, 1] batch [] m 4 n 4 k 4 {dist.offsets = array<i64: 192>} : tensor<16xf32>, tensor<16xf32> -> tensor<16xf32>
  // expected-error @below {{overwrites a carried value that the same iteration still reads}}
  %2 = net.next %0 for %c {dist.offsets = array<i64: 128>} : tensor<16xf32>
  %1 = dist.matmul %c at 0 [4, 1], %w at 0 [4, 1] to [4, 1] batch [] m 4 n 4 k 4 {dist.offsets = array<i64: 256>} : tensor<16xf32>, tensor<16xf32> -> tensor<16xf32>
  net.end_loop %i
  return
}

// -----

func.func @index_as_value(%x: tensor<16xf32> {dist.offset = 0 : i64}) attributes {dist.arena_bytes = 128 : i64} {
  %i = net.loop count = 3
  // expected-error @below {{computes with the number of an iteration, which has no place in memory}}
  %0 = dist.view %i at 0 {dist.offsets = array<i64: 64>} : tensor<i32> -> tensor<1xi32>
  net.end_loop %i
  return
}

// -----

// Every iteration would make its part of the stack in the place of the first one.
func.func @does_not_move(%w: tensor<16xf32> {dist.offset = 0 : i64}) attributes {dist.arena_bytes = 256 : i64} {
  %i = net.loop count = 3
  // expected-error @below {{has a result of 64 bytes that moves by 0 in each iteration}}
  %0 = dist.matmul %w at 0 [4, 1], %w at 0 [4, 1] to [4, 1] batch [] m 4 n 4 k 4 {dist.offsets = array<i64: 64>} : tensor<16xf32>, tensor<16xf32> -> tensor<16xf32>
  %1 = net.stack %0 in %i {dist.offsets = array<i64: 64>} : tensor<16xf32> -> tensor<3x16xf32>
  net.end_loop %i
  return
}

// -----

// A value of the outer loop overlaps the stack of the inner one, which has a part for every iteration.
func.func @of_another_loop(%w: tensor<16xf32> {dist.offset = 0 : i64}) attributes {dist.arena_bytes = 256 : i64} {
  %i = net.loop count = 3
  // expected-error @below {{is of another loop than the value in whose place its result is}}
  %0 = dist.matmul %w at 0 [4, 1], %w at 0 [4, 1] to [4, 1] batch [] m 4 n 4 k 4 {dist.offsets = array<i64: 64>} : tensor<16xf32>, tensor<16xf32> -> tensor<16xf32>
  %j = net.loop count = 2
  %1 = net.stack %0 in %j {dist.offsets = array<i64: 64>} : tensor<16xf32> -> tensor<2x16xf32>
  net.end_loop %j
  net.end_loop %i
  return
}

// -----

// The stack is where an array is whose part the iteration reads after it has made the new one.
func.func @replaced_too_early(%w: tensor<16xf32> {dist.offset = 0 : i64}) attributes {dist.arena_bytes = 512 : i64} {
  // expected-note @below {{the other value is made here}}
  %o = dist.matmul %w at 0 [4, 1], %w at 0 [4, 1] to [4, 1] batch [] m 4 n 4 k 4 {dist.offsets = array<i64: 64>} : tensor<16xf32>, tensor<16xf32> -> tensor<3x16xf32>
  %i = net.loop count = 3
  %v = net.take %o in %i {dist.offsets = array<i64: 64>} : tensor<3x16xf32> -> tensor<16xf32>
  %0 = dist.matmul %w at 0 [4, 1], %w at 0 [4, 1] to [4, 1] batch [] m 4 n 4 k 4 {dist.iteration_bytes = array<i64: 64>, dist.offsets = array<i64: 64>} : tensor<16xf32>, tensor<16xf32> -> tensor<16xf32>
  // expected-error @below {{value at offset 64 overlaps one of 192 bytes at offset 64 that is still read}}
  %1 = net.stack %0 in %i {dist.offsets = array<i64: 64>} : tensor<16xf32> -> tensor<3x16xf32>
  %2 = dist.matmul %v at 0 [4, 1], %w at 0 [4, 1] to [4, 1] batch [] m 4 n 4 k 4 {dist.offsets = array<i64: 256>} : tensor<16xf32>, tensor<16xf32> -> tensor<16xf32>
  net.end_loop %i
  return
}

// -----

// The stack is where an array is that is read after the loop.
func.func @replaced_and_read(%w: tensor<16xf32> {dist.offset = 0 : i64}) attributes {dist.arena_bytes = 512 : i64} {
  // expected-note @below {{the other value is made here}}
  %o = dist.matmul %w at 0 [4, 1], %w at 0 [4, 1] to [4, 1] batch [] m 4 n 4 k 4 {dist.offsets = array<i64: 64>} : tensor<16xf32>, tensor<16xf32> -> tensor<3x16xf32>
  %i = net.loop count = 3
  %v = net.take %o in %i {dist.offsets = array<i64: 64>} : tensor<3x16xf32> -> tensor<16xf32>
  %1 = dist.matmul %v at 0 [4, 1], %w at 0 [4, 1] to [4, 1] batch [] m 4 n 4 k 4 {dist.offsets = array<i64: 256>} : tensor<16xf32>, tensor<16xf32> -> tensor<16xf32>
  // expected-error @below {{value at offset 64 overlaps one of 192 bytes at offset 64 that is still read}}
  %2 = net.stack %1 in %i {dist.offsets = array<i64: 64>} : tensor<16xf32> -> tensor<3x16xf32>
  net.end_loop %i
  %3 = dist.matmul %o at 0 [4, 1], %w at 0 [4, 1] to [4, 1] batch [] m 4 n 4 k 4 {dist.offsets = array<i64: 320>} : tensor<3x16xf32>, tensor<16xf32> -> tensor<16xf32>
  return
}
