// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics --dist-complete-propagate

// Tests that a network which cannot be computed slice by slice is refused where it cannot.

// Statistics of the batch depend on a parameter: no slice knows them before the last one.
dist.mesh @mesh <[slices "micro" = 4]>
net.variable parameter @w : tensor<8xf32>
func.func @batch_statistics(%x: tensor<8x8xf32> {dist.mapping = #dist.mapping<dims = [["micro"], []]>}) -> tensor<8x8xf32> {
  %w = net.read @w : tensor<8xf32>
  %b = net.broadcast %w dims = [1] : tensor<8xf32> -> tensor<8x8xf32>
  %y = net.multiply %x, %b : tensor<8x8xf32>
  // expected-note @below {{the slices are added up here}}
  %sum = net.reduce sum %y dims = [0] : tensor<8x8xf32> -> tensor<8xf32>
  %e = net.tanh %sum : tensor<8xf32>
  %sums = net.broadcast %e dims = [1] : tensor<8xf32> -> tensor<8x8xf32>
  // expected-error @below {{is computed for each of the 4 slices of axis "micro", but operand #1 is only known after the last one}}
  %z = net.subtract %y, %sums : tensor<8x8xf32>
  return %z : tensor<8x8xf32>
}

// -----

dist.mesh @mesh <[slices "micro" = 4]>
net.variable parameter @w : tensor<8xf32>
func.func @largest_of_the_batch(%x: tensor<8xf32> {dist.mapping = #dist.mapping<dims = [["micro"]]>}) -> tensor<f32> {
  %w = net.read @w : tensor<8xf32>
  %y = net.multiply %x, %w : tensor<8xf32>
  // expected-error @below {{reduces the batch by max, but the 4 slices of axis "micro" can only be combined by sum}}
  %m = net.reduce max %y dims = [0] : tensor<8xf32> -> tensor<f32>
  return %m : tensor<f32>
}

// -----

dist.mesh @mesh <[slices "micro" = 4]>
net.variable parameter @w : tensor<8xf32>
func.func @mixed_samples(%x: tensor<8xf32> {dist.mapping = #dist.mapping<dims = [["micro"]]>}) -> tensor<5xf32> {
  %w = net.read @w : tensor<8xf32>
  %y = net.multiply %x, %w : tensor<8xf32>
  // expected-error @below {{mixes samples of the batch, and has no form for one of the 4 slices of axis "micro"}}
  %m = net.slice %y starts = [1] limits = [6] steps = [1] : tensor<8xf32> -> tensor<5xf32>
  return %m : tensor<5xf32>
}

// -----

dist.mesh @mesh <[slices "micro" = 4]>
net.variable parameter @w : tensor<8xf32>
// expected-error @below {{leaves nothing to compute for each of the 4 slices of axis "micro": no result depends on both a slice and a variable}}
func.func @nothing_in_slices(%x: tensor<8xf32> {dist.mapping = #dist.mapping<dims = [["micro"]]>}) -> tensor<8xf32> {
  %w = net.read @w : tensor<8xf32>
  return %w : tensor<8xf32>
}

// -----

// An iteration's sum over the batch is squared before the next iteration: no slice goes through the loop by itself.
dist.mesh @mesh <[slices "micro" = 4]>
net.variable parameter @w : tensor<3x8xf32>
func.func @sum_in_a_loop(%x: tensor<8xf32> {dist.mapping = #dist.mapping<dims = [["micro"]]>}) -> tensor<f32> {
  %w = net.read @w : tensor<3x8xf32>
  %i = net.loop count = 3
  %t = net.take %w in %i : tensor<3x8xf32> -> tensor<8xf32>
  %y = net.multiply %x, %t : tensor<8xf32>
  // expected-error @below {{is added up over the 4 slices of axis "micro" in a loop, which every slice executes by itself; model.unroll_loops unrolls loops}}
  %s = net.reduce sum %y dims = [0] : tensor<8xf32> -> tensor<f32>
  %q = net.multiply %s, %s : tensor<f32>
  %z = net.total %q in %i : tensor<f32>
  net.end_loop %i
  return %z : tensor<f32>
}
