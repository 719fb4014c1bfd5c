// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: split-file %s %t
// DEFINE: %{case} =
// DEFINE: %{model} = model
// DEFINE: %{check} = not dist-opt %t/%{model}.mlir --dist-annotate-placements="strategy=%t/%{case}.textproto" 2>&1 | FileCheck %t/%{case}.textproto

// Tests that both places are shown where the graph and the strategy disagree.
// REDEFINE: %{case} = other-dimension
// RUN: %{check}
// REDEFINE: %{case} = closed
// RUN: %{check}
// REDEFINE: %{case} = groups
// RUN: %{check}
// REDEFINE: %{case} = size
// RUN: %{check}
// REDEFINE: %{case} = lacks-axis
// RUN: %{check}
// REDEFINE: %{case} = pipeline
// RUN: %{check}
// REDEFINE: %{case} = unreduced
// REDEFINE: %{model} = unreduced
// RUN: %{check}
// REDEFINE: %{case} = unknown-axis
// REDEFINE: %{model} = unknown
// RUN: %{check}
// REDEFINE: %{case} = group-shapes
// REDEFINE: %{model} = group
// RUN: %{check}

//--- model.mlir
module attributes {given.mesh = #given.mesh<["dp" = 2, "tp:(1)2" = 2, "tp:(2)2" = 2]>} {
  net.variable parameter @w : tensor<8x16xf32> {given.sharding = #given.sharding<[{}, {"tp:(1)2", "tp:(2)2"}]>}
  func.func @step(%x: tensor<6x8xf32> {net.name = "x", given.sharding = #given.sharding<[{"dp"}, {}]>}) {
    return
  }
}

//--- other-dimension.textproto
# CHECK: other-dimension.textproto:[[@LINE+3]]:{{.*}} error: this splits "w" over axis "tp:(1)2" otherwise than the graph does; leave it to one of the two
# CHECK: model.mlir:2:3: note: the graph keeps it as #given.sharding<[{}, {"tp:(1)2", "tp:(2)2"}]>

place { match: "w" dims: "[tp, -]" }

//--- closed.textproto
# CHECK: closed.textproto:[[@LINE+2]]:{{.*}} error: this splits "w" over axis "dp" otherwise than the graph does; leave it to one of the two
# CHECK: note: the graph keeps it as
place { match: "w" dims: "[dp, -]" }

//--- groups.textproto
# CHECK: groups.textproto:[[@LINE+2]]:{{.*}} error: this splits "w" over axis "tp:(1)2" otherwise than the graph does; leave it to one of the two
# CHECK: note: the graph keeps it as
place { match: "w" dims: "[-, 2 tp]" }

//--- size.textproto
# CHECK: size.textproto:[[@LINE+2]]:{{.*}} error: axis "tp" has size 8 but the graph is sharded for one of size 4
# CHECK: note: the graph has a mesh of its own
mesh { axes { name: "tp" size: 8 } axes { name: "dp" size: 2 } }

//--- lacks-axis.textproto
# CHECK: lacks-axis.textproto:[[@LINE+2]]:{{.*}} error: the graph is sharded over axis "dp", which the mesh lacks; add it, or leave the mesh out
# CHECK: note: the graph has a mesh of its own
mesh { axes { name: "tp" size: 4 } }

//--- pipeline.textproto
# CHECK: pipeline.textproto:[[@LINE+1]]:{{.*}} error: tensor.axis is one axis, but the graph divides "tp" into "tp:(1)2", "tp:(2)2"
tensor { axis: "tp" }

//--- unreduced.mlir
module attributes {given.mesh = #given.mesh<["dp" = 2]>} {
  func.func @step(%x: tensor<6x8xf32> {net.name = "x", given.sharding = #given.sharding<[{}, {}], unreduced = ["dp"]>}) {
    return
  }
}

//--- unreduced.textproto
# CHECK: unreduced.mlir:2:19: error: "x" is a sum that is still to be reduced over axis "dp"; values that come from outside are whole or split

//--- unknown.mlir
module attributes {given.mesh = #given.mesh<["dp" = 2]>} {
  func.func @step(%x: tensor<6x8xf32> {net.name = "x", given.sharding = #given.sharding<[{"tp"}, {}]>}) {
    return
  }
}

//--- unknown-axis.textproto
# CHECK: error: the mesh has no axis "tp"

//--- group.mlir
module attributes {given.mesh = #given.mesh<["dp" = 2]>} {
  func.func @step(%x: tensor<6xf32>, %y: tensor<8xf32>) {
    %0 = given.constrain %x group 1 : tensor<6xf32>
    %1 = given.constrain %y group 1 : tensor<8xf32>
    return
  }
}

//--- group-shapes.textproto
# CHECK: group.mlir:4:10: error: group 1 has values of 'tensor<6xf32>' and 'tensor<8xf32>'; values that are kept alike have one shape
# CHECK: group.mlir:3:10: note: the first is here
