// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file --dist-complete-propagate | FileCheck %s

// Tests that carried values keep the placement of their initial value, and that a sum over iterations is reduced after the loop.

// Zeros are split from the beginning as what becomes of them is.
// CHECK-LABEL: func @begins_with_zeros
// CHECK: net.carry {{.*}}dist.results = [#dist.mapping<dims = {{\[}}["dp"], []]>]
// CHECK: net.next {{.*}}dist.results = [#dist.mapping<dims = {{\[}}["dp"], []]>]
dist.mesh @mesh <["dp" = 2]> {dist.data_axes = ["dp"]}
func.func @begins_with_zeros(%x: tensor<3x4x8xf32> {dist.mapping = #dist.mapping<dims = [[], ["dp"], []]>}) -> tensor<4x8xf32> {
  %zero = net.constant dense<0.0> : tensor<4x8xf32>
  %i = net.loop count = 3
  %h = net.carry %zero in %i : tensor<4x8xf32>
  %t = net.take %x in %i : tensor<3x4x8xf32> -> tensor<4x8xf32>
  %s = net.add %h, %t : tensor<4x8xf32>
  %e = net.tanh %s : tensor<4x8xf32>
  %y = net.next %e for %h : tensor<4x8xf32>
  net.end_loop %i
  return %y : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func @sum_over_iterations
// CHECK: net.reduce sum {{.*}}dist.results = [#dist.mapping<dims = {{\[\[\]\]}}, partial = sum ["dp"]>]
// CHECK: net.total {{.*}}dist.computes = [#dist.mapping<dims = {{\[\[\]\]}}, partial = sum ["dp"]>]{{.*}}dist.results = [#dist.mapping<dims = {{\[\[\]\]}}>]
dist.mesh @mesh <["dp" = 2]> {dist.data_axes = ["dp"]}
func.func @sum_over_iterations(%x: tensor<3x4x8xf32> {dist.mapping = #dist.mapping<dims = [[], ["dp"], []]>}) -> tensor<8xf32> {
  %i = net.loop count = 3
  %t = net.take %x in %i : tensor<3x4x8xf32> -> tensor<4x8xf32>
  %s = net.reduce sum %t dims = [0] : tensor<4x8xf32> -> tensor<8xf32>
  %y = net.total %s in %i : tensor<8xf32>
  net.end_loop %i
  return %y : tensor<8xf32>
}
