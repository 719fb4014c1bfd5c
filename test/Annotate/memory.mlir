// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: split-file %s %t
// RUN: dist-opt %t/model.mlir --dist-annotate-placements="strategy=%t/state.textproto" | FileCheck %s
// RUN: not dist-opt %t/model.mlir --dist-annotate-placements="strategy=%t/unmatched.textproto" 2>&1 | FileCheck %s --check-prefix=UNMATCHED

// Tests that variables are given to the host by name, and that a glob which names none is an error at its line.

//--- model.mlir
net.variable parameter @p.w : tensor<4xf32>
net.variable optimizer_state @"adamw.m/p.w" : tensor<4xf32> like @p.w
net.variable optimizer_state @"adamw.v/p.w" : tensor<4xf32> like @p.w
net.variable counter @step : tensor<i32>

//--- state.textproto
offload { match: "adamw.*" }

# CHECK: net.variable parameter @p.w : tensor<4xf32>{{$}}
# CHECK: net.variable optimizer_state @"adamw.m/p.w" {{.*}}dist.memory = #dist<memory host>
# CHECK: net.variable optimizer_state @"adamw.v/p.w" {{.*}}dist.memory = #dist<memory host>
# CHECK: net.variable counter @step : tensor<i32>{{$}}

//--- unmatched.textproto
offload { match: "adamw.*"
  match: "ids" }

# UNMATCHED: unmatched.textproto:2:3: error: no variable matches "ids"
