// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file --dist-partition-verify -verify-diagnostics

// Tests that the gate finds slices that read what is known after the last one, and values of one slice that leave the step.

dist.mesh @mesh <[slices "micro" = 4]>
net.variable accumulator @"accumulator/g" : tensor<2xf32> {net.global_type = tensor<2xf32>, dist.mapping = #dist.mapping<dims = [[]]>}
func.func @late_value_in_a_slice(%x: tensor<8xf32> {net.global_type = tensor<8xf32>, dist.mapping = #dist.mapping<dims = [[]]>}) {
  %slice = dist.coordinate "micro" : tensor<i32>
  %part = dist.shard %x at (%slice) axes ["micro"] from <dims = [[]]> to <dims = [["micro"]]> shape [8] : tensor<8xf32> -> tensor<2xf32>
  %before = net.read @"accumulator/g" : tensor<2xf32>
  // expected-note @below {{the value is made here}}
  %sum = dist.accumulate %before, %part over "micro" : tensor<2xf32>
  net.assign @"accumulator/g", %sum {dist.during = {micro = array<i64: 0, 1, 2>}} : tensor<2xf32>
  // expected-error @below {{is computed for every slice of axis "micro", but reads a value that is known only after the last one}}
  %late = net.add %part, %sum : tensor<2xf32>
  return
}

// -----

dist.mesh @mesh <[slices "micro" = 4]>
func.func @slice_is_returned(%x: tensor<8xf32> {net.global_type = tensor<8xf32>, dist.mapping = #dist.mapping<dims = [[]]>}) -> (tensor<2xf32> {net.global_type = tensor<2xf32>, dist.mapping = #dist.mapping<dims = [[]]>, dist.during = {micro = array<i64: 3>}}) {
  %slice = dist.coordinate "micro" : tensor<i32>
  %part = dist.shard %x at (%slice) axes ["micro"] from <dims = [[]]> to <dims = [["micro"]]> shape [8] : tensor<8xf32> -> tensor<2xf32>
  // expected-note @below {{the value is made here}}
  %y = net.tanh %part : tensor<2xf32>
  // expected-error @below {{returns a value that differs between the slices of axis "micro"}}
  return %y : tensor<2xf32>
}

// -----

dist.mesh @mesh <[slices "micro" = 4]>
net.variable counter @step : tensor<i32> {net.global_type = tensor<i32>, dist.mapping = #dist.mapping<dims = []>}
func.func @assigned_at_every_slice() {
  %step = net.read @step : tensor<i32>
  // expected-error @below {{takes place at other times than the last of axis "micro"}}
  net.assign @step, %step : tensor<i32>
  return
}

// -----

dist.mesh @mesh <[slices "micro" = 4]>
net.variable counter @step : tensor<i32> {net.global_type = tensor<i32>, dist.mapping = #dist.mapping<dims = []>}
func.func @slice_is_assigned() {
  // expected-note @below {{the value is made here}}
  %slice = dist.coordinate "micro" : tensor<i32>
  // expected-error @below {{assigns a value that differs between the slices of axis "micro"}}
  net.assign @step, %slice {dist.during = {micro = array<i64: 3>}} : tensor<i32>
  return
}

// -----

dist.mesh @mesh <[slices "micro" = 4]>
// expected-error @below {{returns result 0 at other times than the last of axis "micro"}}
func.func @returned_at_every_slice(%x: tensor<8xf32> {net.global_type = tensor<8xf32>, dist.mapping = #dist.mapping<dims = [[]]>}) -> (tensor<8xf32> {net.global_type = tensor<8xf32>, dist.mapping = #dist.mapping<dims = [[]]>}) {
  return %x : tensor<8xf32>
}

// -----

// Tests that a sum by a tree is complete before it is read, and that its levels add neighbours.

dist.mesh @mesh <[slices "micro" = 4]>
net.variable accumulator @"accumulator/g" : tensor<2xf32> {net.global_type = tensor<2xf32>, dist.mapping = #dist.mapping<dims = [[]]>}
net.variable accumulator @"accumulator/h" : tensor<2xf32> {net.global_type = tensor<2xf32>, dist.mapping = #dist.mapping<dims = [[]]>}
func.func @level_is_left_out(%x: tensor<8xf32> {net.global_type = tensor<8xf32>, dist.mapping = #dist.mapping<dims = [[]]>}) -> (tensor<2xf32> {net.global_type = tensor<2xf32>, dist.mapping = #dist.mapping<dims = [[]]>, dist.during = {micro = array<i64: 3>}}) {
  %slice = dist.coordinate "micro" : tensor<i32>
  %part = dist.shard %x at (%slice) axes ["micro"] from <dims = [[]]> to <dims = [["micro"]]> shape [8] : tensor<8xf32> -> tensor<2xf32>
  %before = net.read @"accumulator/g" : tensor<2xf32>
  // expected-error @below {{has slices 2 to 3 of axis "micro" after the last of 4, and is read}}
  %pair = dist.accumulate %before, %part over "micro" sums [1, 3] : tensor<2xf32>
  net.assign @"accumulator/g", %pair {dist.during = {micro = array<i64: 0, 2>}} : tensor<2xf32>
  return %pair : tensor<2xf32>
}

// -----

dist.mesh @mesh <[slices "micro" = 4]>
net.variable accumulator @"accumulator/g" : tensor<2xf32> {net.global_type = tensor<2xf32>, dist.mapping = #dist.mapping<dims = [[]]>}
net.variable accumulator @"accumulator/h" : tensor<2xf32> {net.global_type = tensor<2xf32>, dist.mapping = #dist.mapping<dims = [[]]>}
func.func @pair_is_kept_too_late(%x: tensor<8xf32> {net.global_type = tensor<8xf32>, dist.mapping = #dist.mapping<dims = [[]]>}) -> (tensor<2xf32> {net.global_type = tensor<2xf32>, dist.mapping = #dist.mapping<dims = [[]]>, dist.during = {micro = array<i64: 3>}}) {
  %slice = dist.coordinate "micro" : tensor<i32>
  %part = dist.shard %x at (%slice) axes ["micro"] from <dims = [[]]> to <dims = [["micro"]]> shape [8] : tensor<8xf32> -> tensor<2xf32>
  %first = net.read @"accumulator/g" : tensor<2xf32>
  %pair = dist.accumulate %first, %part over "micro" sums [1, 3] : tensor<2xf32>
  net.assign @"accumulator/g", %pair {dist.during = {micro = array<i64: 0, 2>}} : tensor<2xf32>
  %second = net.read @"accumulator/h" : tensor<2xf32>
  // expected-error @below {{adds slices 2 to 3 of axis "micro" to a value that has not those next to them}}
  %all = dist.accumulate %second, %pair over "micro" sums [3] : tensor<2xf32>
  net.assign @"accumulator/h", %all {dist.during = {micro = array<i64: 2>}} : tensor<2xf32>
  return %all : tensor<2xf32>
}
