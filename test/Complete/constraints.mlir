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
