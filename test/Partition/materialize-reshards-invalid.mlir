// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file --dist-partition-materialize-reshards -verify-diagnostics

// expected-error @below {{has no mesh to be partitioned over}}
module {
}

// -----

dist.mesh @mesh <["tp" = 2]>
// expected-error @below {{has argument 0 without placement}}
func.func @argument_without_placement(%arg0: tensor<8xf32>) {
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @result_without_placement(%arg0: tensor<8xf32> {dist.mapping = #dist.mapping<dims = [[]]>}) {
  // expected-error @below {{has a value of 'tensor<8xf32>' without placement}}
  %0 = net.negate %arg0 : tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @too_many_placements(%arg0: tensor<8xf32> {dist.mapping = #dist.mapping<dims = [[]]>}) {
  // expected-error @below {{has 2 placements in dist.results for 1 values}}
  %0 = net.negate %arg0 {dist.results = [#dist.mapping<dims = [[]]>, #dist.mapping<dims = [[]]>]} : tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["pp" = 3]>
func.func @several_holders(%arg0: tensor<8xf32> {dist.mapping = #dist.mapping<dims = [[]]>}) {
  // expected-error @below {{has a value on 2 of the 3 coordinates of axis "pp"; a value is held by one of them or by all}}
  %0 = net.negate %arg0 {dist.results = [#dist.mapping<dims = [[]], on {"pp" = [0, 2]}>]} : tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["pp" = 2]>
func.func @held_and_partial(%arg0: tensor<8xf32> {dist.mapping = #dist.mapping<dims = [[]]>}) {
  // expected-error @below {{has a value that only coordinate 0 of axis "pp" holds and that is partial over that axis}}
  %0 = net.negate %arg0 {dist.results = [#dist.mapping<dims = [[]], partial = sum ["pp"], on {"pp" = [0]}>]} : tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
// expected-error @below {{has no placement in which it is kept}}
net.variable parameter @w : tensor<8xf32>
func.func @variable_without_placement() {
  %0 = net.read @w {dist.results = [#dist.mapping<dims = [[]]>]} : tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @does_not_fit(%arg0: tensor<8xf32> {dist.mapping = #dist.mapping<dims = [[]]>}) {
  // expected-error @below {{the mesh has no axis "dp"}}
  %0 = net.negate %arg0 {dist.results = [#dist.mapping<dims = [["dp"]]>]} : tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
// expected-error @below {{has argument 0 in its local shape already; a program is partitioned once}}
func.func @local_argument(%x: tensor<4xf32> {dist.mapping = #dist.mapping<dims = [["tp"]]>, net.global_type = tensor<8xf32>}) {
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @region() {
  // expected-error @below {{has 1 regions, but only straight programs are partitioned}}
  scf.execute_region {
    scf.yield
  }
  return
}
