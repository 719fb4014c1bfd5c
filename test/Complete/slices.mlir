// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file --dist-complete-propagate --dist-complete-verify | FileCheck %s

// Tests that operations on the batch are decided slice by slice, and that sums over slices are replicated after them.

// A gradient is a sum over slices and ranks, added up and reduced at once; inputs are kept whole and read in slices.
dist.mesh @mesh <["dp" = 2, slices "micro" = 2]> {dist.data_axes = ["dp"]}
net.variable parameter @w : tensor<4x4xf32>
// CHECK-LABEL: @gradient_is_a_sum_over_slices
// CHECK-SAME{LITERAL}: dist.mapping = #dist.mapping<dims = [["dp"], []]>
func.func @gradient_is_a_sum_over_slices(%x: tensor<8x4xf32> {dist.mapping = #dist.mapping<dims = [["dp", "micro"], []]>}) -> tensor<4x4xf32> {
  %w = net.read @w : tensor<4x4xf32>
  // CHECK: net.dot
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [["dp", "micro"], []]>, #dist.mapping<dims = [[], []]>], dist.results = [#dist.mapping<dims = [["dp", "micro"], []]>]
  %y = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  // CHECK: net.dot
  // CHECK-SAME{LITERAL}: {dist.computes = [#dist.mapping<dims = [[], []], partial = sum ["dp", "micro"]>]
  // CHECK-SAME{LITERAL}: dist.results = [#dist.mapping<dims = [[], []]>], net.name = "grad/w"
  %g = net.dot %x, %y batch = [] x [] contract = [0] x [0] {net.name = "grad/w"} : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  %next = net.subtract %w, %g : tensor<4x4xf32>
  net.assign @w, %next : tensor<4x4xf32>
  return %g : tensor<4x4xf32>
}

// -----

// Over how many samples of the batch the mean is taken, backward needs at every slice: that is counted early, in the
// whole batch of the rank. The mask is there whole, and read in slices.
dist.mesh @mesh <[slices "micro" = 4]>
net.variable parameter @w : tensor<8xf32>
// CHECK-LABEL: @masked_mean
func.func @masked_mean(%mask: tensor<8xf32> {dist.mapping = #dist.mapping<dims = [["micro"]]>}, %x: tensor<8xf32> {dist.mapping = #dist.mapping<dims = [["micro"]]>}) -> tensor<f32> {
  %w = net.read @w : tensor<8xf32>
  %s = net.reduce sum %w dims = [0] : tensor<8xf32> -> tensor<f32>
  %b = net.broadcast %s dims = [] : tensor<f32> -> tensor<8xf32>
  // CHECK: net.reduce sum %arg0
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[]]>], dist.results = [#dist.mapping<dims = []>]
  %count = net.reduce sum %mask dims = [0] : tensor<8xf32> -> tensor<f32>
  // CHECK: net.multiply %arg1
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [["micro"]]>, #dist.mapping<dims = [["micro"]]>]
  %y = net.multiply %x, %b : tensor<8xf32>
  // CHECK: net.multiply %{{.*}}, %arg0
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [["micro"]]>, #dist.mapping<dims = [["micro"]]>]
  %m = net.multiply %y, %mask : tensor<8xf32>
  %counts = net.broadcast %count dims = [] : tensor<f32> -> tensor<8xf32>
  %mean = net.divide %m, %counts : tensor<8xf32>
  %loss = net.reduce sum %mean dims = [0] : tensor<8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// A result per sample is assembled: it is split where it is computed and whole where it is returned.
dist.mesh @mesh <[slices "micro" = 4]>
// CHECK-LABEL: @returned_whole
// CHECK-SAME{LITERAL}: -> (tensor<8xf32> {dist.mapping = #dist.mapping<dims = [[]]>})
func.func @returned_whole(%x: tensor<8xf32> {dist.mapping = #dist.mapping<dims = [["micro"]]>}) -> tensor<8xf32> {
  // CHECK: net.tanh
  // CHECK-SAME{LITERAL}: dist.results = [#dist.mapping<dims = [["micro"]]>]
  %y = net.tanh %x : tensor<8xf32>
  // CHECK{LITERAL}: return {dist.operands = [#dist.mapping<dims = [[]]>]}
  return %y : tensor<8xf32>
}

// -----

// A sum is kept in the wider type: it passes a conversion to it, and so do the sums over ranks, and stops in front of
// one to a narrower.
dist.mesh @mesh <["dp" = 2, slices "micro" = 2]> {dist.data_axes = ["dp"]}
net.variable parameter @w : tensor<4xbf16>
// CHECK-LABEL: @sums_are_kept_in_the_wider_type
func.func @sums_are_kept_in_the_wider_type(%x: tensor<8x4xbf16> {dist.mapping = #dist.mapping<dims = [["dp", "micro"], []]>}) -> tensor<4xbf16> {
  %w = net.read @w : tensor<4xbf16>
  %b = net.broadcast %w dims = [1] : tensor<4xbf16> -> tensor<8x4xbf16>
  %y = net.multiply %x, %b : tensor<8x4xbf16>
  // CHECK: net.reduce
  // CHECK-SAME{LITERAL}: dist.results = [#dist.mapping<dims = [[]], partial = sum ["dp", "micro"]>]
  %g = net.reduce sum %y dims = [0] : tensor<8x4xbf16> -> tensor<4xbf16>
  // CHECK: net.convert
  // CHECK-SAME{LITERAL}: {dist.computes = [#dist.mapping<dims = [[]], partial = sum ["dp", "micro"]>], dist.defer_reduction
  // CHECK-SAME{LITERAL}: dist.results = [#dist.mapping<dims = [[]]>]
  %wide = net.convert %g : tensor<4xbf16> -> tensor<4xf32>
  // CHECK: net.convert
  // CHECK-NOT: partial
  // CHECK: return
  %narrow = net.convert %wide : tensor<4xf32> -> tensor<4xbf16>
  return %narrow : tensor<4xbf16>
}

// -----

// Numbers that only slices read are made in slices.
dist.mesh @mesh <[slices "micro" = 4]>
net.variable parameter @w : tensor<4xf32>
// CHECK-LABEL: @made_in_slices
func.func @made_in_slices(%x: tensor<8x4xf32> {dist.mapping = #dist.mapping<dims = [["micro"], []]>}) -> tensor<8x4xf32> {
  %w = net.read @w : tensor<4xf32>
  // CHECK: net.broadcast
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[]]>], dist.results = [#dist.mapping<dims = [["micro"], []]>]
  %b = net.broadcast %w dims = [1] : tensor<4xf32> -> tensor<8x4xf32>
  %y = net.add %x, %b : tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}
