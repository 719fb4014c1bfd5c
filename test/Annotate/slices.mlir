// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: split-file %s %t
// RUN: dist-opt %t/model.mlir --dist-annotate-placements="strategy=%t/slices.textproto" | FileCheck %s
// RUN: dist-opt %t/model.mlir --dist-annotate-placements="strategy='model{batch{inputs:\"ids\"}} train{sgd{} gradient_accumulation{slices:3}}'" | FileCheck %s --check-prefix=ALONE
// RUN: not dist-opt %t/model.mlir --dist-annotate-placements="strategy=%t/undivided.textproto" 2>&1 | FileCheck %t/undivided.textproto --check-prefix=ERROR
// RUN: not dist-opt %t/model.mlir --dist-annotate-placements="strategy=%t/by-hand.textproto" 2>&1 | FileCheck %t/by-hand.textproto --check-prefix=ERROR
// RUN: not dist-opt %t/model.mlir --dist-annotate-placements="strategy=%t/no-slices.textproto" 2>&1 | FileCheck %t/no-slices.textproto --check-prefix=ERROR
// RUN: not dist-opt %t/model.mlir --dist-annotate-placements="strategy=%t/no-batch.textproto" 2>&1 | FileCheck %t/no-batch.textproto --check-prefix=ERROR
// RUN: not dist-opt %t/model.mlir --dist-annotate-placements="strategy=%t/name.textproto" 2>&1 | FileCheck %t/name.textproto --check-prefix=ERROR

// Tests that slices are an axis of times, after the data axes of every batch.

// CHECK: dist.mesh @mesh <["dp" = 2, slices "micro" = 3]> {dist.data_axes = ["dp"]}
// CHECK: %{{.*}}: tensor<12x3xi32> {dist.mapping = #dist.mapping<dims = {{\[\[}}"dp", "micro"], []]>
// CHECK-SAME: tensor<3x12xf32> {dist.mapping = #dist.mapping<dims = {{\[\[}}], ["dp", "micro"]]>
// ALONE: dist.mesh @mesh <[slices "micro" = 3]>
// ALONE: tensor<12x3xi32> {dist.mapping = #dist.mapping<dims = {{\[\[}}"micro"], []]>

//--- model.mlir
func.func @train(%ids: tensor<12x3xi32> {net.name = "ids"}, %mask: tensor<3x12xf32> {net.name = "mask"}) {
  return
}

//--- slices.textproto
mesh { axes { name: "dp" size: 2 } }
model { batch { inputs: "ids" } batch { inputs: "mask" dim: 1 } }
train { sgd {} gradient_accumulation { slices: 3 } }
data { axes: "dp" }

//--- undivided.textproto
mesh { axes { name: "dp" size: 2 } }
model { batch { inputs: "ids" } }
train { sgd {} gradient_accumulation { slices: 4 } }
data { axes: "dp" }
# ERROR: undivided.textproto:3:40: error: 4 slices on each of 2 ranks do not divide the 12 samples of "ids"

//--- by-hand.textproto
model { batch { inputs: "ids" } }
train { sgd {} gradient_accumulation { slices: 4 } }
place { match: "mask" dims: "[-, micro]" }
# ERROR: error: the mesh has no axis "micro"

//--- no-slices.textproto
train { sgd {} gradient_accumulation { slices: 0 } }
# ERROR: error: train.gradient_accumulation.slices is 0; it is at least 1 and at most 65536

//--- no-batch.textproto
train { sgd {} gradient_accumulation { slices: 4 } }
# ERROR: error: train.gradient_accumulation.slices splits a batch; model.batch names the inputs and their batch dimension

//--- name.textproto
mesh { axes { name: "micro" size: 2 } }
model { batch { inputs: "ids" } }
train { sgd {} gradient_accumulation { slices: 4 } }
# ERROR: error: axis "micro" has the name of the axis of train.gradient_accumulation.slices
