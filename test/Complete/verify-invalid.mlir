// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics --dist-complete-verify -allow-unregistered-dialect

dist.mesh @mesh <["tp" = 2]>
// expected-error @below {{has argument 0 without placement}}
func.func @argument(%x: tensor<4xf32>) {
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @results(%x: tensor<4xf32> {dist.mapping = #dist.mapping<dims = [[]]>}) {
  // expected-error @below {{has 0 placements in dist.results for 1 values}}
  %0 = net.negate %x {dist.operands = [#dist.mapping<dims = [[]]>]} : tensor<4xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @operands(%x: tensor<4xf32> {dist.mapping = #dist.mapping<dims = [[]]>}) {
  // expected-error @below {{has 1 placements in dist.operands for 2 values}}
  %0 = net.add %x, %x {dist.operands = [#dist.mapping<dims = [[]]>], dist.results = [#dist.mapping<dims = [[]]>]} : tensor<4xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @axis(%x: tensor<4xf32> {dist.mapping = #dist.mapping<dims = [[]]>}) {
  // expected-error @below {{the mesh has no axis "dp"}}
  %0 = net.negate %x {dist.operands = [#dist.mapping<dims = [[]]>], dist.results = [#dist.mapping<dims = [["dp"]]>]} : tensor<4xf32>
  return
}

// -----

dist.mesh @mesh <["tp" = 2]>
func.func @no_tensor() {
  // expected-error @below {{has a value of 'index' without placement}}
  %0 = "foreign.size"() {dist.results = [#dist.mapping<dims = []>]} : () -> index
  return
}

// -----

// expected-error @below {{'net.variable' op has no placement in which it is kept}}
net.variable parameter @w : tensor<4xf32>
dist.mesh @mesh <["tp" = 2]>
