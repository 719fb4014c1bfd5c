// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics --dist-complete-propagate -allow-unregistered-dialect

dist.mesh @mesh <["tp" = 2]>
// expected-error @below {{function @several_blocks has 2 blocks, not one}}
func.func @several_blocks(%x: tensor<4xf32>) -> tensor<4xf32> {
  "foreign.jump"() [^next] : () -> ()
^next:
  return %x : tensor<4xf32>
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @regions(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{has regions, which completion does not follow}}
  "foreign.loop"() ({}) : () -> ()
  return %x : tensor<4xf32>
}

// -----

dist.mesh @mesh <["tp" = 2]>
// expected-error @below {{argument 0: a given placement is replicated, split or with an owner on every axis but this is #dist.mapping<dims = }}
func.func @given_partial(%x: tensor<4xf32> {dist.mapping = #dist.mapping<dims = [[]], partial = sum ["tp"]>}) {
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
// expected-error @below {{argument 1: the dims mapping has 2 dimensions but the value has 1}}
func.func @argument_rank(%x: tensor<4xf32>, %y: tensor<4xf32> {dist.mapping = #dist.mapping<dims = [[], []]>}) {
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
net.variable parameter @w : tensor<4xf32> {dist.mapping = #dist.mapping<dims = [["sp"]]>}
func.func @variable_axis() {
  // expected-error @below {{the mesh has no axis "sp"}}
  %0 = net.read @w : tensor<4xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
net.variable parameter @w : tensor<4xf32> {dist.mapping = #dist.mapping<dims = [["sp"]]>}
func.func @assigned_variable_axis(%x: tensor<4xf32>) {
  // expected-error @below {{the mesh has no axis "sp"}}
  net.assign @w, %x : tensor<4xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @placements_of_results(%x: tensor<4xf32>) {
  // expected-error @below {{has 2 placements for 1 results}}
  %0 = net.negate %x {dist.results = [#dist.mapping<dims = [[]]>, #dist.mapping<dims = [[]]>]} : tensor<4xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @result_digits(%x: tensor<4xf32>) {
  // expected-error @below {{digit 3 does not divide the 4 indices that are left of dimension 0 of size 4}}
  %0 = net.negate %x {dist.results = [#dist.mapping<dims = [[3, "tp"]]>]} : tensor<4xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
// expected-error @below {{argument 0 is of 'tensor<?xf32>', whose dimension 0 has no size; export with static shapes}}
func.func @dynamic(%x: tensor<?xf32>) {
  return
}
