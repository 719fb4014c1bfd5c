// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-import-materialize-variables -verify-diagnostics | FileCheck %s

// Tests that the first arguments of an annotated graph are taken for state if results follow from them, and that this is said.

// CHECK-DAG: net.variable buffer @arg0
// CHECK-DAG: net.variable buffer @arg1
// CHECK: func.func public @step(%{{.*}}: tensor<4xf32> {net.name = "arg2"}) -> (tensor<f32> {net.name = "out0"})
module attributes {given.mesh = #given.mesh<["dp" = 2]>} {
  // expected-remark @below {{nothing is donated; 2 arguments, from arg0 to arg1, are taken for variables, because results follow from them element by element; donate them, or name them in model.carry or model.parameters, to decide otherwise}}
  func.func public @main(%p: tensor<4xf32> {net.name = "arg0"}, %m: tensor<4xf32> {net.name = "arg1"}, %x: tensor<4xf32> {net.name = "arg2"})
      -> (tensor<f32> {net.name = "out0"}, tensor<4xf32> {net.name = "out1"}, tensor<4xf32> {net.name = "out2"}) {
    %0 = net.add %m, %x : tensor<4xf32>
    %1 = net.subtract %p, %0 : tensor<4xf32>
    %2 = net.constant dense<0.0> : tensor<f32>
    return %2, %1, %0 : tensor<f32>, tensor<4xf32>, tensor<4xf32>
  }
}
