// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-complete-propagate | FileCheck %s

// Tests sums whose reduction may not pass an addition.

dist.mesh @mesh <["dp" = 2]>

// They are added in parts, and only the result is gathered: the contributions to a tied embedding.
// CHECK-LABEL: @tied
func.func @tied(%x: tensor<64x5xf32> {dist.mapping = #dist.mapping<dims = [["dp"], []]>}, %y: tensor<64x4xf32> {dist.mapping = #dist.mapping<dims = [["dp"], []]>}) -> tensor<5x4xf32>
    attributes {net.sum_parts = 8 : i64} {
  // CHECK: net.dot {{.*}}partial = tree ["dp"]>]{{.*}}dist.results = [#dist.mapping<dims = {{\[}}[], ["dp"]]>]
  %0 = net.dot %x, %y batch = [] x [] contract = [0] x [0] {net.sum_parts = 8 : i64} : tensor<64x5xf32>, tensor<64x4xf32> -> tensor<5x4xf32>
  %x2 = net.multiply %x, %x : tensor<64x5xf32>
  // CHECK: net.dot {{.*}}partial = tree ["dp"]>]{{.*}}dist.results = [#dist.mapping<dims = {{\[}}[], ["dp"]]>]
  %1 = net.dot %x2, %y batch = [] x [] contract = [0] x [0] {net.sum_parts = 8 : i64} : tensor<64x5xf32>, tensor<64x4xf32> -> tensor<5x4xf32>
  // CHECK: net.add {{.*}}dist.computes = [#dist.mapping<dims = {{\[}}[], ["dp"]]>]{{.*}}dist.results = [#dist.mapping<dims = {{\[}}[], []]>]
  %2 = net.add %0, %1 : tensor<5x4xf32>
  return %2 : tensor<5x4xf32>
}

// A sum whose use refuses it, because it adds a bias, is reduced to parts where a use of the result wants parts: a
// residual stays split from one block to the next.
net.variable parameter @w : tensor<8x16xf32> {dist.mapping = #dist.mapping<dims = [["dp"], []]>}
net.variable parameter @v : tensor<16x8xf32> {dist.mapping = #dist.mapping<dims = [[], ["dp"]]>}

// CHECK-LABEL: @residual
func.func @residual(%g: tensor<4x6x8xf32> {dist.mapping = #dist.mapping<dims = [[], [], ["dp"]]>}, %h: tensor<4x6x8xf32> {dist.mapping = #dist.mapping<dims = [[], [], ["dp"]]>}, %bias: tensor<4x6x16xf32> {dist.mapping = #dist.mapping<dims = [[], [], []]>}, %y: tensor<4x6x16xf32> {dist.mapping = #dist.mapping<dims = [[], ["dp"], []]>}) -> (tensor<4x6x8xf32>, tensor<4x6x16xf32>)
    attributes {net.sum_parts = 8 : i64} {
  %w = net.read @w : tensor<8x16xf32>
  // CHECK: net.dot {{.*}}partial = tree ["dp"]>]{{.*}}dist.results = [#dist.mapping<dims = {{\[}}[], ["dp"], []]>]
  %0 = net.dot %g, %w batch = [] x [] contract = [2] x [0] {net.sum_parts = 8 : i64} : tensor<4x6x8xf32>, tensor<8x16xf32> -> tensor<4x6x16xf32>
  // CHECK: net.add {{.*}}dist.results = [#dist.mapping<dims = {{\[}}[], ["dp"], []]>]
  %1 = net.add %0, %bias : tensor<4x6x16xf32>
  %norm = net.multiply %1, %1 : tensor<4x6x16xf32>
  %2 = net.multiply %norm, %y : tensor<4x6x16xf32>
  // CHECK: net.dot {{.*}}partial = tree ["dp"]>]{{.*}}dist.results = [#dist.mapping<dims = {{\[}}[], ["dp"], []]>]
  %3 = net.dot %h, %w batch = [] x [] contract = [2] x [0] {net.sum_parts = 8 : i64} : tensor<4x6x8xf32>, tensor<8x16xf32> -> tensor<4x6x16xf32>
  // CHECK: net.add {{.*}}dist.results = [#dist.mapping<dims = {{\[}}[], ["dp"], []]>]
  %4 = net.add %3, %bias : tensor<4x6x16xf32>
  // CHECK: net.add {{.*}}dist.results = [#dist.mapping<dims = {{\[}}[], ["dp"], []]>]
  %5 = net.add %4, %1 : tensor<4x6x16xf32>
  %v = net.read @v : tensor<16x8xf32>
  %back = net.multiply %5, %norm : tensor<4x6x16xf32>
  %6 = net.dot %back, %v batch = [] x [] contract = [2] x [0] {net.sum_parts = 8 : i64} : tensor<4x6x16xf32>, tensor<16x8xf32> -> tensor<4x6x8xf32>
  return %6, %2 : tensor<4x6x8xf32>, tensor<4x6x16xf32>
}

// Weights side by side are weights: a product splits what they split, and does not move them to spare a reduction.
net.variable parameter @p : tensor<64x64xf32> {dist.mapping = #dist.mapping<dims = [[], ["dp"]]>}
net.variable parameter @q : tensor<64x32xf32> {dist.mapping = #dist.mapping<dims = [[], ["dp"]]>}

// CHECK-LABEL: @joined
func.func @joined(%x: tensor<512x64xf32> {dist.mapping = #dist.mapping<dims = [[], ["dp"]]>}, %y: tensor<512x32xf32> {dist.mapping = #dist.mapping<dims = [[], ["dp"]]>}) -> tensor<512x64xf32>
    attributes {net.sum_parts = 8 : i64} {
  %p = net.read @p : tensor<64x64xf32>
  %q = net.read @q : tensor<64x32xf32>
  %p0 = net.reshape %p : tensor<64x64xf32> -> tensor<64x8x8xf32>
  %q0 = net.reshape %q : tensor<64x32xf32> -> tensor<64x8x4xf32>
  %w = net.concatenate %p0, %q0 dim = 2 : tensor<64x8x8xf32>, tensor<64x8x4xf32> -> tensor<64x8x12xf32>
  %x0 = net.reshape %x : tensor<512x64xf32> -> tensor<512x8x8xf32>
  %y0 = net.reshape %y : tensor<512x32xf32> -> tensor<512x8x4xf32>
  %z = net.concatenate %x0, %y0 dim = 2 : tensor<512x8x8xf32>, tensor<512x8x4xf32> -> tensor<512x8x12xf32>
  // CHECK: net.dot {{.*}}dist.operands = [#dist.mapping<dims = {{\[}}[], ["dp"], []]>, #dist.mapping<dims = {{\[}}[], ["dp"], []]>]
  %0 = net.dot %z, %w batch = [] x [] contract = [1, 2] x [1, 2] {net.sum_parts = 8 : i64} : tensor<512x8x12xf32>, tensor<64x8x12xf32> -> tensor<512x64xf32>
  return %0 : tensor<512x64xf32>
}
