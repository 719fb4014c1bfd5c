// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file --dist-partition-verify -verify-diagnostics

// Tests what is inferred of values that the gate has no statement about: what operations compute.

dist.mesh @mesh <["dp" = 2, "tp" = 2]>
func.func @sum_is_missing(%h: tensor<4x4xf32> {net.global_type = tensor<8x8xf32>, dist.mapping = #dist.mapping<dims = [["dp"], ["tp"]]>}, %w: tensor<4x4xf32> {net.global_type = tensor<8x4xf32>, dist.mapping = #dist.mapping<dims = [["tp"], []]>}) {
  // expected-note @below {{the value is made here}}
  %product = net.dot %h, %w batch = [] x [] contract = [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  // expected-error @below {{reads a partial value as if it were whole; reduce it first; it is partial over axis "tp"}}
  %0 = net.tanh %product : tensor<4x4xf32>
  return
}

// -----

dist.mesh @mesh <["dp" = 2, "tp" = 2]>
func.func @bias_per_rank(%h: tensor<4x4xf32> {net.global_type = tensor<8x8xf32>, dist.mapping = #dist.mapping<dims = [["dp"], ["tp"]]>}, %w: tensor<4x4xf32> {net.global_type = tensor<8x4xf32>, dist.mapping = #dist.mapping<dims = [["tp"], []]>}, %b: tensor<4xf32> {net.global_type = tensor<4xf32>, dist.mapping = #dist.mapping<dims = [[]]>}) {
  %product = net.dot %h, %w batch = [] x [] contract = [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  // expected-note @below {{the value is made here}}
  %bias = net.broadcast %b dims = [1] : tensor<4xf32> -> tensor<4x4xf32>
  // expected-error @below {{adds a whole value to a partial sum, so that it counts once per rank; it is partial over axis "tp"}}
  %0 = net.add %product, %bias : tensor<4x4xf32>
  return
}

// -----

dist.mesh @mesh <["dp" = 2, "tp" = 2]>
func.func @square_of_a_sum(%h: tensor<4x4xf32> {net.global_type = tensor<8x8xf32>, dist.mapping = #dist.mapping<dims = [["dp"], ["tp"]]>}, %w: tensor<4x4xf32> {net.global_type = tensor<8x4xf32>, dist.mapping = #dist.mapping<dims = [["tp"], []]>}) {
  // expected-note @below {{the value is made here}}
  %product = net.dot %h, %w batch = [] x [] contract = [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  // expected-error @below {{multiplies two partial sums, which is not the product of the sums; it is partial over axis "tp"}}
  %0 = net.multiply %product, %product : tensor<4x4xf32>
  return
}

// -----

dist.mesh @mesh <["dp" = 2, "tp" = 2]>
func.func @product_of_sums(%h: tensor<4x4xf32> {net.global_type = tensor<8x8xf32>, dist.mapping = #dist.mapping<dims = [["dp"], ["tp"]]>}, %w: tensor<4x4xf32> {net.global_type = tensor<8x4xf32>, dist.mapping = #dist.mapping<dims = [["tp"], []]>}) {
  // expected-note @below {{the value is made here}}
  %product = net.dot %h, %w batch = [] x [] contract = [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  // expected-error @below {{multiplies two partial sums, which is not the product of the sums}}
  %0 = net.dot %product, %product batch = [] x [] contract = [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----

dist.mesh @mesh <["dp" = 2, "tp" = 2]>
func.func @maximum_of_a_sum(%h: tensor<4x4xf32> {net.global_type = tensor<8x8xf32>, dist.mapping = #dist.mapping<dims = [["dp"], ["tp"]]>}, %w: tensor<4x4xf32> {net.global_type = tensor<8x4xf32>, dist.mapping = #dist.mapping<dims = [["tp"], []]>}) {
  // expected-note @below {{the value is made here}}
  %product = net.dot %h, %w batch = [] x [] contract = [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  // expected-error @below {{reads a partial value as if it were whole; reduce it first; it is partial over axis "tp"}}
  %0 = net.reduce max %product dims = [1] : tensor<4x4xf32> -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh <["dp" = 2, "tp" = 2]>
func.func @divided_by_a_sum(%h: tensor<4x4xf32> {net.global_type = tensor<8x8xf32>, dist.mapping = #dist.mapping<dims = [["dp"], ["tp"]]>}, %w: tensor<4x4xf32> {net.global_type = tensor<8x4xf32>, dist.mapping = #dist.mapping<dims = [["tp"], []]>}, %x: tensor<4x4xf32> {net.global_type = tensor<8x4xf32>, dist.mapping = #dist.mapping<dims = [["dp"], []]>}) {
  // expected-note @below {{the value is made here}}
  %product = net.dot %h, %w batch = [] x [] contract = [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  // expected-error @below {{reads a partial value as if it were whole; reduce it first; it is partial over axis "tp"}}
  %0 = net.divide %x, %product : tensor<4x4xf32>
  return
}

// -----

dist.mesh @mesh <["dp" = 2, "tp" = 2]>
func.func @chosen_by_a_sum(%h: tensor<4x4xf32> {net.global_type = tensor<8x8xf32>, dist.mapping = #dist.mapping<dims = [["dp"], ["tp"]]>}, %w: tensor<4x4xf32> {net.global_type = tensor<8x4xf32>, dist.mapping = #dist.mapping<dims = [["tp"], []]>}) {
  %zero = net.constant dense<0.0> : tensor<4x4xf32>
  // expected-note @below {{the value is made here}}
  %product = net.dot %h, %w batch = [] x [] contract = [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  // expected-error @below {{reads a partial value as if it were whole; reduce it first; it is partial over axis "tp"}}
  %0 = net.compare gt, %product, %zero : tensor<4x4xf32> -> tensor<4x4xi1>
  return
}

// -----

dist.mesh @mesh <["dp" = 2, "tp" = 2]>
func.func @another_axis(%h: tensor<4x4xf32> {net.global_type = tensor<8x8xf32>, dist.mapping = #dist.mapping<dims = [["dp"], ["tp"]]>}, %w: tensor<4x4xf32> {net.global_type = tensor<8x4xf32>, dist.mapping = #dist.mapping<dims = [["tp"], []]>}) {
  // expected-note @below {{the value is made here}}
  %product = net.dot %h, %w batch = [] x [] contract = [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  // expected-error @below {{takes a value that is stated to be a partial sum over axis "dp", but it is a part}}
  %0 = dist.c_allreduce %product axes ["dp"] from <dims = [[], []], partial = sum ["dp"]> to <dims = [[], []]> shape [4, 4] : tensor<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----

dist.mesh @mesh <["dp" = 2, "tp" = 2]>
func.func @another_reduction(%h: tensor<4x4xf32> {net.global_type = tensor<8x8xf32>, dist.mapping = #dist.mapping<dims = [["dp"], ["tp"]]>}, %w: tensor<4x4xf32> {net.global_type = tensor<8x4xf32>, dist.mapping = #dist.mapping<dims = [["tp"], []]>}) {
  // expected-note @below {{the value is made here}}
  %product = net.dot %h, %w batch = [] x [] contract = [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  // expected-error @below {{takes a value that is stated to be partial by another reduction over axis "tp", but it is a partial sum}}
  %0 = dist.c_allreduce %product axes ["tp"] from <dims = [["dp"], []], partial = max ["tp"]> to <dims = [["dp"], []]> shape [8, 4] : tensor<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----

dist.mesh @mesh <["dp" = 2, "tp" = 2]>
func.func @summed_twice(%x: tensor<4x4xf32> {net.global_type = tensor<8x4xf32>, dist.mapping = #dist.mapping<dims = [["dp"], []]>}) {
  // expected-note @below {{the value is made here}}
  %twice = net.negate %x : tensor<4x4xf32>
  // expected-error @below {{takes a value that is stated to be a partial sum over axis "tp", but it is whole on every rank}}
  %0 = dist.c_allreduce %twice axes ["tp"] from <dims = [["dp"], []], partial = sum ["tp"]> to <dims = [["dp"], []]> shape [8, 4] : tensor<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----

dist.mesh @mesh <["dp" = 2, "tp" = 2]>
func.func @another_dimension(%x: tensor<4x4xf32> {net.global_type = tensor<8x4xf32>, dist.mapping = #dist.mapping<dims = [["dp"], []]>}) {
  // expected-note @below {{the value is made here}}
  %turned = net.transpose %x dims = [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
  // expected-error @below {{takes a value that is stated to be a part over axis "dp", but it is a part of another dimension}}
  %0 = dist.c_allgather %turned axes ["dp"] from <dims = [["dp"], []]> to <dims = [[], []]> shape [8, 4] : tensor<4x4xf32> -> tensor<8x4xf32>
  return
}

// -----

dist.mesh @mesh <["dp" = 2, "tp" = 2]>
net.variable parameter @w : tensor<4x4xf32> {net.global_type = tensor<8x4xf32>, dist.mapping = #dist.mapping<dims = [["tp"], []]>}
func.func @update_by_parts(%h: tensor<4x4xf32> {net.global_type = tensor<8x8xf32>, dist.mapping = #dist.mapping<dims = [["dp"], ["tp"]]>}, %x: tensor<4x4xf32> {net.global_type = tensor<8x4xf32>, dist.mapping = #dist.mapping<dims = [["dp"], []]>}) {
  // expected-note @below {{the value is made here}}
  %gradient = net.dot %h, %x batch = [] x [] contract = [0] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  // expected-error @below {{assigns a value that is stated to be whole on every rank over axis "dp", but it is a partial sum}}
  net.assign @w, %gradient : tensor<4x4xf32>
  return
}

// -----

dist.mesh @mesh <["dp" = 2, "tp" = 2]>
func.func @loss_by_parts(%x: tensor<4x4xf32> {net.global_type = tensor<8x4xf32>, dist.mapping = #dist.mapping<dims = [["dp"], []]>}) -> (tensor<f32> {net.global_type = tensor<f32>, dist.mapping = #dist.mapping<dims = []>}) {
  // expected-note @below {{the value is made here}}
  %0 = net.reduce sum %x dims = [0, 1] : tensor<4x4xf32> -> tensor<f32>
  // expected-error @below {{returns a value that is stated to be whole on every rank over axis "dp", but it is a partial sum}}
  return %0 : tensor<f32>
}

// -----

dist.mesh @mesh <["dp" = 2, "tp" = 2]>
func.func @coordinate_of_another_axis(%x: tensor<4x4xf32> {net.global_type = tensor<8x4xf32>, dist.mapping = #dist.mapping<dims = [["dp"], []]>}) {
  %dp = dist.coordinate "dp" : tensor<i32>
  // expected-error @below {{takes the part at the coordinate of axis "dp", not of "tp"}}
  %0 = dist.shard %x at (%dp) axes ["tp"] from <dims = [["dp"], []]> to <dims = [["dp"], ["tp"]]> shape [8, 4] : tensor<4x4xf32> -> tensor<4x2xf32>
  return
}

// -----

dist.mesh @mesh <["dp" = 2, "tp" = 2]>
func.func @own_maximum_of_parts(%x: tensor<4x2xf32> {net.global_type = tensor<8x4xf32>, dist.mapping = #dist.mapping<dims = [["dp"], ["tp"]]>}) {
  %max = net.reduce max %x dims = [1] : tensor<4x2xf32> -> tensor<4xf32>
  // expected-note @below {{the value is made here}}
  %0 = net.broadcast %max dims = [0] : tensor<4xf32> -> tensor<4x2xf32>
  // expected-error @below {{reads a partial value as if it were whole; reduce it first; it is partial over axis "tp"}}
  %1 = net.subtract %x, %0 : tensor<4x2xf32>
  return
}
