// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: dist-opt %s --dist-schedule-verify --split-input-file --verify-diagnostics

// Tests that the gate of Schedule finds what the runtime could not execute.

func.func @operation_left_over(%x: tensor<16xf32> {dist.offset = 0 : i64}) -> tensor<16xf32> attributes {dist.arena_bytes = 128 : i64} {
  // expected-error @below {{operation net.exponential is left over; the runtime has none of that name}}
  %0 = net.exponential %x {dist.offsets = array<i64: 64>} : tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

// expected-error @below {{function has no dist.arena_bytes}}
func.func @no_arena() {
  return
}

// -----

func.func @no_place(%x: tensor<4x4xf32> {dist.offset = 0 : i64}) attributes {dist.arena_bytes = 128 : i64} {
  // expected-error @below {{value has no place in the arena}}
  %0 = dist.matmul %x at 0 [4, 1], %x at 0 [4, 1] to [4, 1] batch [] m 4 n 4 k 4 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @outside(%x: tensor<4x4xf32> {dist.offset = 0 : i64}) attributes {dist.arena_bytes = 128 : i64} {
  // expected-error @below {{value of 64 bytes is at offset 128 of an arena of 128}}
  %0 = dist.matmul %x at 0 [4, 1], %x at 0 [4, 1] to [4, 1] batch [] m 4 n 4 k 4 {dist.offsets = array<i64: 128>} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @overlap(
    // expected-note @below {{the other value is made here}}
    %x: tensor<4x4xf32> {dist.offset = 0 : i64}) attributes {dist.arena_bytes = 128 : i64} {
  // expected-error @below {{value at offset 0 overlaps one of 64 bytes at offset 0 that is still read}}
  %0 = dist.matmul %x at 0 [4, 1], %x at 0 [4, 1] to [4, 1] batch [] m 4 n 4 k 4 {dist.offsets = array<i64: 0>} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----

net.variable parameter @w : tensor<4x4xf32>

// The new value is written where the old one is, which the second product still reads.
func.func @old_value_overwritten() attributes {dist.arena_bytes = 192 : i64} {
  // expected-note @below {{the other value is made here}}
  %w = net.read @w {dist.offsets = array<i64: 0>} : tensor<4x4xf32>
  // expected-error @below {{value at offset 0 overlaps one of 64 bytes at offset 0 that is still read}}
  %0 = dist.matmul %w at 0 [4, 1], %w at 0 [4, 1] to [4, 1] batch [] m 4 n 4 k 4 {dist.offsets = array<i64: 0>} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = dist.matmul %w at 0 [4, 1], %0 at 0 [4, 1] to [4, 1] batch [] m 4 n 4 k 4 {dist.offsets = array<i64: 64>} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  net.assign @w, %0 : tensor<4x4xf32>
  return
}

// -----

func.func @view_elsewhere(%x: tensor<32xf32> {dist.offset = 0 : i64}) attributes {dist.arena_bytes = 256 : i64} {
  // expected-error @below {{view is at offset 128, not in its input at 64}}
  %0 = dist.view %x at 16 {dist.offsets = array<i64: 128>} : tensor<32xf32> -> tensor<16xf32>
  return
}

// -----

dist.mesh @mesh <["zero" = 2]>

func.func @step_zero0(%x: tensor<16xf32> {dist.offset = 0 : i64}) attributes {dist.arena_bytes = 192 : i64, dist.on = {zero = array<i64: 0>}} {
  // expected-note @below {{the other member issues this}}
  %0 = dist.collective c_allreduce sum(%x) axes ["zero"] {dist.offsets = array<i64: 64>} : (tensor<16xf32>) -> tensor<16xf32>
  return
}
func.func @step_zero1(%x: tensor<16xf32> {dist.offset = 0 : i64}) attributes {dist.arena_bytes = 192 : i64, dist.on = {zero = array<i64: 1>}} {
  // expected-error @below {{is number 0 over ["zero"] in @step_zero1, but another member of the group moves something else there}}
  %0 = dist.collective c_allreduce max(%x) axes ["zero"] {dist.offsets = array<i64: 64>} : (tensor<16xf32>) -> tensor<16xf32>
  return
}

// -----

dist.mesh @mesh <["zero" = 2]>

func.func @one_more_zero0(%x: tensor<16xf32> {dist.offset = 0 : i64}) attributes {dist.arena_bytes = 192 : i64, dist.on = {zero = array<i64: 0>}} {
  // expected-error @below {{is issued by 1 of the 2 programs that are members of its group}}
  %0 = dist.collective c_allreduce sum(%x) axes ["zero"] {dist.offsets = array<i64: 64>} : (tensor<16xf32>) -> tensor<16xf32>
  return
}
func.func @one_more_zero1(%x: tensor<16xf32> {dist.offset = 0 : i64}) attributes {dist.arena_bytes = 192 : i64, dist.on = {zero = array<i64: 1>}} {
  return
}

// -----

dist.mesh @mesh <["outer" = 2, "zero" = 2]>

// Both groups have equal lists, but a rank that waits for the one cannot come to the other.
func.func @crossed_zero0(%x: tensor<16xf32> {dist.offset = 0 : i64}) attributes {dist.arena_bytes = 192 : i64, dist.on = {zero = array<i64: 0>}} {
  // expected-error @below {{comes before another collective on one rank and after it on another: 2 wait for each other}}
  %0 = dist.collective c_allreduce sum(%x) axes ["zero"] {dist.offsets = array<i64: 64>} : (tensor<16xf32>) -> tensor<16xf32>
  %1 = dist.collective c_allreduce sum(%x) axes ["outer", "zero"] {dist.offsets = array<i64: 128>} : (tensor<16xf32>) -> tensor<16xf32>
  return
}
func.func @crossed_zero1(%x: tensor<16xf32> {dist.offset = 0 : i64}) attributes {dist.arena_bytes = 192 : i64, dist.on = {zero = array<i64: 1>}} {
  %1 = dist.collective c_allreduce sum(%x) axes ["outer", "zero"] {dist.offsets = array<i64: 128>} : (tensor<16xf32>) -> tensor<16xf32>
  %0 = dist.collective c_allreduce sum(%x) axes ["zero"] {dist.offsets = array<i64: 64>} : (tensor<16xf32>) -> tensor<16xf32>
  return
}

// -----

dist.mesh @mesh <[steps "accumulation" = 2]>

// Tests that programs of the same ranks at different times have what persists in the same places.
// expected-note @below {{that program is here}}
func.func @moved_accumulation0(%x: tensor<16xf32> {dist.offset = 0 : i64}) attributes {dist.arena_bytes = 192 : i64, dist.on = {accumulation = array<i64: 0>}} {
  return
}
// expected-error @below {{has persistent values in other places than @moved_accumulation0, the program of the same ranks at another time}}
func.func @moved_accumulation1(%x: tensor<16xf32> {dist.offset = 64 : i64}) attributes {dist.arena_bytes = 192 : i64, dist.on = {accumulation = array<i64: 1>}} {
  return
}

// -----

dist.mesh @mesh <["pp" = 2]>

// Each sends before it receives: there is no buffer in between, so both wait.
func.func @both_send_pp0(%x: tensor<16xf32> {dist.offset = 0 : i64}) attributes {dist.arena_bytes = 192 : i64, dist.on = {pp = array<i64: 0>}} {
  // expected-error @below {{comes before another collective on one rank and after it on another: 2 wait for each other}}
  dist.collective c_send(%x) roots [0] to 1 axes ["pp"] {dist.offsets = array<i64>} : (tensor<16xf32>) -> ()
  %0 = dist.collective c_send() roots [1] to 0 axes ["pp"] {dist.offsets = array<i64: 64>} : () -> tensor<16xf32>
  return
}
func.func @both_send_pp1(%x: tensor<16xf32> {dist.offset = 0 : i64}) attributes {dist.arena_bytes = 192 : i64, dist.on = {pp = array<i64: 1>}} {
  dist.collective c_send(%x) roots [1] to 0 axes ["pp"] {dist.offsets = array<i64>} : (tensor<16xf32>) -> ()
  %0 = dist.collective c_send() roots [0] to 1 axes ["pp"] {dist.offsets = array<i64: 64>} : () -> tensor<16xf32>
  return
}

// -----

dist.mesh @mesh <["pp" = 3]>

// A send without a receive.
func.func @not_received_pp0(%x: tensor<16xf32> {dist.offset = 0 : i64}) attributes {dist.arena_bytes = 192 : i64, dist.on = {pp = array<i64: 0>}} {
  // expected-error @below {{is issued by 1 of the 2 programs that are members of its group}}
  dist.collective c_send(%x) roots [0] to 2 axes ["pp"] {dist.offsets = array<i64>} : (tensor<16xf32>) -> ()
  return
}
func.func @not_received_pp1(%x: tensor<16xf32> {dist.offset = 0 : i64}) attributes {dist.arena_bytes = 192 : i64, dist.on = {pp = array<i64: 1>}} {
  return
}
func.func @not_received_pp2(%x: tensor<16xf32> {dist.offset = 0 : i64}) attributes {dist.arena_bytes = 192 : i64, dist.on = {pp = array<i64: 2>}} {
  return
}

// -----

dist.mesh @mesh <["pp" = 3]>

func.func @stranger_pp0(%x: tensor<16xf32> {dist.offset = 0 : i64}) attributes {dist.arena_bytes = 192 : i64, dist.on = {pp = array<i64: 0>}} {
  dist.collective c_send(%x) roots [0] to 2 axes ["pp"] {dist.offsets = array<i64>} : (tensor<16xf32>) -> ()
  return
}
func.func @stranger_pp1(%x: tensor<16xf32> {dist.offset = 0 : i64}) attributes {dist.arena_bytes = 192 : i64, dist.on = {pp = array<i64: 1>}} {
  // expected-error @below {{is issued in @stranger_pp1, which neither sends nor receives there}}
  %0 = dist.collective c_send() roots [0] to 2 axes ["pp"] {dist.offsets = array<i64: 64>} : () -> tensor<16xf32>
  return
}

// -----

net.variable optimizer_state @m : tensor<16xf32> {dist.memory = #dist<memory host>}

func.func @computes_in_the_memory_of_the_host() attributes {dist.arena_bytes = 64 : i64, dist.host_arena_bytes = 64 : i64} {
  %0 = net.read @m {dist.in_host_arena, dist.offsets = array<i64: 0>} : tensor<16xf32>
  // expected-error @below {{operation dist.kernel reads a value in the memory of the host}}
  %1 = dist.kernel(%0) {
  ^bb0(%arg: tensor<16xf32>):
    %y = net.negate %arg : tensor<16xf32>
    dist.yield %y : tensor<16xf32>
  } {dist.offsets = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
  return
}

// -----

net.variable optimizer_state @m : tensor<16xf32> {dist.memory = #dist<memory host>}

func.func @assigns_over_the_bus(%x: tensor<16xf32> {dist.offset = 0 : i64}) attributes {dist.arena_bytes = 64 : i64, dist.host_arena_bytes = 64 : i64} {
  // expected-error @below {{variable @m is in the memory of the host but its new value is not}}
  net.assign @m, %x : tensor<16xf32>
  return
}

// -----

net.variable optimizer_state @m : tensor<16xf32> {dist.memory = #dist<memory host>}

func.func @place_in_the_other_arena() attributes {dist.arena_bytes = 64 : i64, dist.host_arena_bytes = 64 : i64} {
  // expected-error @below {{operation states a place in the other arena than its result is in}}
  %0 = net.read @m {dist.offsets = array<i64: 0>} : tensor<16xf32>
  return
}

// -----

func.func @fetches_what_is_there(%x: tensor<16xf32> {dist.offset = 0 : i64}) attributes {dist.arena_bytes = 128 : i64} {
  // expected-error @below {{copy reads a value that is in the memory of the device already}}
  %0 = dist.copy %x to device {dist.offsets = array<i64: 64>} : (tensor<16xf32>) -> tensor<16xf32>
  return
}

// -----

net.variable optimizer_state @m : tensor<16xf32> {dist.memory = #dist<memory host>}

// The old value is still being fetched.
func.func @overwritten_on_the_host(%x: tensor<16xf32> {dist.offset = 0 : i64}) attributes {dist.arena_bytes = 128 : i64, dist.host_arena_bytes = 64 : i64} {
  // expected-note @below {{the other value is made here}}
  %0 = net.read @m {dist.in_host_arena, dist.offsets = array<i64: 0>} : tensor<16xf32>
  %1 = dist.copy %0 to device {dist.offsets = array<i64: 64>} : (tensor<16xf32>) -> !dist.handle<tensor<16xf32>>
  // expected-error @below {{value at offset 0 overlaps one of 64 bytes at offset 0 that is still read}}
  %2 = dist.copy %x to host {dist.in_host_arena, dist.offsets = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
  %3 = dist.wait %1 {dist.offsets = array<i64: 64>} : (!dist.handle<tensor<16xf32>>) -> tensor<16xf32>
  net.assign @m, %2 : tensor<16xf32>
  return
}

// -----

net.variable optimizer_state @m : tensor<16xf32> {dist.memory = #dist<memory host>}

func.func @outside_the_arena_of_the_host() attributes {dist.arena_bytes = 64 : i64, dist.host_arena_bytes = 64 : i64} {
  // expected-error @below {{value of 64 bytes is at offset 64 of an arena of 64}}
  %0 = net.read @m {dist.in_host_arena, dist.offsets = array<i64: 64>} : tensor<16xf32>
  return
}
