// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file --dist-complete-propagate --dist-complete-verify | FileCheck %s

// Tests that constraints of the graph are kept as they are stated, and nothing of them is left on variables and inputs.

// A closed constraint is whole on axes that it does not name, and what is partial is reduced to what it asks for.
// CHECK-NOT: given.mesh
module attributes {given.mesh = #given.mesh<["dp" = 2, "tp" = 2]>} {
  dist.mesh @mesh <["dp" = 2, "tp" = 2]> {dist.data_axes = ["dp"]}
  net.variable parameter @w : tensor<8x4xf32> {dist.mapping = #dist.mapping<dims = [["tp"], []]>, given.sharding = #given.sharding<[{"tp"}, {}]>}
  // CHECK-LABEL: @partial_is_scattered
  // CHECK-NOT: given.sharding
  func.func @partial_is_scattered(%x: tensor<6x8xf32> {dist.mapping = #dist.mapping<dims = [["dp"], []]>}) -> tensor<6x4xf32> {
    %w = net.read @w : tensor<8x4xf32>
    %y = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<6x8xf32>, tensor<8x4xf32> -> tensor<6x4xf32>
    // CHECK: given.constrain %{{.*}} to <[{"dp"}, {"tp"}]>
    // CHECK-SAME{LITERAL}: dist.results = [#dist.mapping<dims = [["dp"], ["tp"]]>]
    %z = given.constrain %y to <[{"dp"}, {"tp"}]> {dist.results = [#dist.mapping<dims = [["dp"], ["tp"]]>]} : tensor<6x4xf32>
    return %z : tensor<6x4xf32>
  }
}

// -----

// A value that comes split is whole behind a closed constraint that does not name the axis, and stays split behind an open one.
module attributes {given.mesh = #given.mesh<["tp" = 2]>} {
  dist.mesh @mesh <["tp" = 2]>
  // CHECK-LABEL: @closed_and_open
  func.func @closed_and_open(%x: tensor<6x8xf32> {dist.mapping = #dist.mapping<dims = [[], ["tp"]]>}) -> (tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>) {
    // CHECK: given.constrain %{{.*}} to <[{}, {}]>
    // CHECK-SAME{LITERAL}: dist.results = [#dist.mapping<dims = [[], []]>]
    %closed = given.constrain %x to <[{}, {}]> {dist.results = [#dist.mapping<dims = [[], []]>]} : tensor<6x8xf32>
    // CHECK: given.constrain %{{.*}} to <[{}, {?}]>
    // CHECK-SAME{LITERAL}: dist.results = [#dist.mapping<dims = [[], ["tp"]]>]
    %open = given.constrain %x to <[{}, {?}]> {dist.results = [#dist.mapping<dims = [[], []]>]} : tensor<6x8xf32>
    // The dimension that is split is closed here.
    // CHECK: given.constrain %{{.*}} to <[{?}, {}]>
    // CHECK-SAME{LITERAL}: dist.results = [#dist.mapping<dims = [[], []]>]
    %other = given.constrain %x to <[{?}, {}]> {dist.results = [#dist.mapping<dims = [[], []]>]} : tensor<6x8xf32>
    return %closed, %open, %other : tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>
  }
}

// -----

// A constraint may ask for a sum that is still to be reduced.
module attributes {given.mesh = #given.mesh<["tp" = 2]>} {
  dist.mesh @mesh <["tp" = 2]>
  // CHECK-LABEL: @unreduced
  func.func @unreduced(%x: tensor<6x8xf32> {dist.mapping = #dist.mapping<dims = [[], ["tp"]]>}, %y: tensor<8x4xf32> {dist.mapping = #dist.mapping<dims = [["tp"], []]>}) -> tensor<6x4xf32> {
    %0 = net.dot %x, %y batch = [] x [] contract = [1] x [0] : tensor<6x8xf32>, tensor<8x4xf32> -> tensor<6x4xf32>
    // CHECK: given.constrain
    // CHECK-SAME{LITERAL}: dist.results = [#dist.mapping<dims = [[], []], partial = sum ["tp"]>]
    %1 = given.constrain %0 to <[{}, {}], unreduced = ["tp"]> {dist.results = [#dist.mapping<dims = [[], []], partial = sum ["tp"]>]} : tensor<6x4xf32>
    return %1 : tensor<6x4xf32>
  }
}

// -----

// The values of a group are kept in one placement, that of the one that is split.
module attributes {given.mesh = #given.mesh<["tp" = 2]>} {
  dist.mesh @mesh <["tp" = 2]>
  // CHECK-LABEL: @group
  func.func @group(%x: tensor<8xf32> {dist.mapping = #dist.mapping<dims = [["tp"]]>}, %y: tensor<8xf32> {dist.mapping = #dist.mapping<dims = [[]]>}) -> (tensor<8xf32>, tensor<8xf32>) {
    // CHECK: given.constrain %{{.*}} group 1 {{.*}}dist.results = [#dist.mapping<dims = {{\[\[}}"tp"]]>]
    %a = given.constrain %y group 1 : tensor<8xf32>
    // CHECK: given.constrain %{{.*}} group 1 {{.*}}dist.results = [#dist.mapping<dims = {{\[\[}}"tp"]]>]
    %b = given.constrain %x group 1 : tensor<8xf32>
    return %a, %b : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// The axis with the smaller priority is decided first, and takes the only dimension that both could split.
module attributes {given.mesh = #given.mesh<["a" = 2, "b" = 2]>} {
  dist.mesh @mesh <["a" = 2, "b" = 2]>
  // CHECK-LABEL: @first_axis
  func.func @first_axis(%x: tensor<2xf32> {dist.mapping = #dist.mapping<dims = [["a"]]>, given.sharding = #given.sharding<[{"a"}p1]>}, %y: tensor<2xf32> {dist.mapping = #dist.mapping<dims = [["b"]]>, given.sharding = #given.sharding<[{"b"}p0]>}) -> tensor<2xf32> {
    // CHECK: net.add
    // CHECK-SAME{LITERAL}: dist.results = [#dist.mapping<dims = [["b"]]>]
    %0 = net.add %x, %y : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}

// -----

// Where splits over one axis meet, the one with the smaller priority decides, though two operands would have to be
// converted instead of one; and so it does for what is computed from it.
module attributes {given.mesh = #given.mesh<["tp" = 2]>} {
  dist.mesh @mesh <["tp" = 2]>
  // CHECK-LABEL: @first_split
  func.func @first_split(%p: tensor<4x4xi1> {dist.mapping = #dist.mapping<dims = [["tp"], []]>, given.sharding = #given.sharding<[{"tp"}p1, {}]>}, %x: tensor<4x4xf32> {dist.mapping = #dist.mapping<dims = [["tp"], []]>, given.sharding = #given.sharding<[{"tp"}p1, {}]>}, %y: tensor<4x4xf32> {dist.mapping = #dist.mapping<dims = [[], ["tp"]]>, given.sharding = #given.sharding<[{}, {"tp"}]>}) -> tensor<4x4xf32> {
    // CHECK: net.exponential
    // CHECK-SAME{LITERAL}: dist.results = [#dist.mapping<dims = [[], ["tp"]]>]
    %0 = net.exponential %y : tensor<4x4xf32>
    // CHECK: net.select
    // CHECK-SAME{LITERAL}: dist.results = [#dist.mapping<dims = [[], ["tp"]]>]
    %1 = net.select %p, %x, %0 : tensor<4x4xi1>, tensor<4x4xf32>
    return %1 : tensor<4x4xf32>
  }
}

// -----

// Without priorities fewer bytes decide.
module attributes {given.mesh = #given.mesh<["tp" = 2]>} {
  dist.mesh @mesh <["tp" = 2]>
  // CHECK-LABEL: @fewer_bytes
  func.func @fewer_bytes(%p: tensor<4x4xi1> {dist.mapping = #dist.mapping<dims = [["tp"], []]>, given.sharding = #given.sharding<[{"tp"}, {}]>}, %x: tensor<4x4xf32> {dist.mapping = #dist.mapping<dims = [["tp"], []]>, given.sharding = #given.sharding<[{"tp"}, {}]>}, %y: tensor<4x4xf32> {dist.mapping = #dist.mapping<dims = [[], ["tp"]]>, given.sharding = #given.sharding<[{}, {"tp"}]>}) -> tensor<4x4xf32> {
    // CHECK: net.select
    // CHECK-SAME{LITERAL}: dist.results = [#dist.mapping<dims = [["tp"], []]>]
    %0 = net.select %p, %x, %y : tensor<4x4xi1>, tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}

// -----

// A weight moves where a split with a smaller priority meets it.
module attributes {given.mesh = #given.mesh<["tp" = 2]>} {
  dist.mesh @mesh <["tp" = 2]>
  net.variable parameter @w : tensor<8x4xf32> {dist.mapping = #dist.mapping<dims = [[], ["tp"]]>, given.sharding = #given.sharding<[{}, {"tp"}p1]>}
  // CHECK-LABEL: @weight_moves
  func.func @weight_moves(%x: tensor<6x8xf32> {dist.mapping = #dist.mapping<dims = [["tp"], []]>, given.sharding = #given.sharding<[{"tp"}p0, {}]>}) -> tensor<6x4xf32> {
    %w = net.read @w : tensor<8x4xf32>
    // CHECK: net.dot
    // CHECK-SAME{LITERAL}: dist.results = [#dist.mapping<dims = [["tp"], []]>]
    %y = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<6x8xf32>, tensor<8x4xf32> -> tensor<6x4xf32>
    return %y : tensor<6x4xf32>
  }
}
