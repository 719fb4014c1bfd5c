// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: split-file %s %t
// RUN: dist-opt %t/model.mlir --dist-annotate-placements="strategy=%t/slices.textproto" -o /dev/null 2>&1 | FileCheck %s --check-prefix=SLICES
// RUN: dist-opt %t/model.mlir --dist-annotate-placements="strategy=%t/whole.textproto" -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHOLE --allow-empty

// Tests that an optimizer whose update multiplies its state is warned of where that is kept by slices.

//--- model.mlir
net.variable parameter @p.w : tensor<8x4xf32>
net.variable optimizer_state @"muon.m/p.w" : tensor<8x4xf32> = <constant, 0.0, 0.0> like @p.w
func.func @step(%x: tensor<4x8xf32> {net.name = "x"}) {
  %m = net.read @"muon.m/p.w" {net.role = #net.role<optimize>} : tensor<8x4xf32>
  %half = net.constant {net.role = #net.role<optimize>} dense<0.5> : tensor<8x4xf32>
  %mean = net.multiply %m, %half {net.role = #net.role<optimize>} : tensor<8x4xf32>
  %squares = net.dot %mean, %mean batch = [] x [] contract = [0] x [0] {net.role = #net.role<optimize>} : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  return
}

//--- slices.textproto
mesh { axes { name: "dp" size: 4 } }
data { axes: "dp" } model { batch { inputs: "x" } }
train { muon { } }
zero {
  axes: "dp"
  ownership: SLICES
}
# SLICES: slices.textproto:6:3: warning: the optimizer multiplies whole matrices, but 1 of 128 bytes are kept in slices, and their products exchange more than that in every step; ownership: WHOLE avoids that

//--- whole.textproto
mesh { axes { name: "dp" size: 4 } }
data { axes: "dp" } model { batch { inputs: "x" } }
train { muon { } }
zero { axes: "dp" ownership: WHOLE }
# WHOLE-NOT: warning
