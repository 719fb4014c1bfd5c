// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics --dist-complete-segment="anchors=a.out,b.in,c.out"

dist.mesh @mesh <["dp" = 2]>
net.variable parameter @w : tensor<8xf32> {dist.mapping = #dist.mapping<dims = [["dp"]]>}
// expected-error @below {{the block of anchor "b.in" is entered 0 times forward and 0 times backward, not once each; what remains is "b.in", "c.out"}}
func.func @unknown(%x: tensor<8xf32>) -> tensor<8xf32> {
  %w = net.read @w {dist.results = [#dist.mapping<dims = [[]]>]} : tensor<8xf32>
  %0 = net.multiply %x, %w {net.role = #net.role<forward>, net.scope = "a"} : tensor<8xf32>
  %1 = net.sine %0 {net.role = #net.role<backward>, net.scope = "a"} : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

dist.mesh @mesh <["dp" = 2]>
net.variable parameter @w : tensor<8xf32> {dist.mapping = #dist.mapping<dims = [["dp"]]>}
// expected-error @below {{the block of anchor "a.out" is entered 2 times forward and 1 times backward, not once each; what remains is "a.out", "b.in", "c.out"}}
func.func @twice_and_without_backward(%x: tensor<8xf32>) -> tensor<8xf32> {
  %w = net.read @w {dist.results = [#dist.mapping<dims = [[]]>]} : tensor<8xf32>
  %0 = net.multiply %x, %w {net.role = #net.role<forward>, net.scope = "a"} : tensor<8xf32>
  %1 = net.sine %0 {net.role = #net.role<forward>, net.scope = "b"} : tensor<8xf32>
  %2 = net.sine %1 {net.role = #net.role<forward>, net.scope = "a"} : tensor<8xf32>
  %3 = net.sine %2 {net.role = #net.role<backward>, net.scope = "a"} : tensor<8xf32>
  return %3 : tensor<8xf32>
}
