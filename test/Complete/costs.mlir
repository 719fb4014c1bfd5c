// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics --dist-complete-propagate

// Tests that what another strategy would not pay is warned about, once per axis and with its cost, and nothing else is.

// Two slices take the fused value apart across the split: its thirds are exchanged, and in the second layer, of which a slice takes no third, rows
// for columns.
dist.mesh @mesh <["tp" = 2]>
net.variable parameter @v : tensor<100x3000xf32> {dist.mapping = #dist.mapping<dims = [[], ["tp"]]>}
net.variable parameter @w : tensor<1000x3000xf32> {dist.mapping = #dist.mapping<dims = [[], ["tp"]]>}
func.func @contiguous_pieces(%x: tensor<1000x100xf32>) -> tensor<1000x1000xf32> {
  %v = net.read @v : tensor<100x3000xf32>
  %w = net.read @w : tensor<1000x3000xf32>
  %y = net.dot %x, %v batch = [] x [] contract = [1] x [0] : tensor<1000x100xf32>, tensor<100x3000xf32> -> tensor<1000x3000xf32>
  // expected-warning @below {{values change their split over axis "tp", 5.0 MB per step in 2 conversions; first here; a fused parameter is split by groups, heads over an axis that divides them}}
  %a = net.slice %y starts = [0, 0] limits = [1000, 1000] steps = [1, 1] : tensor<1000x3000xf32> -> tensor<1000x1000xf32>
  %b = net.slice %y starts = [0, 1000] limits = [1000, 2000] steps = [1, 1] : tensor<1000x3000xf32> -> tensor<1000x1000xf32>
  %h = net.add %a, %b : tensor<1000x1000xf32>
  %z = net.dot %h, %w batch = [] x [] contract = [1] x [0] : tensor<1000x1000xf32>, tensor<1000x3000xf32> -> tensor<1000x3000xf32>
  %c = net.slice %z starts = [0, 500] limits = [1000, 1500] steps = [1, 1] : tensor<1000x3000xf32> -> tensor<1000x1000xf32>
  return %c : tensor<1000x1000xf32>
}

// -----

// 3 heads over 2 ranks: a head cannot be split.
dist.mesh @mesh <["tp" = 2]>
net.variable parameter @w : tensor<100x300xf32> {dist.mapping = #dist.mapping<dims = [[], ["tp"]]>}
func.func @heads_that_do_not_divide(%x: tensor<1000x100xf32>) -> tensor<1000x3x100xf32> {
  %w = net.read @w : tensor<100x300xf32>
  %y = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<1000x100xf32>, tensor<100x300xf32> -> tensor<1000x300xf32>
  // expected-warning @below {{values change their split over axis "tp", 200.0 kB per step in 1 conversions; first here}}
  %h = net.reshape %y : tensor<1000x300xf32> -> tensor<1000x3x100xf32>
  return %h : tensor<1000x3x100xf32>
}

// -----

// The head of a model whose table is split along the features: all logits are reduced.
dist.mesh @mesh <["tp" = 2]>
net.variable parameter @table : tensor<5000x100xf32> {dist.mapping = #dist.mapping<dims = [[], ["tp"]]>}
func.func @logits_reduced(%x: tensor<1000x100xf32>) -> tensor<1000x5000xf32> {
  %w = net.read @table : tensor<5000x100xf32>
  %t = net.transpose %w dims = [1, 0] : tensor<5000x100xf32> -> tensor<100x5000xf32>
  // expected-warning @below {{products with a split parameter leave 20.0 MB per step to be reduced over axis "tp", more than they read; first here; split the parameter along a dimension that the product keeps}}
  %y = net.dot %x, %t batch = [] x [] contract = [1] x [0] : tensor<1000x100xf32>, tensor<100x5000xf32> -> tensor<1000x5000xf32>
  %e = net.exponential %y : tensor<1000x5000xf32>
  return %e : tensor<1000x5000xf32>
}

// -----

// Communication that the parallelism itself needs is not: a row-parallel product, and the gather of a sequence before a product.
dist.mesh @mesh <["tp" = 2]>
net.variable parameter @up : tensor<100x400xf32> {dist.mapping = #dist.mapping<dims = [[], ["tp"]]>}
net.variable parameter @down : tensor<400x100xf32> {dist.mapping = #dist.mapping<dims = [["tp"], []]>}
func.func @sequence_parallel(%x: tensor<1000x100xf32> {dist.mapping = #dist.mapping<dims = [["tp"], []]>}) -> tensor<1000x100xf32> {
  %up = net.read @up : tensor<100x400xf32>
  %h = net.dot %x, %up batch = [] x [] contract = [1] x [0] : tensor<1000x100xf32>, tensor<100x400xf32> -> tensor<1000x400xf32>
  %down = net.read @down : tensor<400x100xf32>
  %y = net.dot %h, %down batch = [] x [] contract = [1] x [0] : tensor<1000x400xf32>, tensor<400x100xf32> -> tensor<1000x100xf32>
  %z = net.add %x, %y : tensor<1000x100xf32>
  return %z : tensor<1000x100xf32>
}

// -----

// Nor is an axis that splits the batch.
dist.mesh @mesh <["dp" = 2]> {dist.data_axes = ["dp"]}
func.func @data(%x: tensor<6x100xf32> {dist.mapping = #dist.mapping<dims = [["dp"], []]>}) -> tensor<3x200xf32> {
  %h = net.reshape %x : tensor<6x100xf32> -> tensor<3x200xf32>
  return %h : tensor<3x200xf32>
}
