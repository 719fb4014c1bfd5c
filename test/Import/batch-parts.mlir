// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-import-batch-parts -split-input-file | FileCheck %s --implicit-check-not=dist.

// Tests that a computation per rank becomes a serial one with a dimension for each axis.

// The example of the pass.
// CHECK-LABEL: func.func @example
// CHECK-NEXT: %[[PARTS:.*]] = net.reshape %arg0 : tensor<8xf32> -> tensor<2x4xf32>
// CHECK-NEXT: %[[TANH:.*]] = net.tanh %[[PARTS]] : tensor<2x4xf32>
// CHECK-NEXT: %[[SUM:.*]] = net.reduce sum %[[TANH]] dims = [0] : tensor<2x4xf32> -> tensor<4xf32>
// CHECK-NEXT: return %[[SUM]]
dist.mesh @mesh <["dp" = 2]>
func.func @example(%arg0: tensor<8xf32>) -> tensor<4xf32> {
  %0 = dist.to_local %arg0 in <dims = [["dp"]]> : tensor<8xf32> -> tensor<4xf32>
  %1 = net.tanh %0 : tensor<4xf32>
  %2 = dist.c_allreduce %1 axes ["dp"] from <dims = [[]], partial = sum ["dp"]> to <dims = [[]]> shape [4] : tensor<4xf32> -> tensor<4xf32>
  %3 = dist.to_global %2 over ["dp"] in <dims = [[]]> : tensor<4xf32> -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

// Tests that dimensions are in the order of the mesh, whichever order a mapping has, and are constrained to their axes.
// CHECK-LABEL: func.func @order
// CHECK-NEXT: %[[DIGITS:.*]] = net.reshape %arg0 : tensor<24x4xf32> -> tensor<3x2x4x4xf32>
// CHECK-NEXT: %[[PARTS:.*]] = net.transpose %[[DIGITS]] dims = [1, 0, 2, 3] : tensor<3x2x4x4xf32> -> tensor<2x3x4x4xf32>
// CHECK-NEXT: %[[KEPT:.*]] = given.constrain %[[PARTS]] to <[{"dp"}, {"tp"}, {?}, {?}]> : tensor<2x3x4x4xf32>
// CHECK-NEXT: %[[LEFT:.*]] = given.constrain %[[KEPT]] to <[{"dp"}, {"tp"}, {?}, {?}]>
// CHECK-NEXT: %[[BACK:.*]] = net.transpose %[[LEFT]] dims = [1, 0, 2, 3]
// CHECK-NEXT: %[[WHOLE:.*]] = net.reshape %[[BACK]] : tensor<3x2x4x4xf32> -> tensor<24x4xf32>
// CHECK-NEXT: return %[[WHOLE]]
module attributes {given.mesh = #given.mesh<["dp" = 2, "tp" = 3]>} {
  dist.mesh @mesh <["dp" = 2, "tp" = 3]>
  func.func @order(%arg0: tensor<24x4xf32>) -> tensor<24x4xf32> {
    %0 = dist.to_local %arg0 in <dims = [["tp", "dp"], []]> : tensor<24x4xf32> -> tensor<4x4xf32>
    %1 = dist.to_global %0 over ["dp", "tp"] in <dims = [["tp", "dp"], []]> : tensor<4x4xf32> -> tensor<24x4xf32>
    return %1 : tensor<24x4xf32>
  }
}

// -----

// Tests that what a collective leaves the same along its axes is constrained to be whole there.
// CHECK-LABEL: func.func @whole
// CHECK: %[[SUM:.*]] = net.reduce sum
// CHECK-NEXT: given.constrain %[[SUM]] to <[{"tp"}, {?}], replicated = ["dp"]> : tensor<3x4xf32>
module attributes {given.mesh = #given.mesh<["dp" = 2, "tp" = 3]>} {
  dist.mesh @mesh <["dp" = 2, "tp" = 3]>
  func.func @whole(%arg0: tensor<24xf32>) -> tensor<12xf32> {
    %0 = dist.to_local %arg0 in <dims = [["dp", "tp"]]> : tensor<24xf32> -> tensor<4xf32>
    %1 = dist.c_allreduce %0 axes ["dp"] from <dims = [[]], partial = sum ["dp"]> to <dims = [[]]> shape [4] : tensor<4xf32> -> tensor<4xf32>
    %2 = dist.to_global %1 over ["dp", "tp"] in <dims = [["tp"]]> : tensor<4xf32> -> tensor<12xf32>
    return %2 : tensor<12xf32>
  }
}

// -----

// Tests that values without an axis are repeated where others have it, and that a weight for all stays one.
// CHECK-LABEL: func.func @mixed
// CHECK: %[[ROWS:.*]] = net.reshape %arg0 : tensor<8x4xf32> -> tensor<2x4x4xf32>
// CHECK: %[[COLUMNS:.*]] = net.transpose %{{.*}} dims = [1, 0, 2] : tensor<4x3x4xf32> -> tensor<3x4x4xf32>
// CHECK: %[[DOT:.*]] = net.dot %[[ROWS]], %arg1 batch = [] x [] contract = [2] x [0] : tensor<2x4x4xf32>, tensor<4x4xf32> -> tensor<2x4x4xf32>
// CHECK: %[[LEFT:.*]] = net.broadcast %[[DOT]] dims = [0, 2, 3] : tensor<2x4x4xf32> -> tensor<2x3x4x4xf32>
// CHECK: %[[RIGHT:.*]] = net.broadcast %[[COLUMNS]] dims = [1, 2, 3] : tensor<3x4x4xf32> -> tensor<2x3x4x4xf32>
// CHECK: net.add %[[LEFT]], %[[RIGHT]] : tensor<2x3x4x4xf32>
dist.mesh @mesh <["dp" = 2, "tp" = 3]>
func.func @mixed(%arg0: tensor<8x4xf32>, %arg1: tensor<4x4xf32>, %arg2: tensor<4x12xf32>) -> tensor<8x12xf32> {
  %0 = dist.to_local %arg0 in <dims = [["dp"], []]> : tensor<8x4xf32> -> tensor<4x4xf32>
  %1 = dist.to_local %arg2 in <dims = [[], ["tp"]]> : tensor<4x12xf32> -> tensor<4x4xf32>
  %2 = net.dot %0, %arg1 batch = [] x [] contract = [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %3 = net.add %2, %1 : tensor<4x4xf32>
  %4 = dist.to_global %3 over ["dp", "tp"] in <dims = [["dp"], ["tp"]]> : tensor<4x4xf32> -> tensor<8x12xf32>
  return %4 : tensor<8x12xf32>
}

// -----

// Tests collectives that move parts: their dimension goes into the one that is joined, and comes out of the one that is
// divided.
// CHECK-LABEL: func.func @collectives
// CHECK: %[[PARTS:.*]] = net.reshape %arg0 : tensor<8x4xf32> -> tensor<2x4x4xf32>
// An all-to-all.
// CHECK: %[[WHOLE:.*]] = net.reshape %[[PARTS]] : tensor<2x4x4xf32> -> tensor<8x4xf32>
// CHECK: %[[COLUMNS:.*]] = net.reshape %[[WHOLE]] : tensor<8x4xf32> -> tensor<8x2x2xf32>
// CHECK: net.transpose %[[COLUMNS]] dims = [1, 0, 2] : tensor<8x2x2xf32> -> tensor<2x8x2xf32>
// An all-gather.
// CHECK: net.reshape %[[PARTS]] : tensor<2x4x4xf32> -> tensor<8x4xf32>
// A reduce-scatter.
// CHECK: %[[SUM:.*]] = net.reduce sum %[[PARTS]] dims = [0] : tensor<2x4x4xf32> -> tensor<4x4xf32>
// CHECK: net.reshape %[[SUM]] : tensor<4x4xf32> -> tensor<2x2x4xf32>
dist.mesh @mesh <["dp" = 2]>
func.func @collectives(%arg0: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<4x4xf32>) {
  %0 = dist.to_local %arg0 in <dims = [["dp"], []]> : tensor<8x4xf32> -> tensor<4x4xf32>
  %1 = dist.c_alltoall %0 axes ["dp"] from <dims = [["dp"], []]> to <dims = [[], ["dp"]]> shape [8, 4] : tensor<4x4xf32> -> tensor<8x2xf32>
  %2 = dist.c_allgather %0 axes ["dp"] from <dims = [["dp"], []]> to <dims = [[], []]> shape [8, 4] : tensor<4x4xf32> -> tensor<8x4xf32>
  %3 = dist.c_reducescatter %0 axes ["dp"] from <dims = [[], []], partial = sum ["dp"]> to <dims = [["dp"], []]> shape [4, 4] : tensor<4x4xf32> -> tensor<2x4xf32>
  %4 = dist.to_global %1 over ["dp"] in <dims = [[], ["dp"]]> : tensor<8x2xf32> -> tensor<8x4xf32>
  %5 = dist.to_global %2 over ["dp"] in <dims = [[], []]> : tensor<8x4xf32> -> tensor<8x4xf32>
  %6 = dist.to_global %3 over ["dp"] in <dims = [["dp"], []]> : tensor<2x4xf32> -> tensor<4x4xf32>
  return %4, %5, %6 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<4x4xf32>
}

// -----

// Tests a sum over an axis along which the value is the same, and a value of which the graph promises that it is.
// CHECK-LABEL: func.func @same
// CHECK: %[[COPIES:.*]] = net.broadcast %arg0 dims = [1] : tensor<4xf32> -> tensor<2x4xf32>
// CHECK: %[[SUM:.*]] = net.reduce sum %[[COPIES]] dims = [0] : tensor<2x4xf32> -> tensor<4xf32>
// CHECK: %[[NUMBERS:.*]] = net.iota dim = 0 : tensor<2xi32>
// CHECK: %[[FIRST:.*]] = net.slice %[[NUMBERS]] starts = [0] limits = [1] steps = [1] : tensor<2xi32> -> tensor<1xi32>
// CHECK: %[[NUMBER:.*]] = net.reshape %[[FIRST]] : tensor<1xi32> -> tensor<i32>
// CHECK: return %[[SUM]], %[[NUMBER]]
dist.mesh @mesh <["dp" = 2]>
func.func @same(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<i32>) {
  %0 = dist.to_local %arg0 in <dims = [[]]> : tensor<4xf32> -> tensor<4xf32>
  %1 = dist.c_allreduce %0 axes ["dp"] from <dims = [[]], partial = sum ["dp"]> to <dims = [[]]> shape [4] : tensor<4xf32> -> tensor<4xf32>
  %2 = dist.coordinate "dp" : tensor<i32>
  %3 = dist.to_global %1 over ["dp"] in <dims = [[]]> : tensor<4xf32> -> tensor<4xf32>
  %4 = dist.to_global %2 over ["dp"] in <dims = []> : tensor<i32> -> tensor<i32>
  return %3, %4 : tensor<4xf32>, tensor<i32>
}

// -----

// Tests a computation within another one, over other axes: parts of the outer one stay parts.
// CHECK-LABEL: func.func @nested
// CHECK: %[[OUTER:.*]] = net.reshape %arg0 : tensor<8x4xf32> -> tensor<2x4x4xf32>
// CHECK: %[[DIGITS:.*]] = net.reshape %[[OUTER]] : tensor<2x4x4xf32> -> tensor<2x2x2x4xf32>
// CHECK: %[[SINE:.*]] = net.sine %[[DIGITS]] : tensor<2x2x2x4xf32>
// CHECK: %[[JOINED:.*]] = net.reshape %[[SINE]] : tensor<2x2x2x4xf32> -> tensor<2x4x4xf32>
// CHECK: %[[SUM:.*]] = net.reduce sum %[[JOINED]] dims = [0] : tensor<2x4x4xf32> -> tensor<4x4xf32>
// CHECK: return %[[SUM]]
dist.mesh @mesh <["dp" = 2, "tp" = 2]>
func.func @nested(%arg0: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %0 = dist.to_local %arg0 in <dims = [["dp"], []]> : tensor<8x4xf32> -> tensor<4x4xf32>
  %1 = dist.to_local %0 in <dims = [["tp"], []]> : tensor<4x4xf32> -> tensor<2x4xf32>
  %2 = net.sine %1 : tensor<2x4xf32>
  %3 = dist.to_global %2 over ["tp"] in <dims = [["tp"], []]> : tensor<2x4xf32> -> tensor<4x4xf32>
  %4 = dist.c_allreduce %3 axes ["dp"] from <dims = [[], []], partial = sum ["dp"]> to <dims = [[], []]> shape [4, 4] : tensor<4x4xf32> -> tensor<4x4xf32>
  %5 = dist.to_global %4 over ["dp"] in <dims = [[], []]> : tensor<4x4xf32> -> tensor<4x4xf32>
  return %5 : tensor<4x4xf32>
}

// -----

// Tests a loop: what it carries differs as soon as what comes around does, and stacks keep the iterations first inside.
// CHECK-LABEL: func.func @loop
// CHECK: %[[PARTS:.*]] = net.reshape %arg0 : tensor<8xf32> -> tensor<2x4xf32>
// CHECK: %[[INIT:.*]] = net.broadcast %arg1 dims = [1] : tensor<4xf32> -> tensor<2x4xf32>
// CHECK: %[[INDEX:.*]] = net.loop count = 3
// CHECK: %[[CARRY:.*]] = net.carry %[[INIT]] in %[[INDEX]] : tensor<2x4xf32>
// CHECK: %[[PRODUCT:.*]] = net.multiply %[[CARRY]], %[[PARTS]] : tensor<2x4xf32>
// CHECK: %[[STACK:.*]] = net.stack %[[PRODUCT]] in %[[INDEX]] : tensor<2x4xf32> -> tensor<3x2x4xf32>
// CHECK: %[[NEXT:.*]] = net.next %[[PRODUCT]] for %[[CARRY]] : tensor<2x4xf32>
// CHECK: net.end_loop %[[INDEX]]
// CHECK: net.transpose %[[STACK]] dims = [1, 0, 2] : tensor<3x2x4xf32> -> tensor<2x3x4xf32>
dist.mesh @mesh <["dp" = 2]>
func.func @loop(%arg0: tensor<8xf32>, %arg1: tensor<4xf32>) -> (tensor<8xf32>, tensor<3x8xf32>) {
  %0 = dist.to_local %arg0 in <dims = [["dp"]]> : tensor<8xf32> -> tensor<4xf32>
  %i = net.loop count = 3
  %1 = net.carry %arg1 in %i : tensor<4xf32>
  %2 = net.multiply %1, %0 : tensor<4xf32>
  %3 = net.stack %2 in %i : tensor<4xf32> -> tensor<3x4xf32>
  %4 = net.next %2 for %1 : tensor<4xf32>
  net.end_loop %i
  %5 = dist.to_global %4 over ["dp"] in <dims = [["dp"]]> : tensor<4xf32> -> tensor<8xf32>
  %6 = dist.to_global %3 over ["dp"] in <dims = [[], ["dp"]]> : tensor<3x4xf32> -> tensor<3x8xf32>
  return %5, %6 : tensor<8xf32>, tensor<3x8xf32>
}
