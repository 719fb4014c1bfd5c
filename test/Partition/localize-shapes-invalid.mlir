// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file --dist-partition-localize-shapes -verify-diagnostics

// expected-error @below {{has no mesh to be partitioned over}}
module {
}

// -----

#s = #dist.mapping<dims = [["tp"]]>
#r = #dist.mapping<dims = [[]]>
dist.mesh @mesh <["tp" = 2]>
func.func @implied_movement(%arg0: tensor<8xf32> {dist.mapping = #s}) {
  // expected-error @below {{reads operand #0 in #dist.mapping<dims = [[]]> but it is in #dist.mapping<dims = [["tp"]]>}}
  %0 = net.negate %arg0 {dist.operands = [#r], dist.results = [#r]} : tensor<8xf32>
  return
}

// -----

#s = #dist.mapping<dims = [["tp"]]>
#r = #dist.mapping<dims = [[]]>
dist.mesh @mesh <["tp" = 2]>
func.func @result_unlike_operand(%arg0: tensor<8xf32> {dist.mapping = #s}) {
  // expected-error @below {{cannot run in parts over axis "tp": result #0 is not split in dimension 0 into parts of 4 of 8 indices as the factor of size 8 is}}
  %0 = net.negate %arg0 {dist.results = [#r]} : tensor<8xf32>
  return
}

// -----

#p = #dist.mapping<dims = [[]], partial = sum ["tp"]>
dist.mesh @mesh <["tp" = 2]>
func.func @square_of_a_sum(%arg0: tensor<8xf32> {dist.mapping = #p}) {
  // expected-error @below {{cannot run in parts over axis "tp": operand #0 is partial of kind sum, which does not pass through this operation}}
  %0 = net.multiply %arg0, %arg0 {dist.results = [#p]} : tensor<8xf32>
  return
}

// -----

#p = #dist.mapping<dims = [[]], partial = sum ["tp"]>
#r = #dist.mapping<dims = [[]]>
dist.mesh @mesh <["tp" = 2]>
func.func @partial_from_nothing(%arg0: tensor<8xf32> {dist.mapping = #r}) {
  // expected-error @below {{cannot run in parts over axis "tp": result #0 is partial but all operands are whole}}
  %0 = net.negate %arg0 {dist.results = [#p]} : tensor<8xf32>
  return
}

// -----

#k = #dist.mapping<dims = [[], ["tp"]]>
#r = #dist.mapping<dims = [[]]>
dist.mesh @mesh <["tp" = 2]>
func.func @forgotten_reduction(%arg0: tensor<4x8xf32> {dist.mapping = #k}) {
  // expected-error @below {{cannot run in parts over axis "tp": result #0 has to be partial of kind sum}}
  %0 = net.reduce sum %arg0 dims = [1] {dist.results = [#r]} : tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

#k = #dist.mapping<dims = [[], ["tp"]]>
#r = #dist.mapping<dims = [[]]>
dist.mesh @mesh <["tp" = 2]>
func.func @stays_whole(%arg0: tensor<4x8xf32> {dist.mapping = #k}) {
  // expected-error @below {{cannot run in parts over axis "tp": the factor of size 8 has to stay whole}}
  %0, %1 = net.arg_reduce max %arg0 dim = 1 {dist.results = [#r, #r]} : tensor<4x8xf32> -> tensor<4xf32>, tensor<4xi32>
  return
}

// -----

#s = #dist.mapping<dims = [["tp"]]>
dist.mesh @mesh <["tp" = 2]>
func.func @start_inside_a_part(%arg0: tensor<8xf32> {dist.mapping = #s}) {
  // expected-error @below {{cannot run in parts over axis "tp": result #0 cannot be split where the factor of size 8 is}}
  %0 = net.slice %arg0 starts = [1] limits = [7] steps = [1] {dist.results = [#s]} : tensor<8xf32> -> tensor<6xf32>
  return
}

// -----

#r = #dist.mapping<dims = [[]]>
#h = #dist.mapping<dims = [[]], on {"zero" = [1]}>
dist.mesh @mesh <["zero" = 2]>
func.func @reads_elsewhere(%x: tensor<8xf32> {dist.mapping = #h}) {
  // expected-error @below {{cannot run in parts over axis "zero": coordinate 1 holds some of its values but not, alone, result #0}}
  %0 = net.tanh %x {dist.operands = [#h], dist.results = [#r]} : tensor<8xf32>
  return
}

// -----

#h = #dist.mapping<dims = [[]], on {"tp" = [0]}>
#r = #dist.mapping<dims = [[]]>
#i = #dist.mapping<dims = [[], []]>
dist.mesh @mesh <["tp" = 2]>
func.func @results_on_other_ranks(%arg0: tensor<4x8xf32> {dist.mapping = #i}) {
  // expected-error @below {{leaves one result in #dist.mapping<dims = [[]], on {"tp" = [0]}> and another in #dist.mapping<dims = [[]]>, on other ranks}}
  %0, %1 = net.arg_reduce max %arg0 dim = 1 {dist.results = [#h, #r]} : tensor<4x8xf32> -> tensor<4xf32>, tensor<4xi32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
// expected-error @below {{has its local shape already; a program is partitioned once}}
net.variable parameter @w : tensor<4xf32> {dist.mapping = #dist.mapping<dims = [["tp"]]>, net.global_type = tensor<8xf32>}
func.func @local_variable() {
  %0 = net.read @w : tensor<4xf32>
  return
}

// -----

#s = #dist.mapping<dims = [["b", "a"]]>
#p = #dist.mapping<dims = [], partial = tree ["a", "b"]>
dist.mesh @mesh <["a" = 2, "b" = 2]>
func.func @parts_in_another_order(%arg0: tensor<8xf32> {dist.mapping = #s}) {
  // expected-error @below {{sums parts that are not neighbours, or over axes in another order than the mesh has them; reproducible needs a dimension that is split from its major end}}
  %0 = net.reduce sum %arg0 dims = [0] {dist.operands = [#s], dist.results = [#p], net.sum_parts = 8 : i64} : tensor<8xf32> -> tensor<f32>
  return
}

// -----

#s = #dist.mapping<dims = [["tp"]]>
#p = #dist.mapping<dims = [], partial = tree ["tp"]>
dist.mesh @mesh <["tp" = 4]>
func.func @parts_that_are_cut(%arg0: tensor<8xf32> {dist.mapping = #s}) {
  // expected-error @below {{cannot run in parts over axis "tp": the factor of size 8 is summed in 2 parts of 4 but split into pieces of 2}}
  %0 = net.reduce sum %arg0 dims = [0] {dist.operands = [#s], dist.results = [#p], net.sum_parts = 2 : i64} : tensor<8xf32> -> tensor<f32>
  return
}

// -----

#s = #dist.mapping<dims = [["a", "b"]]>
#p = #dist.mapping<dims = [], partial = tree ["a", "b"]>
#q = #dist.mapping<dims = [], partial = tree ["b"]>
dist.mesh @mesh <["a" = 2, "b" = 2]>
func.func @root_before_leaves(%arg0: tensor<8xf32> {dist.mapping = #s}) {
  %0 = net.reduce sum %arg0 dims = [0] {dist.operands = [#s], dist.results = [#p], net.sum_parts = 8 : i64} : tensor<8xf32> -> tensor<f32>
  // expected-error @below {{reduces a sum by a tree over some of its axes before others that are nearer to its leaves; reproducible needs one axis there, or the last ones first}}
  %1 = dist.reshard %0 from <dims = [], partial = tree ["a", "b"]> to <dims = [], partial = tree ["b"]> : tensor<f32>
  return
}
