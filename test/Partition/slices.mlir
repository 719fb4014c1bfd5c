// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file --dist-complete-propagate --dist-partition-materialize-reshards --dist-partition-localize-shapes --dist-partition-verify | FileCheck %s
// RUN: dist-opt %s -split-input-file --dist-complete-propagate --dist-partition-materialize-reshards --dist-partition-localize-shapes=scatter-slices --dist-partition-verify | FileCheck %s --check-prefix=SCATTER

// Tests that sums over slices are accumulated, and that ranks reduce after the last slice if they can.

dist.mesh @mesh <["dp" = 2, slices "micro" = 2]> {dist.data_axes = ["dp"]}
net.variable parameter @w : tensor<4x4xf32>
// CHECK: net.variable accumulator @"accumulator/w" : tensor<4x4xf32> like @w
// CHECK-SAME{LITERAL}: dist.mapping = #dist.mapping<dims = [[], []], partial = sum ["dp"]>
// SCATTER: net.variable accumulator @"accumulator/w" : tensor<2x4xf32> like @w
// SCATTER-SAME{LITERAL}: dist.mapping = #dist.mapping<dims = [["dp"], []]>

// CHECK-LABEL: @gradient
// CHECK-SAME: (%[[X:.*]]: tensor<4x4xf32> {{.*}}) -> (tensor<2x4xf32> {dist.during = {micro = array<i64: 1>}
// SCATTER-LABEL: @gradient
func.func @gradient(%x: tensor<8x4xf32> {dist.mapping = #dist.mapping<dims = [["dp", "micro"], []]>}) -> tensor<4x4xf32> {
  // CHECK: %[[SLICE:.*]] = dist.coordinate "micro"
  // CHECK: %[[W:.*]] = net.read @w
  %w = net.read @w : tensor<4x4xf32>
  // CHECK: %[[PART:.*]] = dist.shard %[[X]] at(%[[SLICE]]) axes ["micro"]
  // CHECK: %[[Y:.*]] = net.dot %[[PART]], %[[W]]
  %y = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  // CHECK: %[[G:.*]] = net.dot %[[PART]], %[[Y]]
  // CHECK: %[[BEFORE:.*]] = net.read @"accumulator/w" : tensor<4x4xf32>
  // CHECK: %[[SUM:.*]] = dist.accumulate %[[BEFORE]], %[[G]] over "micro" {net.name = "grad/w"}
  // CHECK: net.assign @"accumulator/w", %[[SUM]] {dist.during = {micro = array<i64: 0>}
  // CHECK: dist.c_reducescatter %[[SUM]] axes ["dp"]
  // SCATTER: %[[PART:.*]] = dist.c_reducescatter %{{.*}} axes ["dp"]
  // SCATTER: dist.accumulate %{{.*}}, %[[PART]] over "micro" : tensor<2x4xf32>
  %g = net.dot %x, %y batch = [] x [] contract = [0] x [0] {net.name = "grad/w", dist.results = [#dist.mapping<dims = [["dp"], []]>]} : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  %next = net.subtract %w, %g : tensor<4x4xf32>
  // CHECK: net.assign @w, %{{.*}} {dist.during = {micro = array<i64: 1>}
  net.assign @w, %next : tensor<4x4xf32>
  return %g : tensor<4x4xf32>
}

// -----

// A result per sample is written to its place, slice by slice.
dist.mesh @mesh <[slices "micro" = 4]>
// CHECK: net.variable accumulator @"accumulator/y" : tensor<3x8xf32>
// CHECK-LABEL: @returned_whole
func.func @returned_whole(%x: tensor<3x8xf32> {dist.mapping = #dist.mapping<dims = [[], ["micro"]]>}) -> tensor<3x8xf32> {
  // CHECK: %[[SLICE:.*]] = dist.coordinate "micro"
  // CHECK: %[[Y:.*]] = net.tanh %{{.*}} : tensor<3x2xf32>
  %y = net.tanh %x {net.name = "y"} : tensor<3x8xf32>
  // CHECK: %[[PART:.*]] = net.reshape %[[Y]] : tensor<3x2xf32> -> tensor<3x1x2xf32>
  // CHECK: %[[PLACES:.*]] = net.iota dim = 2 : tensor<3x1x4x2xi32>
  // CHECK: %[[THIS:.*]] = net.broadcast %[[SLICE]]
  // CHECK: %[[HERE:.*]] = net.compare eq, %[[PLACES]], %[[THIS]]
  // CHECK: %[[ALL:.*]] = net.broadcast %[[PART]] dims = [0, 1, 3]
  // CHECK: %[[ZERO:.*]] = net.constant dense<-0.000000e+00>
  // CHECK: %[[PLACED:.*]] = net.select %[[HERE]], %[[ALL]], %[[ZERO]]
  // CHECK: %[[ADDEND:.*]] = net.reshape %[[PLACED]]
  // CHECK: %[[BEFORE:.*]] = net.read @"accumulator/y" : tensor<3x8xf32>
  // CHECK: %[[WHOLE:.*]] = dist.accumulate %[[BEFORE]], %[[ADDEND]] over "micro"
  // CHECK: net.assign @"accumulator/y", %[[WHOLE]] {dist.during = {micro = array<i64: 0, 1, 2>}
  // CHECK: return %[[WHOLE]]
  return %y : tensor<3x8xf32>
}

// -----

// Four slices of a sum in a fixed order are added by a tree, which has an accumulator for each level.

dist.mesh @mesh <["dp" = 2, slices "micro" = 4]>
net.variable parameter @w : tensor<3xf32>
// CHECK: net.variable accumulator @"accumulator/loss" : tensor<f32>
// CHECK: net.variable accumulator @"accumulator/loss_0" : tensor<f32>
// CHECK-LABEL: @tree
func.func @tree(%x: tensor<8x3xf32> {dist.mapping = #dist.mapping<dims = [["dp", "micro"], []]>}) -> tensor<f32> attributes {net.sum_parts = 8 : i64} {
  %w = net.read @w : tensor<3xf32>
  %all = net.broadcast %w dims = [1] : tensor<3xf32> -> tensor<8x3xf32>
  %y = net.multiply %x, %all : tensor<8x3xf32>
  // CHECK: %[[SLICE:.*]] = net.reduce sum %{{.*}} dims = [0, 1] {net.sum_parts = 1 : i64} : tensor<1x3xf32> -> tensor<f32>
  // CHECK: %[[FIRST:.*]] = net.read @"accumulator/loss" : tensor<f32>
  // CHECK: %[[PAIR:.*]] = dist.accumulate %[[FIRST]], %[[SLICE]] over "micro" sums [1, 3] : tensor<f32>
  // CHECK: net.assign @"accumulator/loss", %[[PAIR]] {dist.during = {micro = array<i64: 0, 2>}}
  // CHECK: %[[SECOND:.*]] = net.read @"accumulator/loss_0" : tensor<f32>
  // CHECK: %[[SUM:.*]] = dist.accumulate %[[SECOND]], %[[PAIR]] over "micro" sums [3] {net.name = "loss"}
  // CHECK: net.assign @"accumulator/loss_0", %[[SUM]] {dist.during = {micro = array<i64: 1>}}
  // CHECK: dist.c_allreduce %[[SUM]] axes ["dp"] from <dims = [], partial = tree ["dp"]>
  %sum = net.reduce sum %y dims = [0, 1] {net.name = "loss", net.sum_parts = 8 : i64} : tensor<8x3xf32> -> tensor<f32>
  return %sum : tensor<f32>
}
