// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --split-input-file --dist-import-find-blocks | FileCheck %s

// Tests that the layers of a network without scopes are blocks, each with what it makes of its product, and that a scope of the user's stays inside of it.
net.variable parameter @w : tensor<4x4xf32>
net.variable parameter @v : tensor<4x4xf32>
net.variable parameter @head : tensor<4x2xf32>
// CHECK-LABEL: func.func public @layers
func.func public @layers(%x: tensor<8x4xf32> {net.name = "x"}) -> (tensor<8x2xf32> {net.name = "y"}) {
  // CHECK-COUNT-3: net.read @{{[a-z]+}} :
  %w = net.read @w : tensor<4x4xf32>
  %v = net.read @v : tensor<4x4xf32>
  %h = net.read @head : tensor<4x2xf32>
  // CHECK: net.dot {{.*}}net.scope = "block0"
  // CHECK: net.tanh {{.*}}net.scope = "block0"
  // CHECK: net.dot {{.*}}net.scope = "block1"
  // CHECK: net.tanh {{.*}}net.scope = "block1.act"
  // CHECK: net.dot
  // CHECK-NOT: net.scope
  %a = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %b = net.tanh %a : tensor<8x4xf32>
  %c = net.dot %b, %v batch = [] x [] contract = [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %d = net.tanh %c {net.scope = "act"} : tensor<8x4xf32>
  %e = net.dot %d, %h batch = [] x [] contract = [1] x [0] : tensor<8x4xf32>, tensor<4x2xf32> -> tensor<8x2xf32>
  return %e : tensor<8x2xf32>
}

// -----

// Tests that blocks are called like the variables of each, and that what computes backward with the activations of a block is of it.
net.variable parameter @p.layers.0.w : tensor<4x4xf32>
net.variable parameter @p.layers.1.w : tensor<4x4xf32>
// CHECK-LABEL: func.func public @named
func.func public @named(%x: tensor<4x4xf32> {net.name = "x"}) -> (tensor<4x4xf32> {net.name = "y"}) {
  %w = net.read @p.layers.0.w : tensor<4x4xf32>
  %v = net.read @p.layers.1.w : tensor<4x4xf32>
  // CHECK: net.dot {{.*}}net.scope = "layers.0"
  // CHECK: net.dot {{.*}}net.scope = "layers.1"
  // CHECK: net.dot {{.*}}net.role = #net.role<backward>, net.scope = "layers.1"
  %a = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %c = net.dot %a, %v batch = [] x [] contract = [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %d = net.dot %c, %v batch = [] x [] contract = [1] x [1] {net.role = #net.role<backward>} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  return %d : tensor<4x4xf32>
}

// -----

// Tests that scopes that end in a number stay the only blocks.
net.variable parameter @w : tensor<4x4xf32>
net.variable parameter @v : tensor<4x4xf32>
// CHECK-LABEL: func.func public @scoped
func.func public @scoped(%x: tensor<8x4xf32> {net.name = "x"}) -> (tensor<8x4xf32> {net.name = "y"}) {
  %w = net.read @w : tensor<4x4xf32>
  %v = net.read @v : tensor<4x4xf32>
  // CHECK: net.dot {{.*}}{net.scope = "h.7"}
  // CHECK-NOT: block
  // CHECK: return
  %a = net.dot %x, %w batch = [] x [] contract = [1] x [0] {net.scope = "h.7"} : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %c = net.dot %a, %v batch = [] x [] contract = [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  return %c : tensor<8x4xf32>
}
