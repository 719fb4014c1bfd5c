// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: split-file %s %t
// DEFINE: %{case} =
// DEFINE: %{check} = not dist-opt %t/model.mlir --dist-annotate-placements="strategy=%t/%{case}.textproto" 2>&1 | FileCheck %t/%{case}.textproto

// Tests that what is wrong with the stages of a pipeline is said at its line and column.
// REDEFINE: %{case} = more-stages-than-blocks
// RUN: %{check}
// REDEFINE: %{case} = number-of-ends
// RUN: %{check}
// REDEFINE: %{case} = unknown-end
// RUN: %{check}
// REDEFINE: %{case} = ends-in-disorder
// RUN: %{check}
// REDEFINE: %{case} = end-on-both-sides
// RUN: %{check}
// REDEFINE: %{case} = empty-stage
// RUN: %{check}
// REDEFINE: %{case} = number-of-globs
// RUN: %{check}
// REDEFINE: %{case} = glob-without-match
// RUN: %{check}
// REDEFINE: %{case} = against-the-flow
// RUN: %{check}
// REDEFINE: %{case} = undivided
// RUN: %{check}
// REDEFINE: %{case} = place-over-stages
// RUN: %{check}
// REDEFINE: %{case} = whole-step
// RUN: not dist-opt %t/whole-step.mlir --dist-annotate-placements="strategy=%t/whole-step.textproto" 2>&1 | FileCheck %t/whole-step.textproto
// REDEFINE: %{case} = order-missing
// RUN: %{check}
// REDEFINE: %{case} = order-unreadable
// RUN: %{check}
// REDEFINE: %{case} = order-incomplete
// RUN: %{check}
// REDEFINE: %{case} = order-ranks
// RUN: %{check}
// REDEFINE: %{case} = order-micro-batches
// RUN: %{check}

//--- model.mlir
net.variable parameter @p.w0 : tensor<4x4xf32>
net.variable parameter @p.w1 : tensor<4x4xf32>
net.variable optimizer_state @"momentum/p.w1" : tensor<4x4xf32> like @p.w1
func.func @step(%x: tensor<8x4xf32> {net.name = "x"}) -> tensor<f32> {
  %w0 = net.read @p.w0 : tensor<4x4xf32>
  %w1 = net.read @p.w1 : tensor<4x4xf32>
  %a = net.dot %x, %w0 batch = [] x [] contract = [1] x [0] {net.role = #net.role<forward>, net.scope = "layer0", net.name = "a"} : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %b = net.tanh %a {net.role = #net.role<forward>, net.scope = "layer0", net.name = "b"} : tensor<8x4xf32>
  %c = net.dot %b, %w1 batch = [] x [] contract = [1] x [0] {net.role = #net.role<forward>, net.scope = "layer1", net.name = "c"} : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %loss = net.reduce sum %c dims = [0, 1] {net.role = #net.role<forward>} : tensor<8x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

//--- more-stages-than-blocks.textproto
mesh { axes { name: "pp" size: 3 } }
train { sgd {} }
# CHECK: more-stages-than-blocks.textproto:[[@LINE+1]]:1: error: there are 3 stages but the network has 2 blocks, which are scopes or variables whose names end in a number; give the stages by hand in match
pipeline { axis: "pp" }

//--- number-of-ends.textproto
mesh { axes { name: "pp" size: 2 } }
train { sgd {} }
# CHECK: number-of-ends.textproto:[[@LINE+1]]:32: error: ends_with names 2 ends but 2 stages have 1
pipeline { axis: "pp" stages { ends_with: "layer0" ends_with: "layer1" } }

//--- unknown-end.textproto
mesh { axes { name: "pp" size: 2 } }
train { sgd {} }
# CHECK: unknown-end.textproto:[[@LINE+1]]:32: error: "layer2" is neither one of the 2 blocks nor a value of forward
pipeline { axis: "pp" stages { ends_with: "layer2" } }

//--- ends-in-disorder.textproto
mesh { axes { name: "pp" size: 3 } }
train { sgd {} }
# CHECK: ends-in-disorder.textproto:[[@LINE+1]]:52: error: block "layer0" is before the end of stage 0
pipeline { axis: "pp" stages { ends_with: "layer1" ends_with: "layer0" } }

//--- end-on-both-sides.textproto
mesh { axes { name: "pp" size: 3 } }
train { sgd {} }
# CHECK: end-on-both-sides.textproto:[[@LINE+1]]:23: error: does not cut the network: "b" is to be of stage 2 or later and of stage 0 or earlier
pipeline { axis: "pp" stages { ends_with: "b" ends_with: "a" } }

//--- empty-stage.textproto
mesh { axes { name: "pp" size: 3 } }
train { sgd {} }
# CHECK: empty-stage.textproto:[[@LINE+1]]:23: error: leaves stage 1 of 3 without any operation that computes with variables and inputs
pipeline { axis: "pp" stages { ends_with: "layer0" ends_with: "layer0" } }

//--- number-of-globs.textproto
mesh { axes { name: "pp" size: 2 } }
train { sgd {} }
# CHECK: number-of-globs.textproto:[[@LINE+1]]:32: error: match has 1 globs but there are 2 stages
pipeline { axis: "pp" stages { match: "layer0" } }

//--- glob-without-match.textproto
mesh { axes { name: "pp" size: 2 } }
train { sgd {} }
# CHECK: glob-without-match.textproto:[[@LINE+1]]:49: error: "layer0" of stage 1 matches no scope, value or variable that earlier globs leave
pipeline { axis: "pp" stages { match: "layer?*" match: "layer0" } }

//--- against-the-flow.textproto
mesh { axes { name: "pp" size: 2 } }
train { sgd {} }
# CHECK: against-the-flow.textproto:[[@LINE+1]]:23: error: does not cut the network: "a" of stage 1 is needed for "c" of stage 0
pipeline { axis: "pp" stages { match: "p.w1" match: "p.w0" } }
# CHECK: note: of stage 1
# CHECK: note: of stage 0

//--- undivided.textproto
mesh { axes { name: "pp" size: 2 } }
model { batch { inputs: "x" } }
train { sgd {} }
# CHECK: undivided.textproto:[[@LINE+1]]:23: error: 3 micro-batches on each of 1 ranks do not divide the 8 samples of "x"
pipeline { axis: "pp" micro_batches: 3 }

//--- place-over-stages.textproto
mesh { axes { name: "pp" size: 2 } }
train { sgd {} }
pipeline { axis: "pp" }
# CHECK: place-over-stages.textproto:[[@LINE+1]]:1: error: axis "pp" is the axis of the pipeline; no value can be split over it
place { match: "x" dims: "[pp, -]" }

//--- whole-step.textproto
mesh { axes { name: "pp" size: 2 } }
# CHECK: whole-step.textproto:[[@LINE+1]]:1: error: a pipeline needs to know backward, but there is no train, and neither scopes nor data flow show backward in the graph, which assigns @p.w0 itself; export it with debug locations
pipeline { axis: "pp" }
# CHECK: whole-step.mlir:8:3: note: assigned here

//--- whole-step.mlir
net.variable parameter @p.w0 : tensor<4x4xf32>
net.variable parameter @p.w1 : tensor<4x4xf32>
func.func @step(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %w0 = net.read @p.w0 : tensor<4x4xf32>
  %w1 = net.read @p.w1 : tensor<4x4xf32>
  %a = net.dot %x, %w0 batch = [] x [] contract = [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %b = net.dot %a, %w1 batch = [] x [] contract = [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  net.assign @p.w0, %w1 : tensor<4x4xf32>
  return %b : tensor<8x4xf32>
}

//--- order-missing.textproto
mesh { axes { name: "pp" size: 2 } }
train { sgd {} }
# CHECK: order-missing.textproto:[[@LINE+1]]:23: error: cannot read "no-such.csv": No such file or directory
pipeline { axis: "pp" order: "no-such.csv" }

//--- order-unreadable.textproto
mesh { axes { name: "pp" size: 2 } }
train { sgd {} }
# CHECK: order-unreadable.textproto:[[@LINE+1]]:23: error: "unreadable.csv": line 2, cell 1:
pipeline { axis: "pp" order: "unreadable.csv" }

//--- unreadable.csv
0F0,0B0
one

//--- order-incomplete.textproto
mesh { axes { name: "pp" size: 2 } }
train { sgd {} }
# CHECK: order-incomplete.textproto:[[@LINE+1]]:23: error: "incomplete.csv": {{.+}}
pipeline { axis: "pp" order: "incomplete.csv" }

//--- incomplete.csv
0F0,0B0
1F0

//--- order-ranks.textproto
mesh { axes { name: "pp" size: 3 } }
train { sgd {} }
# CHECK: order-ranks.textproto:[[@LINE+1]]:23: error: "two.csv" is an order of 2 ranks but axis "pp" has size 3
pipeline { axis: "pp" order: "two.csv" }

//--- order-micro-batches.textproto
mesh { axes { name: "pp" size: 2 } }
model { batch { inputs: "x" } }
train { sgd {} }
# CHECK: order-micro-batches.textproto:[[@LINE+1]]:40: error: "two.csv" is an order of 1 micro-batches but pipeline.micro_batches is 2
pipeline { axis: "pp" micro_batches: 2 order: "two.csv" }

//--- two.csv
0F0,0B0
1F0,1B0
