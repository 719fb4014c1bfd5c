// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: split-file %s %t
// RUN: dist-opt %t/model.mlir --dist-annotate-placements="strategy=%t/late.textproto" | FileCheck %s --check-prefixes=CHECK,LATE
// RUN: dist-opt %t/model.mlir --dist-annotate-placements="strategy=%t/slices.textproto" | FileCheck %s --check-prefixes=CHECK,SLICES
// RUN: dist-opt %t/model.mlir --dist-annotate-placements="strategy=%t/owners.textproto" | FileCheck %s --check-prefixes=CHECK,OWNERS

// Tests that the axes of ranks come before the steps that the program has, and where gradients are accumulated: where they are kept, if
// every step reduces them; otherwise that is left open, whatever becomes of the state.

// CHECK: dist.mesh @mesh <["dp" = 2, "tp" = 2, steps "accumulation" = 4]> {dist.data_axes = ["dp"]}

//--- model.mlir
dist.mesh @mesh <[steps "accumulation" = 4]>
net.variable parameter @p.w : tensor<8x4xf32>
net.variable parameter @p.s : tensor<f32>
net.variable accumulator @"accumulator/p.w" : tensor<8x4xf32> like @p.w
net.variable accumulator @"accumulator/p.s" : tensor<f32> like @p.s
net.variable optimizer_state @"momentum.m/p.w" : tensor<8x4xf32> like @p.w
func.func @step(%x: tensor<4x8xf32> {net.name = "x"}, %dw: tensor<8x4xf32>, %ds: tensor<f32>) {
  %a = net.read @"accumulator/p.w" : tensor<8x4xf32>
  %b = net.read @"accumulator/p.s" : tensor<f32>
  %s = dist.accumulate %a, %dw over "accumulation" : tensor<8x4xf32>
  %t = dist.accumulate %b, %ds over "accumulation" : tensor<f32>
  %gw = net.negate %s {net.name = "grad/p.w", net.role = #net.role<backward>} : tensor<8x4xf32>
  %gs = net.negate %t {net.name = "grad/p.s", net.role = #net.role<backward>} : tensor<f32>
  net.assign @"accumulator/p.w", %s {dist.during = {accumulation = array<i64: 0, 1, 2>}} : tensor<8x4xf32>
  net.assign @"accumulator/p.s", %t {dist.during = {accumulation = array<i64: 0, 1, 2>}} : tensor<f32>
  net.assign @"momentum.m/p.w", %gw {dist.during = {accumulation = array<i64: 3>}} : tensor<8x4xf32>
  net.assign @p.s, %gs {dist.during = {accumulation = array<i64: 3>}} : tensor<f32>
  return
}

//--- late.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 2 } }
data { axes: "dp" } model { batch { inputs: "x" } }
tensor { axis: "tp" split { match: "p.w" dim: 0 } }
train { sgd { } gradient_accumulation { steps: 4 } }
zero { axes: "dp" stage: 2 }

# LATE: net.variable accumulator @"accumulator/p.w" : tensor<8x4xf32> like @p.w{{$}}
# LATE: net.variable accumulator @"accumulator/p.s" : tensor<f32> like @p.s{{$}}
# LATE: net.variable optimizer_state {{.*}} {dist.mapping = #dist.mapping<dims = {{\[}}["tp", "dp"], []]>}

//--- slices.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 2 } }
data { axes: "dp" } model { batch { inputs: "x" } }
tensor { axis: "tp" split { match: "p.w" dim: 0 } }
train { sgd { } gradient_accumulation { steps: 4 reduce: EVERY_STEP } }
zero { axes: "dp" stage: 2 }

# A gradient that cannot be sliced is accumulated whole.
# SLICES: net.variable accumulator @"accumulator/p.w" {{.*}} {dist.mapping = #dist.mapping<dims = {{\[}}["tp", "dp"], []]>}
# SLICES: net.variable accumulator @"accumulator/p.s" {{.*}} {dist.mapping = #dist.mapping<dims = []>}

//--- owners.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 2 } }
data { axes: "dp" } model { batch { inputs: "x" } }
train { sgd { } gradient_accumulation { steps: 4 reduce: EVERY_STEP } }
zero { axes: "dp" stage: 3 ownership: WHOLE }

# OWNERS: net.variable accumulator @"accumulator/p.w" {{.*}} {dist.mapping = #dist.mapping<dims = {{\[}}[], []], on {"dp" = [0]}>}
# OWNERS: net.variable accumulator @"accumulator/p.s" {{.*}} {dist.mapping = #dist.mapping<dims = [], on {"dp" = [1]}>}
