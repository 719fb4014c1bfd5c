// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: dist-opt %s --dist-schedule-form-kernels --dist-schedule-assign-buffers --dist-schedule-verify --split-input-file | FileCheck %s

// Tests where values are in the arena.

net.variable parameter @w : tensor<16xf32>
net.variable parameter @v : tensor<5xf32>

// Variables, then inputs, then what the step makes; 64 bytes each at least.
// CHECK-LABEL: @what_persists_comes_first
// CHECK-SAME: {dist.offset = 128 : i64}
// CHECK-SAME: dist.arena_bytes = 256 : i64, dist.persistent_bytes = 192 : i64, dist.variables = {v = 64 : i64, w = 0 : i64}
// CHECK: net.read @w {dist.offsets = array<i64: 0>}
// CHECK: net.exponential
// CHECK: dist.offsets = array<i64: 192>
func.func @what_persists_comes_first(%x: tensor<16xf32>) -> tensor<16xf32> {
  %w = net.read @w : tensor<16xf32>
  %0 = net.add %x, %w : tensor<16xf32>
  %1 = net.exponential %0 : tensor<16xf32>
  return %1 : tensor<16xf32>
}

// -----

net.variable parameter @w : tensor<16xf32>

// CHECK-LABEL: @update_in_place
// CHECK: dist.kernel(%{{.*}}) in_place [0] {
// CHECK: dist.offsets = array<i64: 0>
func.func @update_in_place() {
  %w = net.read @w : tensor<16xf32>
  %0 = net.negate %w : tensor<16xf32>
  net.assign @w, %0 : tensor<16xf32>
  return
}

// -----

net.variable parameter @w : tensor<4x4xf32>

// The transposed value reads elements after others were written: it cannot be in place.
// CHECK-LABEL: @update_that_reads_elsewhere
// CHECK-NOT: in_place
// CHECK: dist.offsets = array<i64: 64>
func.func @update_that_reads_elsewhere() {
  %w = net.read @w : tensor<4x4xf32>
  %t = net.transpose %w dims = [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
  %0 = net.negate %t : tensor<4x4xf32>
  net.assign @w, %0 : tensor<4x4xf32>
  return
}

// -----

net.variable parameter @w : tensor<4x4xf32>

// The old value is read when the new one is known: the product comes first if it can, and here it cannot.
// CHECK-LABEL: @old_value_is_read_later
// CHECK: dist.kernel
// CHECK: dist.offsets = array<i64: 64>
// CHECK: dist.matmul
func.func @old_value_is_read_later() -> tensor<4x4xf32> {
  %w = net.read @w : tensor<4x4xf32>
  %0 = net.exponential %w : tensor<4x4xf32>
  %1 = net.dot %0, %w batch = [] x [] contract = [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  net.assign @w, %0 : tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// -----

net.variable parameter @a : tensor<16xf32>
net.variable parameter @b : tensor<16xf32>

// Variables that swap their values go through copies.
// CHECK-LABEL: @swap
// CHECK-DAG: net.assign @a
// CHECK-DAG: net.assign @b
func.func @swap() {
  %a = net.read @a : tensor<16xf32>
  %b = net.read @b : tensor<16xf32>
  net.assign @a, %b : tensor<16xf32>
  net.assign @b, %a : tensor<16xf32>
  return
}

// -----

// The input of the scatter dies there; its memory becomes the result's.
// CHECK-LABEL: @scatter_in_place
// CHECK: dist.kernel(%arg1)
// CHECK: dist.offsets = array<i64: [[PLACE:[0-9]+]]>
// CHECK: in_place [0]
// CHECK: net.scatter
// CHECK: dist.offsets = array<i64: [[PLACE]]>
func.func @scatter_in_place(%ids: tensor<3x1xi32>, %x: tensor<9x4xf32>, %y: tensor<3x4xf32>) -> tensor<9x4xf32> {
  %0 = net.exponential %x : tensor<9x4xf32>
  %1 = net.scatter add %0, %ids, %y <updateWindowDims = [1], insertedDims = [0], operandBatchingDims = [], indicesBatchingDims = [], scatterDimsToOperandDims = [0], indexVectorDim = 1>
     : tensor<9x4xf32>, tensor<3x1xi32>, tensor<3x4xf32> -> tensor<9x4xf32>
  return %1 : tensor<9x4xf32>
}

// -----

// A dead value's memory is used again: four products of 64 KiB each need two places.
// CHECK-LABEL: @dead_memory_is_used_again
// CHECK-SAME: dist.arena_bytes = 196608 : i64, dist.persistent_bytes = 65536 : i64
func.func @dead_memory_is_used_again(%x: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %0 = net.dot %x, %x batch = [] x [] contract = [1] x [0] : tensor<128x128xf32>, tensor<128x128xf32> -> tensor<128x128xf32>
  %1 = net.dot %0, %x batch = [] x [] contract = [1] x [0] : tensor<128x128xf32>, tensor<128x128xf32> -> tensor<128x128xf32>
  %2 = net.dot %1, %x batch = [] x [] contract = [1] x [0] : tensor<128x128xf32>, tensor<128x128xf32> -> tensor<128x128xf32>
  %3 = net.dot %2, %x batch = [] x [] contract = [1] x [0] : tensor<128x128xf32>, tensor<128x128xf32> -> tensor<128x128xf32>
  return %3 : tensor<128x128xf32>
}

// -----

// Tests that the programs of the first and of the last step have what persists in the same places: variables, inputs, results, which
// lie beside what a step makes, and constants, of which only one program has the second. Both have the arena of the larger. A value that is returned twice is made in one of its places.

dist.mesh @mesh <[steps "accumulation" = 2]>
net.variable accumulator @a : tensor<2xf32>

// CHECK-LABEL: @variants_accumulation0
// CHECK-SAME: dist.offset = 64 : i64
// CHECK-SAME: dist.arena_bytes = [[ARENA:[0-9]+]] : i64
// CHECK-SAME: dist.outputs = array<i64: 128, 192>, dist.persistent_bytes = 384 : i64, dist.variables = {a = 0 : i64}
// CHECK: net.constant {dist.offsets = array<i64: 256>} dense<[1.000000e+00, 5.000000e+00]>
// CHECK: dist.offsets = array<i64: 128, 0>
// CHECK: return %[[MADE:.*]]#0, %[[MADE]]#0
// CHECK-LABEL: @variants_accumulation1
// CHECK-SAME: dist.offset = 64 : i64
// CHECK-SAME: dist.arena_bytes = [[ARENA]] : i64
// CHECK-SAME: dist.outputs = array<i64: 128, 192>, dist.persistent_bytes = 384 : i64, dist.variables = {a = 0 : i64}
// CHECK-DAG: net.read @a {dist.offsets = array<i64: 0>}
// CHECK-DAG: net.constant {dist.offsets = array<i64: 320>} dense<[2.000000e+00, 5.000000e+00]>
// CHECK-DAG: net.constant {dist.offsets = array<i64: 256>} dense<[1.000000e+00, 5.000000e+00]>
// CHECK: dist.offsets = array<i64: 128>
// CHECK: dist.offsets = array<i64: 192>
func.func @variants_accumulation0(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32> {dist.during = {accumulation = array<i64: 1>}}) attributes {dist.on = {accumulation = array<i64: 0>}} {
  %one = net.constant dense<[1.0, 5.0]> : tensor<2xf32>
  %0 = net.add %x, %one : tensor<2xf32>
  %1 = net.negate %x : tensor<2xf32>
  net.assign @a, %1 : tensor<2xf32>
  return %0, %0 : tensor<2xf32>, tensor<2xf32>
}
func.func @variants_accumulation1(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32> {dist.during = {accumulation = array<i64: 1>}}) attributes {dist.on = {accumulation = array<i64: 1>}} {
  %a = net.read @a : tensor<2xf32>
  %two = net.constant dense<[2.0, 5.0]> : tensor<2xf32>
  %one = net.constant dense<[1.0, 5.0]> : tensor<2xf32>
  %0 = net.add %x, %one : tensor<2xf32>
  %1 = net.add %a, %two : tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}
