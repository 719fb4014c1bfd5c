// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: split-file %s %t
// RUN: dist-opt %t/model.mlir --dist-train-differentiate --dist-train-optimizer="train={adafactor {min_dim: 4}}" --dist-train-simplify --dist-train-verify -o %t/step.mlir
// RUN: FileCheck %s --input-file=%t/step.mlir
// RUN: dist-opt %t/step.mlir --dist-annotate-placements="strategy=%t/tensor.textproto" | FileCheck %s --check-prefix=TENSOR
// RUN: dist-opt %t/step.mlir --dist-annotate-placements="strategy=%t/zero.textproto" | FileCheck %s --check-prefix=ZERO

// Tests the states of factored mean squares: means have size 1 where they were taken, and are not split there.

//--- model.mlir
net.variable parameter @w : tensor<4x8xf32>
net.variable parameter @narrow : tensor<2x8xf32>
func.func @main(%x: tensor<4x8xf32> {net.name = "x"}) -> tensor<f32> {
  %w = net.read @w : tensor<4x8xf32>
  %n = net.read @narrow : tensor<2x8xf32>
  %y = net.multiply %w, %x : tensor<4x8xf32>
  %s = net.reduce sum %y dims = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  %t = net.reduce sum %n dims = [0, 1] : tensor<2x8xf32> -> tensor<f32>
  %loss = net.multiply %s, %t : tensor<f32>
  return %loss : tensor<f32>
}
// CHECK: net.variable optimizer_state @"adafactor.r/w" : tensor<4x1xf32> = <constant, 0.000000e+00, 0.000000e+00> like @w
// CHECK: net.variable optimizer_state @"adafactor.c/w" : tensor<1x8xf32> = <constant, 0.000000e+00, 0.000000e+00> like @w
// CHECK: net.variable optimizer_state @"adafactor.v/narrow" : tensor<2x8xf32>

//--- tensor.textproto
mesh { axes { name: "tp" size: 2 } }
tensor { axis: "tp" split { match: "w" dim: 0 } }
train { sgd { } }

# TENSOR: @"adafactor.r/w" {{.*}}dims = {{\[}}["tp"], []]
# TENSOR: @"adafactor.c/w" {{.*}}dims = {{\[}}[], []]

//--- zero.textproto
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 2 } }
tensor { axis: "tp" split { match: "w" dim: 1 } }
data { axes: "dp" } model { batch { inputs: "x" } }
train { sgd { } }
zero { axes: "dp" }

# ZERO: @"adafactor.r/w" {{.*}}dims = {{\[}}["dp"], []]
# ZERO: @"adafactor.c/w" {{.*}}dims = {{\[}}[], ["tp"]]
