// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file --dist-complete-propagate --dist-complete-verify | FileCheck %s

// Tests that placements follow from those that are given, with conversions where they are cheapest.

// A weight that is split along what it makes needs no conversion: the result is split.
dist.mesh @mesh <["tp" = 2]>
net.variable parameter @w : tensor<4x8xf32> {dist.mapping = #dist.mapping<dims = [[], ["tp"]]>}
// CHECK-LABEL: @column_parallel_needs_nothing
func.func @column_parallel_needs_nothing(%x: tensor<6x4xf32>) -> tensor<6x8xf32> {
  %w = net.read @w : tensor<4x8xf32>
  // CHECK: net.dot
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], []]>, #dist.mapping<dims = [[], ["tp"]]>], dist.results = [#dist.mapping<dims = [[], ["tp"]]>]
  %y = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<6x4xf32>, tensor<4x8xf32> -> tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}

// -----

// A row-parallel product is partial and reduced once, before the bias is added, which every rank holds.
dist.mesh @mesh <["tp" = 2]>
net.variable parameter @w : tensor<8x4xf32> {dist.mapping = #dist.mapping<dims = [["tp"], []]>}
net.variable parameter @b : tensor<4xf32>
// CHECK-LABEL: @row_parallel_bias_is_added_once
func.func @row_parallel_bias_is_added_once(%x: tensor<6x8xf32>) -> tensor<6x4xf32> {
  %w = net.read @w : tensor<8x4xf32>
  // CHECK: net.dot
  // CHECK-SAME{LITERAL}: {dist.computes = [#dist.mapping<dims = [[], []], partial = sum ["tp"]>], dist.operands = [#dist.mapping<dims = [[], ["tp"]]>, #dist.mapping<dims = [["tp"], []]>], dist.results = [#dist.mapping<dims = [[], []]>]
  %y = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<6x8xf32>, tensor<8x4xf32> -> tensor<6x4xf32>
  %b = net.read @b : tensor<4xf32>
  // CHECK: net.broadcast
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[]]>], dist.results = [#dist.mapping<dims = [[], []]>]
  %bb = net.broadcast %b dims = [1] : tensor<4xf32> -> tensor<6x4xf32>
  // CHECK: net.add
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], []]>, #dist.mapping<dims = [[], []]>], dist.results = [#dist.mapping<dims = [[], []]>]
  %z = net.add %y, %bb : tensor<6x4xf32>
  %e = net.exponential %z : tensor<6x4xf32>
  return %e : tensor<6x4xf32>
}

// -----

// Partial values that meet in an addition are reduced once, after it.
dist.mesh @mesh <["tp" = 2]>
net.variable parameter @v : tensor<8x4xf32> {dist.mapping = #dist.mapping<dims = [["tp"], []]>}
net.variable parameter @w : tensor<8x4xf32> {dist.mapping = #dist.mapping<dims = [["tp"], []]>}
// CHECK-LABEL: @partials_joined_in_an_addition
func.func @partials_joined_in_an_addition(%x: tensor<6x8xf32>) -> tensor<6x4xf32> {
  %v = net.read @v : tensor<8x4xf32>
  %w = net.read @w : tensor<8x4xf32>
  // CHECK: net.dot
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], ["tp"]]>, #dist.mapping<dims = [["tp"], []]>], dist.results = [#dist.mapping<dims = [[], []], partial = sum ["tp"]>]
  %p = net.dot %x, %v batch = [] x [] contract = [1] x [0] : tensor<6x8xf32>, tensor<8x4xf32> -> tensor<6x4xf32>
  // CHECK: net.dot
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], ["tp"]]>, #dist.mapping<dims = [["tp"], []]>], dist.results = [#dist.mapping<dims = [[], []], partial = sum ["tp"]>]
  %q = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<6x8xf32>, tensor<8x4xf32> -> tensor<6x4xf32>
  // CHECK: net.add
  // CHECK-SAME{LITERAL}: {dist.computes = [#dist.mapping<dims = [[], []], partial = sum ["tp"]>], dist.operands = [#dist.mapping<dims = [[], []], partial = sum ["tp"]>, #dist.mapping<dims = [[], []], partial = sum ["tp"]>], dist.results = [#dist.mapping<dims = [[], []]>]
  %s = net.add %p, %q : tensor<6x4xf32>
  %e = net.exponential %s : tensor<6x4xf32>
  return %e : tensor<6x4xf32>
}

// -----

// A softmax over a split dimension reduces its maximum and its sum, before they are broadcast.
dist.mesh @mesh <["tp" = 2]>
// CHECK-LABEL: @maximum_reduced_before_broadcast
func.func @maximum_reduced_before_broadcast(%x: tensor<6x8xf32> {dist.mapping = #dist.mapping<dims = [[], ["tp"]]>}) -> tensor<6x8xf32> {
  // CHECK: net.reduce
  // CHECK-SAME{LITERAL}: {dist.computes = [#dist.mapping<dims = [[]], partial = max ["tp"]>], dist.operands = [#dist.mapping<dims = [[], ["tp"]]>], dist.results = [#dist.mapping<dims = [[]]>]
  %m = net.reduce max %x dims = [1] : tensor<6x8xf32> -> tensor<6xf32>
  // CHECK: net.broadcast
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[]]>], dist.results = [#dist.mapping<dims = [[], ["tp"]]>]
  %mb = net.broadcast %m dims = [0] : tensor<6xf32> -> tensor<6x8xf32>
  %d = net.subtract %x, %mb : tensor<6x8xf32>
  %e = net.exponential %d : tensor<6x8xf32>
  // CHECK: net.reduce
  // CHECK-SAME{LITERAL}: {dist.computes = [#dist.mapping<dims = [[]], partial = sum ["tp"]>], dist.operands = [#dist.mapping<dims = [[], ["tp"]]>], dist.results = [#dist.mapping<dims = [[]]>]
  %s = net.reduce sum %e dims = [1] : tensor<6x8xf32> -> tensor<6xf32>
  // CHECK: net.broadcast
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[]]>], dist.results = [#dist.mapping<dims = [[], ["tp"]]>]
  %sb = net.broadcast %s dims = [0] : tensor<6xf32> -> tensor<6x8xf32>
  // CHECK: net.divide
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], ["tp"]]>, #dist.mapping<dims = [[], ["tp"]]>], dist.results = [#dist.mapping<dims = [[], ["tp"]]>]
  %y = net.divide %e, %sb : tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}

// -----

// A fused projection whose pieces are each split goes through attention without a conversion.
dist.mesh @mesh <["tp" = 2]>
net.variable parameter @qkv : tensor<4x24xf32> {dist.mapping = #dist.mapping<dims = [[], [3, "tp"]]>}
net.variable parameter @o : tensor<8x4xf32> {dist.mapping = #dist.mapping<dims = [["tp"], []]>}
// CHECK-LABEL: @fused_projection_by_digits
func.func @fused_projection_by_digits(%x: tensor<5x4xf32>) -> tensor<5x4xf32> {
  %w = net.read @qkv : tensor<4x24xf32>
  // CHECK: net.dot
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], []]>, #dist.mapping<dims = [[], [3, "tp"]]>], dist.results = [#dist.mapping<dims = [[], [3, "tp"]]>]
  %qkv = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<5x4xf32>, tensor<4x24xf32> -> tensor<5x24xf32>
  // CHECK: net.slice
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], [3, "tp"]]>], dist.results = [#dist.mapping<dims = [[], ["tp"]]>]
  %q = net.slice %qkv starts = [0, 0] limits = [5, 8] steps = [1, 1] : tensor<5x24xf32> -> tensor<5x8xf32>
  // CHECK: net.slice
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], [3, "tp"]]>], dist.results = [#dist.mapping<dims = [[], ["tp"]]>]
  %k = net.slice %qkv starts = [0, 8] limits = [5, 16] steps = [1, 1] : tensor<5x24xf32> -> tensor<5x8xf32>
  // CHECK: net.slice
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], [3, "tp"]]>], dist.results = [#dist.mapping<dims = [[], ["tp"]]>]
  %v = net.slice %qkv starts = [0, 16] limits = [5, 24] steps = [1, 1] : tensor<5x24xf32> -> tensor<5x8xf32>
  // CHECK: net.reshape
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], ["tp"]]>], dist.results = [#dist.mapping<dims = [[], ["tp"], []]>]
  %qh = net.reshape %q : tensor<5x8xf32> -> tensor<5x4x2xf32>
  // CHECK: net.reshape
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], ["tp"]]>], dist.results = [#dist.mapping<dims = [[], ["tp"], []]>]
  %kh = net.reshape %k : tensor<5x8xf32> -> tensor<5x4x2xf32>
  // CHECK: net.reshape
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], ["tp"]]>], dist.results = [#dist.mapping<dims = [[], ["tp"], []]>]
  %vh = net.reshape %v : tensor<5x8xf32> -> tensor<5x4x2xf32>
  // CHECK: net.dot
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], ["tp"], []]>, #dist.mapping<dims = [[], ["tp"], []]>], dist.results = [#dist.mapping<dims = [["tp"], [], []]>]
  %s = net.dot %qh, %kh batch = [1] x [1] contract = [2] x [2] : tensor<5x4x2xf32>, tensor<5x4x2xf32> -> tensor<4x5x5xf32>
  %e = net.exponential %s : tensor<4x5x5xf32>
  // CHECK: net.dot
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [["tp"], [], []]>, #dist.mapping<dims = [[], ["tp"], []]>], dist.results = [#dist.mapping<dims = [["tp"], [], []]>]
  %a = net.dot %e, %vh batch = [0] x [1] contract = [2] x [0] : tensor<4x5x5xf32>, tensor<5x4x2xf32> -> tensor<4x5x2xf32>
  // CHECK: net.transpose
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [["tp"], [], []]>], dist.results = [#dist.mapping<dims = [[], ["tp"], []]>]
  %t = net.transpose %a dims = [1, 0, 2] : tensor<4x5x2xf32> -> tensor<5x4x2xf32>
  // CHECK: net.reshape
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], ["tp"], []]>], dist.results = [#dist.mapping<dims = [[], ["tp"]]>]
  %c = net.reshape %t : tensor<5x4x2xf32> -> tensor<5x8xf32>
  %o = net.read @o : tensor<8x4xf32>
  // CHECK: net.dot
  // CHECK-SAME{LITERAL}: {dist.computes = [#dist.mapping<dims = [[], []], partial = sum ["tp"]>], dist.operands = [#dist.mapping<dims = [[], ["tp"]]>, #dist.mapping<dims = [["tp"], []]>], dist.results = [#dist.mapping<dims = [[], []]>]
  %y = net.dot %c, %o batch = [] x [] contract = [1] x [0] : tensor<5x8xf32>, tensor<8x4xf32> -> tensor<5x4xf32>
  return %y : tensor<5x4xf32>
}

// -----

// Split contiguously it compiles too, and pays: it is exchanged for the parts of its thirds.
dist.mesh @mesh <["tp" = 2]>
net.variable parameter @qkv : tensor<4x24xf32> {dist.mapping = #dist.mapping<dims = [[], ["tp"]]>}
// CHECK-LABEL: @fused_projection_contiguous
func.func @fused_projection_contiguous(%x: tensor<5x4xf32>) -> tensor<5x8xf32> {
  %w = net.read @qkv : tensor<4x24xf32>
  // CHECK: net.dot
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], []]>, #dist.mapping<dims = [[], ["tp"]]>], dist.results = [#dist.mapping<dims = [[], ["tp"]]>]
  %qkv = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<5x4xf32>, tensor<4x24xf32> -> tensor<5x24xf32>
  // CHECK: net.slice
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], [3, "tp"]]>], dist.results = [#dist.mapping<dims = [[], ["tp"]]>]
  %q = net.slice %qkv starts = [0, 0] limits = [5, 8] steps = [1, 1] : tensor<5x24xf32> -> tensor<5x8xf32>
  // CHECK: net.slice
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], [3, "tp"]]>], dist.results = [#dist.mapping<dims = [[], ["tp"]]>]
  %k = net.slice %qkv starts = [0, 8] limits = [5, 16] steps = [1, 1] : tensor<5x24xf32> -> tensor<5x8xf32>
  %s = net.multiply %q, %k : tensor<5x8xf32>
  return %s : tensor<5x8xf32>
}

// -----

// A lookup in a table whose rows are split finds each row on one rank: the result is partial.
dist.mesh @mesh <["tp" = 2]>
net.variable parameter @table : tensor<7x4xf32> {dist.mapping = #dist.mapping<dims = [["tp"], []]>}
// CHECK-LABEL: @vocabulary_split_lookup
func.func @vocabulary_split_lookup(%ids: tensor<5x1xi32>) -> tensor<5x4xf32> {
  %t = net.read @table : tensor<7x4xf32>
  // CHECK: net.gather
  // CHECK-SAME{LITERAL}: {dist.computes = [#dist.mapping<dims = [[], []], partial = sum ["tp"]>], dist.operands = [#dist.mapping<dims = [["tp"], []]>, #dist.mapping<dims = [[], []]>], dist.results = [#dist.mapping<dims = [[], []]>]
  %y = net.gather %t, %ids <offsetDims = [1], collapsedDims = [0], startIndexMap = [0], indexVectorDim = 1> sizes = [1, 4] : tensor<7x4xf32>, tensor<5x1xi32> -> tensor<5x4xf32>
  %e = net.exponential %y : tensor<5x4xf32>
  return %e : tensor<5x4xf32>
}

// -----

// Elements picked from split logits pass linear operations as partial values and are reduced as a scalar.
dist.mesh @mesh <["tp" = 2]>
// CHECK-LABEL: @picked_logit_is_reduced_as_a_scalar
func.func @picked_logit_is_reduced_as_a_scalar(%logits: tensor<5x7xf32> {dist.mapping = #dist.mapping<dims = [[], ["tp"]]>}, %ids: tensor<5x1xi32>) -> tensor<f32> {
  // CHECK: net.gather
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], ["tp"]]>, #dist.mapping<dims = [[], []]>], dist.results = [#dist.mapping<dims = [[]], partial = sum ["tp"]>]
  %p = net.gather %logits, %ids <collapsedDims = [1], operandBatchingDims = [0], indicesBatchingDims = [0], startIndexMap = [1], indexVectorDim = 1> sizes = [1, 1] : tensor<5x7xf32>, tensor<5x1xi32> -> tensor<5xf32>
  // CHECK: net.negate
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[]], partial = sum ["tp"]>], dist.results = [#dist.mapping<dims = [[]], partial = sum ["tp"]>]
  %n = net.negate %p : tensor<5xf32>
  // CHECK: net.reduce
  // CHECK-SAME{LITERAL}: {dist.computes = [#dist.mapping<dims = [], partial = sum ["tp"]>], dist.operands = [#dist.mapping<dims = [[]], partial = sum ["tp"]>], dist.results = [#dist.mapping<dims = []>]
  %s = net.reduce sum %n dims = [0] : tensor<5xf32> -> tensor<f32>
  %c = net.constant dense<5.0> : tensor<f32>
  %m = net.divide %s, %c : tensor<f32>
  return %m : tensor<f32>
}

// -----

// The two gradients of a tied weight are joined, then reduced once although the sum has several uses.
dist.mesh @mesh <["dp" = 2]> {dist.data_axes = ["dp"]}
net.variable parameter @w : tensor<4x4xf32>
// CHECK-LABEL: @gradients_reduced_at_their_definition
func.func @gradients_reduced_at_their_definition(%x: tensor<6x4xf32> {dist.mapping = #dist.mapping<dims = [["dp"], []]>}) {
  %w = net.read @w : tensor<4x4xf32>
  // CHECK: net.dot
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [["dp"], []]>, #dist.mapping<dims = [[], []]>], dist.results = [#dist.mapping<dims = [["dp"], []]>]
  %h = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<6x4xf32>, tensor<4x4xf32> -> tensor<6x4xf32>
  // CHECK: net.dot
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [["dp"], []]>, #dist.mapping<dims = [[], []]>], dist.results = [#dist.mapping<dims = [["dp"], []]>]
  %y = net.dot %h, %w batch = [] x [] contract = [1] x [0] : tensor<6x4xf32>, tensor<4x4xf32> -> tensor<6x4xf32>
  // CHECK: net.dot
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [["dp"], []]>, #dist.mapping<dims = [["dp"], []]>], dist.results = [#dist.mapping<dims = [[], []], partial = sum ["dp"]>]
  %g1 = net.dot %x, %h batch = [] x [] contract = [0] x [0] : tensor<6x4xf32>, tensor<6x4xf32> -> tensor<4x4xf32>
  // CHECK: net.dot
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [["dp"], []]>, #dist.mapping<dims = [["dp"], []]>], dist.results = [#dist.mapping<dims = [[], []], partial = sum ["dp"]>]
  %g2 = net.dot %h, %y batch = [] x [] contract = [0] x [0] : tensor<6x4xf32>, tensor<6x4xf32> -> tensor<4x4xf32>
  // CHECK: net.add
  // CHECK-SAME{LITERAL}: {dist.computes = [#dist.mapping<dims = [[], []], partial = sum ["dp"]>], dist.operands = [#dist.mapping<dims = [[], []], partial = sum ["dp"]>, #dist.mapping<dims = [[], []], partial = sum ["dp"]>], dist.results = [#dist.mapping<dims = [[], []]>]
  %g = net.add %g1, %g2 : tensor<4x4xf32>
  %n = net.subtract %w, %g : tensor<4x4xf32>
  // CHECK: net.multiply
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], []]>, #dist.mapping<dims = [[], []]>], dist.results = [#dist.mapping<dims = [[], []]>]
  %q = net.multiply %g, %g : tensor<4x4xf32>
  // CHECK: net.add
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], []]>, #dist.mapping<dims = [[], []]>], dist.results = [#dist.mapping<dims = [[], []]>]
  %z = net.add %n, %q : tensor<4x4xf32>
  net.assign @w, %z : tensor<4x4xf32>
  return
}

// -----

// One annotation between the blocks makes gathers before products and scattered reductions after them.
dist.mesh @mesh <["tp" = 2]>
net.variable parameter @up : tensor<4x8xf32> {dist.mapping = #dist.mapping<dims = [[], ["tp"]]>}
net.variable parameter @down : tensor<8x4xf32> {dist.mapping = #dist.mapping<dims = [["tp"], []]>}
// CHECK-LABEL: @sequence_parallel
func.func @sequence_parallel(%x: tensor<2x6x4xf32>) -> tensor<2x6x4xf32> {
  // CHECK: net.add
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], ["tp"], []]>, #dist.mapping<dims = [[], ["tp"], []]>], dist.results = [#dist.mapping<dims = [[], ["tp"], []]>]
  %in = net.add %x, %x {dist.results = [#dist.mapping<dims = [[], ["tp"], []]>]} : tensor<2x6x4xf32>
  // CHECK: net.tanh
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], ["tp"], []]>], dist.results = [#dist.mapping<dims = [[], ["tp"], []]>]
  %norm = net.tanh %in : tensor<2x6x4xf32>
  %up = net.read @up : tensor<4x8xf32>
  // CHECK: net.dot
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], [], []]>, #dist.mapping<dims = [[], ["tp"]]>], dist.results = [#dist.mapping<dims = [[], [], ["tp"]]>]
  %h = net.dot %norm, %up batch = [] x [] contract = [2] x [0] : tensor<2x6x4xf32>, tensor<4x8xf32> -> tensor<2x6x8xf32>
  // CHECK: net.tanh
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], [], ["tp"]]>], dist.results = [#dist.mapping<dims = [[], [], ["tp"]]>]
  %a = net.tanh %h : tensor<2x6x8xf32>
  %down = net.read @down : tensor<8x4xf32>
  // CHECK: net.dot
  // CHECK-SAME{LITERAL}: {dist.computes = [#dist.mapping<dims = [[], [], []], partial = sum ["tp"]>], dist.operands = [#dist.mapping<dims = [[], [], ["tp"]]>, #dist.mapping<dims = [["tp"], []]>], dist.results = [#dist.mapping<dims = [[], ["tp"], []]>]
  %y = net.dot %a, %down batch = [] x [] contract = [2] x [0] : tensor<2x6x8xf32>, tensor<8x4xf32> -> tensor<2x6x4xf32>
  // CHECK: net.add
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], ["tp"], []]>, #dist.mapping<dims = [[], ["tp"], []]>], dist.results = [#dist.mapping<dims = [[], ["tp"], []]>]
  %out = net.add %in, %y : tensor<2x6x4xf32>
  // CHECK: net.tanh
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], ["tp"], []]>], dist.results = [#dist.mapping<dims = [[], ["tp"], []]>]
  %e = net.tanh %out : tensor<2x6x4xf32>
  return %e : tensor<2x6x4xf32>
}

// -----

// A square of a partial value is not the partial value of a square.
dist.mesh @mesh <["tp" = 2]>
net.variable parameter @w : tensor<8x4xf32> {dist.mapping = #dist.mapping<dims = [["tp"], []]>}
// CHECK-LABEL: @square_is_not_linear
func.func @square_is_not_linear(%x: tensor<6x8xf32>) -> tensor<6x4xf32> {
  %w = net.read @w : tensor<8x4xf32>
  // CHECK: net.dot
  // CHECK-SAME{LITERAL}: {dist.computes = [#dist.mapping<dims = [[], []], partial = sum ["tp"]>], dist.operands = [#dist.mapping<dims = [[], ["tp"]]>, #dist.mapping<dims = [["tp"], []]>], dist.results = [#dist.mapping<dims = [[], []]>]
  %y = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<6x8xf32>, tensor<8x4xf32> -> tensor<6x4xf32>
  // CHECK: net.multiply
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], []]>, #dist.mapping<dims = [[], []]>], dist.results = [#dist.mapping<dims = [[], []]>]
  %s = net.multiply %y, %y : tensor<6x4xf32>
  return %s : tensor<6x4xf32>
}

// -----

// A batch is not gathered, although reducing the large product sends more.
dist.mesh @mesh <["dp" = 2]> {dist.data_axes = ["dp"]}
// CHECK-LABEL: @data_digit_is_not_gathered
func.func @data_digit_is_not_gathered(%x: tensor<6x2xf32> {dist.mapping = #dist.mapping<dims = [["dp"], []]>}, %big: tensor<64x6xf32>) -> tensor<64x2xf32> {
  // CHECK: net.dot
  // CHECK-SAME{LITERAL}: {dist.computes = [#dist.mapping<dims = [[], []], partial = sum ["dp"]>], dist.operands = [#dist.mapping<dims = [[], ["dp"]]>, #dist.mapping<dims = [["dp"], []]>], dist.results = [#dist.mapping<dims = [[], []]>]
  %y = net.dot %big, %x batch = [] x [] contract = [1] x [0] : tensor<64x6xf32>, tensor<6x2xf32> -> tensor<64x2xf32>
  return %y : tensor<64x2xf32>
}

// -----

// 8 columns over 3 ranks are 3, 3 and 2; a slice keeps the split as long as no rank is left without.
dist.mesh @mesh <["tp" = 3]>
net.variable parameter @w : tensor<4x8xf32> {dist.mapping = #dist.mapping<dims = [[], ["tp"]]>}
// CHECK-LABEL: @sizes_that_do_not_divide
func.func @sizes_that_do_not_divide(%x: tensor<6x4xf32>) -> tensor<6xf32> {
  %w = net.read @w : tensor<4x8xf32>
  // CHECK: net.dot
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], []]>, #dist.mapping<dims = [[], ["tp"]]>], dist.results = [#dist.mapping<dims = [[], ["tp"]]>]
  %y = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<6x4xf32>, tensor<4x8xf32> -> tensor<6x8xf32>
  // CHECK: net.slice
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], ["tp"]]>], dist.results = [#dist.mapping<dims = [[], ["tp"]]>]
  %s = net.slice %y starts = [0, 0] limits = [6, 7] steps = [1, 1] : tensor<6x8xf32> -> tensor<6x7xf32>
  // CHECK: net.reduce
  // CHECK-SAME{LITERAL}: {dist.computes = [#dist.mapping<dims = [[]], partial = sum ["tp"]>], dist.operands = [#dist.mapping<dims = [[], ["tp"]]>], dist.results = [#dist.mapping<dims = [[]]>]
  %r = net.reduce sum %s dims = [1] : tensor<6x7xf32> -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// -----

// An axis of size 1 splits nothing, and an axis that nothing mentions costs nothing.
dist.mesh @mesh <["tp" = 1, "dp" = 2]>
net.variable parameter @w : tensor<4x8xf32> {dist.mapping = #dist.mapping<dims = [[], ["tp"]]>}
// CHECK-LABEL: @axis_of_size_one_decides_nothing
func.func @axis_of_size_one_decides_nothing(%x: tensor<6x4xf32>) -> tensor<6x8xf32> {
  %w = net.read @w : tensor<4x8xf32>
  // CHECK: net.dot
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], []]>, #dist.mapping<dims = [[], []]>], dist.results = [#dist.mapping<dims = [[], []]>]
  %y = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<6x4xf32>, tensor<4x8xf32> -> tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}

// -----

// Constants and masks are computed in parts where all their uses slice them.
dist.mesh @mesh <["tp" = 2]>
// CHECK-LABEL: @masks_are_computed_in_parts
func.func @masks_are_computed_in_parts(%x: tensor<6x8xf32> {dist.mapping = #dist.mapping<dims = [[], ["tp"]]>}) -> tensor<6x8xf32> {
  // CHECK: net.iota
  // CHECK-SAME{LITERAL}: {dist.results = [#dist.mapping<dims = [[], ["tp"]]>]
  %i = net.iota dim = 1 : tensor<6x8xi32>
  // CHECK: net.constant
  // CHECK-SAME{LITERAL}: {dist.results = [#dist.mapping<dims = [[], ["tp"]]>]
  %c = net.constant dense<5> : tensor<6x8xi32>
  // CHECK: net.compare
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], ["tp"]]>, #dist.mapping<dims = [[], ["tp"]]>], dist.results = [#dist.mapping<dims = [[], ["tp"]]>]
  %m = net.compare lt, %i, %c : tensor<6x8xi32> -> tensor<6x8xi1>
  // CHECK: net.constant
  // CHECK-SAME{LITERAL}: {dist.results = [#dist.mapping<dims = [[], ["tp"]]>]
  %z = net.constant dense<0.0> : tensor<6x8xf32>
  // CHECK: net.select
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], ["tp"]]>, #dist.mapping<dims = [[], ["tp"]]>, #dist.mapping<dims = [[], ["tp"]]>], dist.results = [#dist.mapping<dims = [[], ["tp"]]>]
  %y = net.select %m, %x, %z : tensor<6x8xi1>, tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}

// -----

// A value that the product with a split weight gathers anyway is free for the sum, which would be partial otherwise.
dist.mesh @mesh <["tp" = 2]>
net.variable parameter @w : tensor<4x8xf32> {dist.mapping = #dist.mapping<dims = [[], ["tp"]]>}
net.variable parameter @b : tensor<4xf32>
// CHECK-LABEL: @gathered_value_is_available
func.func @gathered_value_is_available(%dy: tensor<6x4xf32> {dist.mapping = #dist.mapping<dims = [["tp"], []]>}) -> tensor<6x8xf32> {
  %w = net.read @w : tensor<4x8xf32>
  // CHECK: net.reduce
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], []]>], dist.results = [#dist.mapping<dims = [[]]>]
  %db = net.reduce sum %dy dims = [0] : tensor<6x4xf32> -> tensor<4xf32>
  net.assign @b, %db : tensor<4xf32>
  // CHECK: net.dot
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], []]>, #dist.mapping<dims = [[], ["tp"]]>], dist.results = [#dist.mapping<dims = [[], ["tp"]]>]
  %dx = net.dot %dy, %w batch = [] x [] contract = [1] x [0] : tensor<6x4xf32>, tensor<4x8xf32> -> tensor<6x8xf32>
  return %dx : tensor<6x8xf32>
}

// -----

// A gradient that is stored in another split is converted once, not once for every moment made of it.
dist.mesh @mesh <["tp" = 2]>
net.variable parameter @w : tensor<8xf32>
net.variable optimizer_state @m : tensor<8xf32>
net.variable optimizer_state @v : tensor<8xf32>
// CHECK-LABEL: @stored_value_converted_where_narrow
func.func @stored_value_converted_where_narrow(%x: tensor<6x8xf32> {dist.mapping = #dist.mapping<dims = [[], ["tp"]]>}) {
  %w = net.read @w : tensor<8xf32>
  %m = net.read @m : tensor<8xf32>
  %v = net.read @v : tensor<8xf32>
  // CHECK: net.reduce
  // CHECK-SAME{LITERAL}: {dist.computes = [#dist.mapping<dims = [["tp"]]>], dist.operands = [#dist.mapping<dims = [[], ["tp"]]>], dist.results = [#dist.mapping<dims = [[]]>]
  %g = net.reduce sum %x dims = [0] : tensor<6x8xf32> -> tensor<8xf32>
  // CHECK: net.multiply
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[]]>, #dist.mapping<dims = [[]]>], dist.results = [#dist.mapping<dims = [[]]>]
  %g2 = net.multiply %g, %g : tensor<8xf32>
  // CHECK: net.add
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[]]>, #dist.mapping<dims = [[]]>], dist.results = [#dist.mapping<dims = [[]]>]
  %nm = net.add %m, %g : tensor<8xf32>
  // CHECK: net.add
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[]]>, #dist.mapping<dims = [[]]>], dist.results = [#dist.mapping<dims = [[]]>]
  %nv = net.add %v, %g2 : tensor<8xf32>
  // CHECK: net.add
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[]]>, #dist.mapping<dims = [[]]>], dist.results = [#dist.mapping<dims = [[]]>]
  %nw = net.add %w, %nm : tensor<8xf32>
  net.assign @m, %nm : tensor<8xf32>
  net.assign @v, %nv : tensor<8xf32>
  net.assign @w, %nw : tensor<8xf32>
  return
}

// -----

// Two values that would each be converted after an elementwise operation share the gather of what they are made of.
dist.mesh @mesh <["tp" = 2]>
net.variable parameter @v : tensor<8x4xf32> {dist.mapping = #dist.mapping<dims = [[], ["tp"]]>}
net.variable parameter @w : tensor<8x4xf32> {dist.mapping = #dist.mapping<dims = [[], ["tp"]]>}
// CHECK-LABEL: @shared_gather
func.func @shared_gather(%x: tensor<6x8xf32> {dist.mapping = #dist.mapping<dims = [["tp"], []]>}) -> (tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x8xf32>) {
  %v = net.read @v : tensor<8x4xf32>
  %w = net.read @w : tensor<8x4xf32>
  // CHECK: net.negate
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], []]>], dist.results = [#dist.mapping<dims = [[], []]>]
  %n = net.negate %x : tensor<6x8xf32>
  // CHECK: net.dot
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], []]>, #dist.mapping<dims = [[], ["tp"]]>], dist.results = [#dist.mapping<dims = [[], ["tp"]]>]
  %y = net.dot %n, %v batch = [] x [] contract = [1] x [0] : tensor<6x8xf32>, tensor<8x4xf32> -> tensor<6x4xf32>
  // CHECK: net.multiply
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], []]>, #dist.mapping<dims = [[], []]>], dist.results = [#dist.mapping<dims = [[], []]>]
  %s = net.multiply %x, %x : tensor<6x8xf32>
  // CHECK: net.dot
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[], []]>, #dist.mapping<dims = [[], ["tp"]]>], dist.results = [#dist.mapping<dims = [[], ["tp"]]>]
  %z = net.dot %s, %w batch = [] x [] contract = [1] x [0] : tensor<6x8xf32>, tensor<8x4xf32> -> tensor<6x4xf32>
  return %y, %z, %x : tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x8xf32>
}

// -----

// A deferred reduction takes place after the last operation that is marked, once for all axes: each holder of a part adds it, and of what an axis
// replicates one holder keeps it.
dist.mesh @mesh <["dp" = 2, "ep" = 3, "tp" = 2]> {dist.data_axes = ["dp"]}
net.variable parameter @a : tensor<6xf32> {dist.mapping = #dist.mapping<dims = [["tp"]]>}
net.variable parameter @b : tensor<6xf32> {dist.mapping = #dist.mapping<dims = [["dp"]]>}
net.variable parameter @c : tensor<6xf32> {dist.mapping = #dist.mapping<dims = [["ep"]]>}
net.variable parameter @d : tensor<6xf32>
// CHECK-LABEL: @deferred_sum_is_reduced_once
func.func @deferred_sum_is_reduced_once() -> tensor<f32> {
  %a = net.read @a : tensor<6xf32>
  %b = net.read @b : tensor<6xf32>
  %c = net.read @c : tensor<6xf32>
  %d = net.read @d : tensor<6xf32>
  // CHECK: net.reduce
  // CHECK-SAME{LITERAL}: dist.results = [#dist.mapping<dims = [], partial = sum ["tp"]>]
  %ra = net.reduce sum %a dims = [0] : tensor<6xf32> -> tensor<f32>
  // CHECK: net.reduce
  // CHECK-SAME{LITERAL}: dist.results = [#dist.mapping<dims = [], partial = sum ["dp"]>]
  %rb = net.reduce sum %b dims = [0] : tensor<6xf32> -> tensor<f32>
  // CHECK: net.reduce
  // CHECK-SAME{LITERAL}: dist.results = [#dist.mapping<dims = [], partial = sum ["ep"]>]
  %rc = net.reduce sum %c dims = [0] : tensor<6xf32> -> tensor<f32>
  // CHECK: net.reduce
  // CHECK-SAME{LITERAL}: dist.results = [#dist.mapping<dims = []>]
  %rd = net.reduce sum %d dims = [0] : tensor<6xf32> -> tensor<f32>
  // CHECK: net.add
  // CHECK-SAME{LITERAL}: dist.results = [#dist.mapping<dims = [], partial = sum ["dp", "tp"]>]
  %ab = net.add %ra, %rb {dist.defer_reduction} : tensor<f32>
  // CHECK: net.add
  // CHECK-SAME{LITERAL}: dist.results = [#dist.mapping<dims = [], partial = sum ["dp", "ep", "tp"]>]
  %abc = net.add %ab, %rc {dist.defer_reduction} : tensor<f32>
  // CHECK: net.add
  // CHECK-SAME{LITERAL}: {dist.computes = [#dist.mapping<dims = [], partial = sum ["dp", "ep", "tp"]>], dist.defer_reduction, dist.operands = [#dist.mapping<dims = [], partial = sum ["dp", "ep", "tp"]>, #dist.mapping<dims = [], partial = sum ["dp", "ep", "tp"]>], dist.results = [#dist.mapping<dims = []>]
  %abcd = net.add %abc, %rd {dist.defer_reduction} : tensor<f32>
  %norm = net.sqrt %abcd : tensor<f32>
  return %norm : tensor<f32>
}

// -----

// A value stored in parts is reduced to these parts, after the marked conversion and in its type.
dist.mesh @mesh <["dp" = 2]> {dist.data_axes = ["dp"]}
net.variable optimizer_state @m : tensor<4xf32> = <constant, 0.000000e+00, 0.000000e+00> {dist.mapping = #dist.mapping<dims = [["dp"]]>}
// CHECK-LABEL: @deferred_before_it_is_scattered
func.func @deferred_before_it_is_scattered(%x: tensor<8x4xf32> {dist.mapping = #dist.mapping<dims = [["dp"], []]>}) {
  %m = net.read @m : tensor<4xf32>
  // CHECK: net.reduce
  // CHECK-SAME{LITERAL}: dist.results = [#dist.mapping<dims = [[]], partial = sum ["dp"]>]
  %g = net.reduce sum %x dims = [0] : tensor<8x4xf32> -> tensor<4xf32>
  // CHECK: net.convert
  // CHECK-SAME{LITERAL}: {dist.computes = [#dist.mapping<dims = [[]], partial = sum ["dp"]>], dist.defer_reduction, dist.operands = [#dist.mapping<dims = [[]], partial = sum ["dp"]>], dist.results = [#dist.mapping<dims = [["dp"]]>]
  %narrow = net.convert %g {dist.defer_reduction} : tensor<4xf32> -> tensor<4xf16>
  %back = net.convert %narrow : tensor<4xf16> -> tensor<4xf32>
  %two = net.multiply %back, %back : tensor<4xf32>
  %next = net.add %m, %two : tensor<4xf32>
  net.assign @m, %next : tensor<4xf32>
  return
}

// -----

// A partial value that all its uses let travel is not reduced where it is made.
dist.mesh @mesh <["dp" = 2]> {dist.data_axes = ["dp"]}
// CHECK-LABEL: @deferred_to_several_uses
func.func @deferred_to_several_uses(%x: tensor<8x4xf32> {dist.mapping = #dist.mapping<dims = [["dp"], []]>}) -> (tensor<4xf16>, tensor<4xf32>) {
  // CHECK: net.reduce
  // CHECK-SAME{LITERAL}: dist.results = [#dist.mapping<dims = [[]], partial = sum ["dp"]>]
  %g = net.reduce sum %x dims = [0] : tensor<8x4xf32> -> tensor<4xf32>
  // CHECK: net.convert
  // CHECK-SAME{LITERAL}: {dist.computes = [#dist.mapping<dims = [[]], partial = sum ["dp"]>], dist.defer_reduction, dist.operands = [#dist.mapping<dims = [[]], partial = sum ["dp"]>], dist.results = [#dist.mapping<dims = [[]]>]
  %narrow = net.convert %g {dist.defer_reduction} : tensor<4xf32> -> tensor<4xf16>
  %half = net.constant dense<0.5> : tensor<4xf32>
  // CHECK: net.multiply
  // CHECK-SAME{LITERAL}: {dist.computes = [#dist.mapping<dims = [[]], partial = sum ["dp"]>]
  %scaled = net.multiply %half, %g {dist.defer_reduction} : tensor<4xf32>
  return %narrow, %scaled : tensor<4xf16>, tensor<4xf32>
}

// -----

// Values that are derived from scalars alone decide no placement: two updates of split biases take their parts of the learning rate, and
// the update of a bias of the same length that every rank keeps stays whole, without a gather.
dist.mesh @mesh <["tp" = 2]>
net.variable parameter @a : tensor<8xf32> {dist.mapping = #dist.mapping<dims = [["tp"]]>}
net.variable parameter @b : tensor<8xf32> {dist.mapping = #dist.mapping<dims = [["tp"]]>}
net.variable parameter @norm : tensor<8xf32>
net.variable counter @rate : tensor<f32>
// CHECK-LABEL: @scalars_decide_nothing
func.func @scalars_decide_nothing() {
  %rate = net.read @rate : tensor<f32>
  // CHECK: net.broadcast
  // CHECK-SAME{LITERAL}: dist.results = [#dist.mapping<dims = [[]]>]
  %lr = net.broadcast %rate dims = [] : tensor<f32> -> tensor<8xf32>
  %a = net.read @a : tensor<8xf32>
  %b = net.read @b : tensor<8xf32>
  %norm = net.read @norm : tensor<8xf32>
  %0 = net.multiply %lr, %a : tensor<8xf32>
  %1 = net.multiply %lr, %b : tensor<8xf32>
  // CHECK: net.multiply
  // CHECK: net.multiply
  // CHECK: net.multiply
  // CHECK-SAME{LITERAL}: {dist.operands = [#dist.mapping<dims = [[]]>, #dist.mapping<dims = [[]]>], dist.results = [#dist.mapping<dims = [[]]>]
  %2 = net.multiply %lr, %norm : tensor<8xf32>
  net.assign @a, %0 : tensor<8xf32>
  net.assign @b, %1 : tensor<8xf32>
  net.assign @norm, %2 : tensor<8xf32>
  return
}

// -----

// A fused projection that is split as a whole: its thirds are exchanged for the parts of all heads, though rows for columns
// would be exchanged for less, since attention goes on by heads.
dist.mesh @mesh <["tp" = 4]>
net.variable parameter @w : tensor<16x96xf32> {dist.mapping = #dist.mapping<dims = [[], ["tp"]]>}
// CHECK-LABEL: @thirds_of_a_fused_projection
func.func @thirds_of_a_fused_projection(%x: tensor<8x16xf32>) -> tensor<4x8x8xf32> {
  %w = net.read @w : tensor<16x96xf32>
  // CHECK: net.dot
  // CHECK-SAME{LITERAL}: dist.results = [#dist.mapping<dims = [[], ["tp"]]>]
  %y = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<8x16xf32>, tensor<16x96xf32> -> tensor<8x96xf32>
  // CHECK: net.slice
  // CHECK-SAME{LITERAL}: dist.operands = [#dist.mapping<dims = [[], [3, "tp"]]>]
  %q = net.slice %y starts = [0, 0] limits = [8, 32] steps = [1, 1] : tensor<8x96xf32> -> tensor<8x32xf32>
  // CHECK: net.slice
  // CHECK-SAME{LITERAL}: dist.operands = [#dist.mapping<dims = [[], [3, "tp"]]>]
  %k = net.slice %y starts = [0, 32] limits = [8, 64] steps = [1, 1] : tensor<8x96xf32> -> tensor<8x32xf32>
  // CHECK: net.slice
  // CHECK-SAME{LITERAL}: dist.operands = [#dist.mapping<dims = [[], [3, "tp"]]>]
  %v = net.slice %y starts = [0, 64] limits = [8, 96] steps = [1, 1] : tensor<8x96xf32> -> tensor<8x32xf32>
  %qh = net.reshape %q : tensor<8x32xf32> -> tensor<8x4x8xf32>
  %kh = net.reshape %k : tensor<8x32xf32> -> tensor<8x4x8xf32>
  %vh = net.reshape %v : tensor<8x32xf32> -> tensor<8x4x8xf32>
  %s = net.dot %qh, %kh batch = [1] x [1] contract = [2] x [2] : tensor<8x4x8xf32>, tensor<8x4x8xf32> -> tensor<4x8x8xf32>
  // CHECK: net.exponential
  // CHECK-SAME{LITERAL}: dist.results = [#dist.mapping<dims = [["tp"], [], []]>]
  %e = net.exponential %s : tensor<4x8x8xf32>
  %o = net.dot %e, %vh batch = [0] x [1] contract = [2] x [0] : tensor<4x8x8xf32>, tensor<8x4x8xf32> -> tensor<4x8x8xf32>
  return %o : tensor<4x8x8xf32>
}
