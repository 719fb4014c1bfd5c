// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: split-file %s %t
// RUN: dist-opt %t/model.mlir --dist-annotate-placements="strategy=%t/data-and-tensor.textproto" | FileCheck %s --check-prefixes=BOTH
// RUN: dist-opt %t/model.mlir --dist-annotate-placements="strategy=%t/remaining.textproto ranks=12" | FileCheck %s --check-prefix=REMAINING
// RUN: dist-opt %t/model.mlir --dist-annotate-placements="strategy=%t/by-hand.textproto" | FileCheck %s --check-prefix=HAND
// RUN: dist-opt %t/model.mlir --dist-annotate-placements="strategy=%t/parts.textproto" | FileCheck %s --check-prefix=PARTS
// RUN: dist-opt %t/model.mlir --dist-annotate-placements="strategy=%t/sequence.textproto" | FileCheck %s --check-prefix=SEQUENCE
// RUN: dist-opt %t/model.mlir --dist-annotate-placements="strategy=%t/sequence-of-one.textproto" | FileCheck %s --check-prefix=ONE
// RUN: dist-opt %t/model.mlir --dist-annotate-placements="strategy='mesh{axes{name:\"solo\" size:3}}'" | FileCheck %s --check-prefix=TEXT

// Tests that the strategy's words become a mesh and placements, and nothing else is placed.

//--- model.mlir
net.variable parameter @p.attn.kernel : tensor<12x4xf32>
net.variable parameter @p.mlp.kernel : tensor<8x4xf32>
net.variable parameter @p.mlp.bias : tensor<8xf32>
net.variable optimizer_state @"adamw.m/p.attn.kernel" : tensor<12x4xf32> like @p.attn.kernel
net.variable optimizer_state @"adamw.v/p.mlp.bias" : tensor<8xf32> like @p.mlp.bias
net.variable counter @step : tensor<i32>
func.func @train(%ids: tensor<6x3xi32> {net.name = "ids"}, %mask: tensor<3x6xf32> {net.name = "mask"},
                 %x: tensor<6x3x4xf32> {net.name = "x"}, %odd: tensor<13x2xf32> {net.name = "odd"}) -> tensor<6x3x8xf32> {
  %position = net.add %x, %x {net.name = "embedded"} : tensor<6x3x4xf32>
  %attn = net.read @p.attn.kernel : tensor<12x4xf32>
  %mlp = net.read @p.mlp.kernel : tensor<8x4xf32>
  %turned = net.transpose %mlp dims = [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
  %y = net.dot %position, %turned batch = [] x [] contract = [2] x [0] {net.name = "mlp.out"} : tensor<6x3x4xf32>, tensor<4x8xf32> -> tensor<6x3x8xf32>
  return %y : tensor<6x3x8xf32>
}

//--- parts.textproto
# Ranks have whole parts of sums: 13 samples are parts of 4, 4, 4 and 1. Of 6 samples, 3 parts of 2 would leave none for
# the fourth; they are split as without `reproducible`.
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 2 } }
model { batch { inputs: "ids" } batch { inputs: "odd" } }
data { axes: "dp" axes: "tp" }
reproducible { parts: 4 }

# PARTS: tensor<6x3xi32> {dist.mapping = #dist.mapping<dims = {{\[}}["dp", "tp"], []]>
# PARTS-SAME: tensor<13x2xf32> {dist.mapping = #dist.mapping<dims = {{\[}}["dp" by 8, "tp"], []]>

//--- data-and-tensor.textproto
# The first rule that matches a parameter counts; what is like a parameter is placed like it.
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 2 } }
model { batch { inputs: "ids" inputs: "x" } batch { inputs: "mask" dim: 1 } }
data { axes: "dp" }
tensor {
  axis: "tp"
  split { match: "*.attn.kernel" dim: 0 groups: 3 }
  split { match: "*.kernel" dim: 1 }
}

# BOTH: dist.mesh @mesh <["dp" = 2, "tp" = 2]> {dist.data_axes = ["dp"]}
# BOTH: @p.attn.kernel {{.*}}dims = {{\[}}[3, "tp"], []]
# BOTH: @p.mlp.kernel {{.*}}dims = {{\[}}[], ["tp"]]
# BOTH: @p.mlp.bias : tensor<8xf32>{{$}}
# BOTH: @"adamw.m/p.attn.kernel" {{.*}}dims = {{\[}}[3, "tp"], []]
# BOTH: @"adamw.v/p.mlp.bias" {{.*}} like @p.mlp.bias{{$}}
# BOTH: @step : tensor<i32>{{$}}
# BOTH: tensor<6x3xi32> {dist.mapping = #dist.mapping<dims = {{\[}}["dp"], []]>,
# BOTH-SAME: tensor<3x6xf32> {dist.mapping = #dist.mapping<dims = {{\[}}[], ["dp"]]>,
# BOTH-SAME: tensor<6x3x4xf32> {dist.mapping = #dist.mapping<dims = {{\[}}["dp"], [], []]>,
# BOTH-NOT: dist.results

//--- remaining.textproto
# One axis takes what the number of ranks leaves; an axis of size 1 is legal.
mesh { axes { name: "pp" size: 1 } axes { name: "dp" size: 0 } axes { name: "tp" size: 2 } }
model { batch { inputs: "x" } }
data { axes: "pp" axes: "dp" }

# REMAINING: dist.mesh @mesh <["pp" = 1, "dp" = 6, "tp" = 2]> {dist.data_axes = ["pp", "dp"]}
# REMAINING: tensor<6x3x4xf32> {dist.mapping = #dist.mapping<dims = {{\[}}["pp", "dp"], [], []]>,

//--- by-hand.textproto
# By hand: any variable, input or named value; what is split already is split further; `like` yields to `place`.
mesh { axes { name: "a" size: 2 } axes { name: "b" size: 2 } }
model { batch { inputs: "x" } }
data { axes: "a" }
place { match: "p.attn.kernel" dims: "[3 b, a]" }
place { match: "adamw.m/*" dims: "[-,-]" }
place { match: "x" dims: "[b, -, -]" }
place { match: "ids" dims: "[-, a by 2]" }
place { match: "mlp.out" dims: " [ - , - , b a ] " }

# HAND: @p.attn.kernel {{.*}}dims = {{\[}}[3, "b"], ["a"]]
# HAND: @"adamw.m/p.attn.kernel" {{.*}}dims = {{\[}}[], []]
# HAND: tensor<6x3xi32> {dist.mapping = #dist.mapping<dims = {{\[}}[], ["a" by 2]]>,
# HAND: tensor<6x3x4xf32> {dist.mapping = #dist.mapping<dims = {{\[}}["a", "b"], [], []]>,
# HAND: net.dot {{.*}}dist.results = [#dist.mapping<dims = {{\[}}[], [], ["b", "a"]]>]

//--- sequence.textproto
# Sequence parallelism is one annotation: the sum that enters the first block.
mesh { axes { name: "tp" size: 2 } }
tensor { axis: "tp" sequence: true split { match: "p.mlp.kernel" dim: 0 } }

# SEQUENCE: net.add {{.*}}dist.results = [#dist.mapping<dims = {{\[}}[], ["tp"], []]>]
# SEQUENCE-NOT: dist.results

//--- sequence-of-one.textproto
# On an axis of size 1 it is nothing.
mesh { axes { name: "tp" size: 1 } }
tensor { axis: "tp" sequence: true split { match: "p.mlp.kernel" dim: 0 } }

# ONE: @p.mlp.kernel {{.*}}dims = {{\[}}["tp"], []]
# ONE-NOT: dist.results

# The option takes the text itself too.
# TEXT: dist.mesh @mesh <["solo" = 3]>
