// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: split-file %s %t
// DEFINE: %{axes} = mesh { axes { name: "pp" size: 2 } }
// DEFINE: %{pipeline} =
// DEFINE: %{model} = %t/model.mlir
// DEFINE: %{run} = echo '%{axes} model { batch { inputs: "x" } } train { sgd {} } pipeline { axis: "pp" %{pipeline} }' > %t/s.textproto && dist-opt %{model} --dist-annotate-placements=strategy=%t/s.textproto | FileCheck %s

// Tests that stages have equally many blocks, and that operations before the first and after the last block belong to them.
// RUN: %{run} --check-prefix=HALVES
// HALVES: @p.table{{.*}} on {"pp" = [0]}
// HALVES: @p.head{{.*}} on {"pp" = [1]}
// HALVES: dist.stage = 0 : i64, net.name = "in"
// HALVES: dist.stage = 0 : i64, net.name = "a"
// HALVES: dist.stage = 0 : i64, net.name = "b"
// HALVES: dist.stage = 1 : i64, net.name = "c"
// HALVES: dist.stage = 1 : i64, net.name = "d"
// HALVES: dist.stage = 1 : i64, net.name = "out"

// Tests that networks without scopes have blocks by the names of their variables.
// REDEFINE: %{model} = %t/unscoped.mlir
// RUN: sed 's/, net.scope = "layer."//' %t/model.mlir > %t/unscoped.mlir
// RUN: %{run} --check-prefix=HALVES
// REDEFINE: %{model} = %t/model.mlir

// Tests that the table, which the first block reads, counts with it.
// REDEFINE: %{pipeline} = stages { balanced: PARAMETERS }
// RUN: %{run} --check-prefix=FIRST

// Tests that a stage ends after a block.
// REDEFINE: %{pipeline} = stages { ends_with: "layer0" }
// RUN: %{run} --check-prefix=FIRST

// Tests that it ends after a value, in any block.
// REDEFINE: %{pipeline} = stages { ends_with: "a" }
// RUN: %{run} --check-prefix=FIRST

// Tests that globs say what is of which stage, the first one that matches.
// REDEFINE: %{pipeline} = stages { match: "layer0" match: "layer?*" }
// RUN: %{run} --check-prefix=FIRST

// Tests that they match variables too.
// REDEFINE: %{pipeline} = stages { match: "p.w0" match: "p.w*" }
// RUN: %{run} --check-prefix=FIRST
// FIRST: dist.stage = 0 : i64, net.name = "in"
// FIRST: dist.stage = 0 : i64, net.name = "a"
// FIRST: dist.stage = 1 : i64, net.name = "b"
// FIRST: dist.stage = 1 : i64, net.name = "c"
// FIRST: dist.stage = 1 : i64, net.name = "d"
// FIRST: dist.stage = 1 : i64, net.name = "out"

// Tests that the operations of the head count with the last block.
// REDEFINE: %{pipeline} = stages { balanced: COST }
// RUN: %{run} --check-prefix=LAST
// LAST: dist.stage = 0 : i64, net.name = "c"
// LAST: dist.stage = 1 : i64, net.name = "d"
// LAST: dist.stage = 1 : i64, net.name = "out"

// Tests that operations after the last block may be a stage of their own.
// REDEFINE: %{pipeline} = stages { ends_with: "layer3" }
// RUN: %{run} --check-prefix=HEAD
// HEAD: dist.stage = 0 : i64, net.name = "d"
// HEAD: dist.stage = 1 : i64, net.name = "out"

// Tests that several stages are on one rank, in the order of the schedule: here one after the other, there back again.
// REDEFINE: %{pipeline} = micro_batches: 4 chunks: 2 schedule: BREADTH_FIRST
// RUN: %{run} --check-prefixes=CHUNKS,LOOP
// REDEFINE: %{pipeline} = micro_batches: 4 chunks: 2 schedule: ZB_V
// RUN: %{run} --check-prefixes=CHUNKS,BACK
// CHUNKS: dist.stage_axis = "pp", dist.task_order = "0F0,
// CHUNKS: @p.w0{{.*}} on {"pp" = [0]}
// CHUNKS: @p.w1{{.*}} on {"pp" = [1]}
// LOOP: @p.w2{{.*}} on {"pp" = [0]}
// LOOP: @p.w3{{.*}} on {"pp" = [1]}
// BACK: @p.w2{{.*}} on {"pp" = [1]}
// BACK: @p.w3{{.*}} on {"pp" = [0]}
// CHUNKS: dist.stage = 0 : i64, net.name = "a"
// CHUNKS: dist.stage = 1 : i64, net.name = "b"
// CHUNKS: dist.stage = 2 : i64, net.name = "c"
// CHUNKS: dist.stage = 3 : i64, net.name = "d"

// Tests that the order may come from a file beside the strategy.
// REDEFINE: %{pipeline} = micro_batches: 2 order: "order.csv"
// RUN: %{run} --check-prefix=FILE
// FILE: dist.task_order = "0F0,0F1,0B1,0B0\0A1F0,1F1,1B1,1B0\0A"
// FILE: @p.w1{{.*}} on {"pp" = [0]}
// FILE: @p.w2{{.*}} on {"pp" = [1]}

// Tests that the ranks of every stage share the variables of that stage among them: one has the largest, the other the rest.
// REDEFINE: %{axes} = mesh { axes { name: "dp" size: 2 } axes { name: "pp" size: 2 } } data { axes: "dp" } zero { axes: "dp" stage: 3 ownership: WHOLE }
// REDEFINE: %{pipeline} =
// RUN: %{run} --check-prefix=OWNERS
// OWNERS: @p.table{{.*}} on {"dp" = [0], "pp" = [0]}
// OWNERS: @p.w0{{.*}} on {"dp" = [1], "pp" = [0]}
// OWNERS: @p.w1{{.*}} on {"dp" = [1], "pp" = [0]}
// OWNERS: @p.w2{{.*}} on {"dp" = [1], "pp" = [1]}
// OWNERS: @p.w3{{.*}} on {"dp" = [1], "pp" = [1]}
// OWNERS: @p.head{{.*}} on {"dp" = [0], "pp" = [1]}

//--- order.csv
0F0,0F1,,,0B1,0B0
1F0,1F1,1B1,1B0

//--- model.mlir
net.variable parameter @p.table : tensor<64x4xf32>
net.variable parameter @p.w0 : tensor<4x4xf32>
net.variable parameter @p.w1 : tensor<4x4xf32>
net.variable parameter @p.w2 : tensor<4x4xf32>
net.variable parameter @p.w3 : tensor<4x4xf32>
net.variable parameter @p.head : tensor<4x8xf32>
func.func @step(%x: tensor<8x4xf32> {net.name = "x"}) -> tensor<8x8xf32> {
  %table = net.read @p.table : tensor<64x4xf32>
  %rows = net.slice %table starts = [0, 0] limits = [8, 4] steps = [1, 1] : tensor<64x4xf32> -> tensor<8x4xf32>
  %w0 = net.read @p.w0 : tensor<4x4xf32>
  %w1 = net.read @p.w1 : tensor<4x4xf32>
  %w2 = net.read @p.w2 : tensor<4x4xf32>
  %w3 = net.read @p.w3 : tensor<4x4xf32>
  %head = net.read @p.head : tensor<4x8xf32>
  %in = net.add %x, %rows {net.name = "in", net.role = #net.role<forward>} : tensor<8x4xf32>
  %a = net.dot %in, %w0 batch = [] x [] contract = [1] x [0] {net.name = "a", net.role = #net.role<forward>, net.scope = "layer0"} : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %b = net.dot %a, %w1 batch = [] x [] contract = [1] x [0] {net.name = "b", net.role = #net.role<forward>, net.scope = "layer1"} : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %c = net.dot %b, %w2 batch = [] x [] contract = [1] x [0] {net.name = "c", net.role = #net.role<forward>, net.scope = "layer2"} : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %d = net.dot %c, %w3 batch = [] x [] contract = [1] x [0] {net.name = "d", net.role = #net.role<forward>, net.scope = "layer3"} : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %out = net.dot %d, %head batch = [] x [] contract = [1] x [0] {net.name = "out", net.role = #net.role<forward>} : tensor<8x4xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
  return %out : tensor<8x8xf32>
}
