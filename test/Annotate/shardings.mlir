// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: split-file %s %t
// RUN: dist-opt %t/model.mlir --dist-annotate-placements | FileCheck %s
// RUN: dist-opt %t/model.mlir --dist-annotate-placements="strategy=%t/adds.textproto" | FileCheck %s --check-prefix=ADDS
// RUN: dist-opt %t/stored.mlir --dist-annotate-placements | FileCheck %s --check-prefix=STORED

// Tests that a graph with shardings of its own needs no strategy: its mesh, its placements, the axes of its inputs as those of the batch.

//--- model.mlir
// CHECK: dist.mesh @mesh <["dp" = 2, "tp" = 2]> {dist.data_axes = ["dp"]}
// CHECK: @w : tensor<8x4xf32> {dist.mapping = #dist.mapping<dims = {{\[}}[], ["tp"]]>
// CHECK: @m : tensor<8x4xf32> like @w {dist.mapping = #dist.mapping<dims = {{\[}}[], ["tp"]]>
// CHECK: @b : tensor<4xf32>{{$}}
// CHECK: %arg0: tensor<6x8xf32> {dist.mapping = #dist.mapping<dims = {{\[}}["dp"], []]>, given.sharding = {{.*}}, net.batch_dim = 0 : i64, net.name = "x"}
// CHECK: given.constrain %{{.*}} to <[{"dp"}, {?}]> {dist.results = [#dist.mapping<dims = {{\[}}["dp"], []]>]}

// What a strategy adds comes after what the graph says, on axes and open dimensions of which it says nothing.
// ADDS: dist.mesh @mesh <["pp" = 2, "dp" = 2, "tp" = 2]> {dist.data_axes = ["dp"]}
// ADDS: @b : tensor<4xf32> {dist.mapping = #dist.mapping<dims = {{\[}}["tp"]]>}
// ADDS: %arg0: tensor<6x8xf32> {dist.mapping = #dist.mapping<dims = {{\[}}["dp"], ["pp"]]>
module attributes {given.mesh = #given.mesh<["dp" = 2, "tp" = 2]>} {
  net.variable parameter @w : tensor<8x4xf32> {given.sharding = #given.sharding<[{}, {"tp"}]>}
  net.variable optimizer_state @m : tensor<8x4xf32> like @w
  net.variable parameter @b : tensor<4xf32>
  func.func @step(%x: tensor<6x8xf32> {net.name = "x", given.sharding = #given.sharding<[{"dp"}, {}]>}) -> tensor<6x4xf32> {
    %w = net.read @w : tensor<8x4xf32>
    %y = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<6x8xf32>, tensor<8x4xf32> -> tensor<6x4xf32>
    %z = given.constrain %y to <[{"dp"}, {?}]> : tensor<6x4xf32>
    return %z : tensor<6x4xf32>
  }
}

//--- adds.textproto
mesh { axes { name: "pp" size: 2 } axes { name: "dp" size: 2 } axes { name: "tp" size: 2 } }
place { match: "b" dims: "[tp]" }
place { match: "x" dims: "[dp, pp]" }

//--- stored.mlir
// A parameter that is split over an axis of the batch is stored so: it is read whole where it is computed with, and its optimizer works
// on the part, also where only the state is split.
// STORED: @w : tensor<8x4xf32> {dist.mapping = #dist.mapping<dims = {{\[}}["dp"], ["tp"]]>
// STORED: @u : tensor<8x4xf32>{{$}}
// STORED: @m : tensor<8x4xf32> like @u {dist.mapping = #dist.mapping<dims = {{\[}}["dp"], []]>
// STORED: net.read @w {dist.results = [#dist.mapping<dims = {{\[}}["dp"], ["tp"]]>], net.role = #net.role<optimize>}
// STORED: net.read @w {dist.results = [#dist.mapping<dims = {{\[}}[], ["tp"]]>]}
// STORED: net.read @u {dist.results = [#dist.mapping<dims = {{\[}}["dp"], []]>], net.role = #net.role<optimize>}
// STORED: net.read @u : tensor<8x4xf32>
// STORED: dist.results = [#dist.mapping<dims = {{\[}}["dp"], ["tp"]]>], net.name = "grad/w"
// STORED: dist.results = [#dist.mapping<dims = {{\[}}["dp"], []]>], net.name = "grad/u"
module attributes {given.mesh = #given.mesh<["dp" = 2, "tp" = 2]>} {
  net.variable parameter @w : tensor<8x4xf32> {given.sharding = #given.sharding<[{"dp"}, {"tp"}]>}
  net.variable parameter @u : tensor<8x4xf32>
  net.variable optimizer_state @m : tensor<8x4xf32> like @u {given.sharding = #given.sharding<[{"dp"}, {}]>}
  func.func @step(%x: tensor<6x8xf32> {net.name = "x", given.sharding = #given.sharding<[{"dp"}, {}]>}) -> tensor<6x4xf32> {
    %w = net.read @w : tensor<8x4xf32>
    %u = net.read @u : tensor<8x4xf32>
    %m = net.read @m : tensor<8x4xf32>
    %both = net.add %w, %u : tensor<8x4xf32>
    %y = net.dot %x, %both batch = [] x [] contract = [1] x [0] : tensor<6x8xf32>, tensor<8x4xf32> -> tensor<6x4xf32>
    %gw = net.dot %x, %y batch = [] x [] contract = [0] x [0] {net.name = "grad/w", net.role = #net.role<backward>} : tensor<6x8xf32>, tensor<6x4xf32> -> tensor<8x4xf32>
    %gu = net.negate %gw {net.name = "grad/u", net.role = #net.role<backward>} : tensor<8x4xf32>
    %w1 = net.subtract %w, %gw {net.role = #net.role<optimize>} : tensor<8x4xf32>
    %m1 = net.add %m, %gu {net.role = #net.role<optimize>} : tensor<8x4xf32>
    %u1 = net.subtract %u, %m1 {net.role = #net.role<optimize>} : tensor<8x4xf32>
    net.assign @w, %w1 : tensor<8x4xf32>
    net.assign @m, %m1 : tensor<8x4xf32>
    net.assign @u, %u1 : tensor<8x4xf32>
    return %y : tensor<6x4xf32>
  }
}
