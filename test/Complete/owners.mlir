// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-complete-propagate --dist-complete-verify | FileCheck %s

// Tests that what has an owner is computed by him, and that what several owners have is summed without moving it.

dist.mesh @mesh <["dp" = 2]> {dist.data_axes = ["dp"]}
net.variable parameter @a : tensor<4xf32> {dist.mapping = #dist.mapping<dims = [[]], on {"dp" = [0]}>}
net.variable parameter @b : tensor<6xf32> {dist.mapping = #dist.mapping<dims = [[]], on {"dp" = [1]}>}

// CHECK-LABEL: @update
func.func @update(%x: tensor<8x4xf32> {dist.mapping = #dist.mapping<dims = [["dp"], []]>},
                  %y: tensor<8x6xf32> {dist.mapping = #dist.mapping<dims = [["dp"], []]>}) -> tensor<f32> {
  %zero = net.constant dense<0.0> : tensor<f32>
  %a = net.read @a : tensor<4xf32>
  %b = net.read @b : tensor<6xf32>
  // A gradient is reduced to its owner where it is made.
  // CHECK: net.reduce {{.*}} {dist.computes = [#dist.mapping<dims = {{\[}}[]], partial = sum ["dp"]>]{{.*}}dist.results = [#dist.mapping<dims = {{\[}}[]], on {"dp" = [0]}>], net.name = "grad/a"}
  %ga = net.reduce sum %x dims = [0] {dist.results = [#dist.mapping<dims = [[]], on {"dp" = [0]}>], net.name = "grad/a"} : tensor<8x4xf32> -> tensor<4xf32>
  // An operand of a gradient without other readers is reduced in place of the gradient.
  // CHECK: net.reduce {{.*}} {dist.computes = [#dist.mapping<dims = {{\[}}[]], partial = sum ["dp"]>]{{.*}}on {"dp" = [1]}>]}
  %sum = net.reduce sum %y dims = [0] : tensor<8x6xf32> -> tensor<6xf32>
  // CHECK: net.multiply {{.*}} {dist.operands = [#dist.mapping<dims = {{\[}}[]], on {"dp" = [1]}>, {{.*}}net.name = "grad/b"}
  %gb = net.multiply %sum, %sum {dist.results = [#dist.mapping<dims = [[]], on {"dp" = [1]}>], net.name = "grad/b"} : tensor<6xf32>
  // CHECK: net.subtract {{.*}}on {"dp" = [0]}>], dist.results = [{{.*}}on {"dp" = [0]}>]}
  %a1 = net.subtract %a, %ga : tensor<4xf32>
  net.assign @a, %a1 : tensor<4xf32>
  // CHECK: net.subtract {{.*}}on {"dp" = [1]}>], dist.results = [{{.*}}on {"dp" = [1]}>]}
  %b1 = net.subtract %b, %gb : tensor<6xf32>
  // CHECK: net.assign @b{{.*}}on {"dp" = [1]}>]
  net.assign @b, %b1 : tensor<6xf32>
  %aa = net.multiply %ga, %ga : tensor<4xf32>
  %bb = net.multiply %gb, %gb : tensor<6xf32>
  // CHECK: %[[A:.*]] = net.reduce sum %{{.*}} dims = [0] {{.*}}dist.results = [#dist.mapping<dims = [], on {"dp" = [0]}>]
  %na = net.reduce sum %aa dims = [0] : tensor<4xf32> -> tensor<f32>
  // CHECK: %[[B:.*]] = net.reduce sum %{{.*}} dims = [0] {{.*}}dist.results = [#dist.mapping<dims = [], on {"dp" = [1]}>]
  %nb = net.reduce sum %bb dims = [0] : tensor<6xf32> -> tensor<f32>
  // CHECK: %[[SUM:.*]] = net.add %[[A]], %[[B]] {dist.operands = [#dist.mapping<dims = [], partial = sum ["dp"]>, #dist.mapping<dims = [], partial = sum ["dp"]>], dist.results = [#dist.mapping<dims = [], partial = sum ["dp"]>]}
  %n = net.add %na, %nb : tensor<f32>
  // CHECK: net.sqrt %[[SUM]] {dist.operands = [#dist.mapping<dims = []>], dist.results = [#dist.mapping<dims = []>]}
  %norm = net.sqrt %n : tensor<f32>
  return %norm : tensor<f32>
}
