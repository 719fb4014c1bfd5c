// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-complete-propagate --dist-complete-verify --split-input-file | FileCheck %s

// Tests that what has a stage is computed by the coordinate of its stage, whatever it reads, and returned from there; that
// a gradient of a weight which two stages use is added up over the slices on each of them; and that what belongs to the
// update follows its holder.

dist.mesh @mesh <["pp" = 3, slices "micro" = 2]> {dist.stage_axis = "pp",
    dist.task_order = "0F0,0F1,0B0,0B1\0A1F0,1F1,1B0,1B1\0A2F0,2F1,2B0,2B1\0A"}
net.variable parameter @w : tensor<3xf32> {dist.mapping = #dist.mapping<dims = [[]], on {"pp" = [0]}>}

// CHECK-LABEL: @tied
// CHECK-SAME: -> (tensor<f32> {dist.mapping = #dist.mapping<dims = [], on {"pp" = [2]}>})
func.func @tied(%x: tensor<4x3xf32> {dist.mapping = #dist.mapping<dims = [["micro"], []]>}) -> tensor<f32> {
  %w = net.read @w : tensor<3xf32>
  // A stage reads its own values where it computes them.
  // CHECK: net.broadcast {{.*}}dist.operands = [{{.*}}on {"pp" = [0]}>], dist.results = [{{.*}}"micro"{{.*}}on {"pp" = [0]}>], dist.stage = 0
  %w0 = net.broadcast %w dims = [1] {dist.stage = 0 : i64} : tensor<3xf32> -> tensor<4x3xf32>
  %h0 = net.multiply %x, %w0 {dist.stage = 0 : i64} : tensor<4x3xf32>
  // CHECK: net.tanh {{.*}}dist.operands = [{{.*}}on {"pp" = [1]}>], dist.results = [{{.*}}on {"pp" = [1]}>]
  %h1 = net.tanh %h0 {dist.stage = 1 : i64} : tensor<4x3xf32>
  // CHECK: net.broadcast {{.*}}dist.operands = [{{.*}}on {"pp" = [2]}>], dist.results = [{{.*}}on {"pp" = [2]}>], dist.stage = 2
  %w2 = net.broadcast %w dims = [1] {dist.stage = 2 : i64} : tensor<3xf32> -> tensor<4x3xf32>
  %h2 = net.multiply %h1, %w2 {dist.stage = 2 : i64} : tensor<4x3xf32>
  %s = net.add %h2, %h0 {dist.stage = 2 : i64} : tensor<4x3xf32>
  %loss = net.reduce sum %s dims = [0, 1] {dist.stage = 2 : i64} : tensor<4x3xf32> -> tensor<f32>
  // CHECK: %[[LAST:.*]] = net.reduce {{.*}}dist.computes = [{{.*}}partial = sum ["micro"], on {"pp" = [2]}>]{{.*}}dist.results = [#dist.mapping<dims = {{\[}}[]], on {"pp" = [2]}>]
  %gw2 = net.reduce sum %h1 dims = [0] {dist.stage = 2 : i64} : tensor<4x3xf32> -> tensor<3xf32>
  %d1 = net.multiply %w2, %h1 {dist.stage = 1 : i64} : tensor<4x3xf32>
  %d0 = net.multiply %d1, %x {dist.stage = 0 : i64} : tensor<4x3xf32>
  // CHECK: %[[FIRST:.*]] = net.reduce {{.*}}dist.computes = [{{.*}}partial = sum ["micro"], on {"pp" = [0]}>]{{.*}}dist.results = [#dist.mapping<dims = {{\[}}[]], on {"pp" = [0]}>]
  %gw0 = net.reduce sum %d0 dims = [0] {dist.stage = 0 : i64} : tensor<4x3xf32> -> tensor<3xf32>
  // CHECK: net.add %[[FIRST]], %[[LAST]] {dist.operands = [#dist.mapping<dims = {{\[}}[]], on {"pp" = [0]}>, #dist.mapping<dims = {{\[}}[]], on {"pp" = [0]}>], dist.results = [#dist.mapping<dims = {{\[}}[]], on {"pp" = [0]}>]
  %gw = net.add %gw0, %gw2 {dist.stage = 0 : i64, net.name = "grad/w"} : tensor<3xf32>
  // CHECK: net.subtract {{.*}}on {"pp" = [0]}>], dist.results = [{{.*}}on {"pp" = [0]}>]
  %w1 = net.subtract %w, %gw : tensor<3xf32>
  net.assign @w, %w1 : tensor<3xf32>
  // CHECK: return {{.*}}on {"pp" = [2]}>
  return %loss : tensor<f32>
}

// -----

// Several stages on one coordinate, owners of whole parameters beside them, and decisions over all of them: the norm is a
// sum and what tells an infinity a maximum over both axes.

dist.mesh @mesh <["dp" = 2, "pp" = 2]> {dist.data_axes = ["dp"], dist.stage_axis = "pp",
    dist.task_order = "0F0,2F0,2B0,0B0\0A1F0,3F0,3B0,1B0\0A"}
net.variable parameter @a : tensor<4xf32> {dist.mapping = #dist.mapping<dims = [[]], on {"dp" = [1], "pp" = [0]}>}
net.variable parameter @b : tensor<4xf32> {dist.mapping = #dist.mapping<dims = [[]], on {"dp" = [0], "pp" = [1]}>}

// CHECK-LABEL: @decisions
func.func @decisions(%x: tensor<8x4xf32> {dist.mapping = #dist.mapping<dims = [["dp"], []]>}) -> (tensor<f32>, tensor<4xf32>) {
  %a = net.read @a {dist.results = [#dist.mapping<dims = [[]], on {"pp" = [0]}>]} : tensor<4xf32>
  %b = net.read @b {dist.results = [#dist.mapping<dims = [[]], on {"pp" = [1]}>]} : tensor<4xf32>
  // Stages 0 and 2 are on coordinate 0, 1 and 3 on coordinate 1.
  // CHECK: net.tanh {{.*}}["dp"]{{.*}}on {"pp" = [0]}>], dist.stage = 2
  %h = net.tanh %x {dist.stage = 2 : i64} : tensor<8x4xf32>
  // CHECK: net.reduce {{.*}}dist.computes = [#dist.mapping<dims = {{\[}}[]], partial = sum ["dp"], on {"pp" = [0]}>]{{.*}}dist.results = [#dist.mapping<dims = {{\[}}[]], on {"dp" = [1], "pp" = [0]}>]
  %ga = net.reduce sum %h dims = [0] {dist.stage = 0 : i64, net.name = "grad/a", dist.results = [#dist.mapping<dims = [[]], on {"dp" = [1], "pp" = [0]}>]} : tensor<8x4xf32> -> tensor<4xf32>
  // CHECK: net.reduce {{.*}}dist.computes = [#dist.mapping<dims = {{\[}}[]], partial = sum ["dp"], on {"pp" = [1]}>]{{.*}}dist.results = [#dist.mapping<dims = {{\[}}[]], on {"dp" = [0], "pp" = [1]}>]
  %gb = net.reduce sum %x dims = [0] {dist.stage = 3 : i64, net.name = "grad/b", dist.results = [#dist.mapping<dims = [[]], on {"dp" = [0], "pp" = [1]}>]} : tensor<8x4xf32> -> tensor<4xf32>
  %aa = net.multiply %ga, %ga : tensor<4xf32>
  %bb = net.multiply %gb, %gb : tensor<4xf32>
  %na = net.reduce sum %aa dims = [0] : tensor<4xf32> -> tensor<f32>
  %nb = net.reduce sum %bb dims = [0] : tensor<4xf32> -> tensor<f32>
  // CHECK: %[[SUM:.*]] = net.add {{.*}}dist.results = [#dist.mapping<dims = [], partial = sum ["dp", "pp"]>]
  %n = net.add %na, %nb : tensor<f32>
  // CHECK: net.sqrt %[[SUM]] {dist.operands = [#dist.mapping<dims = []>], dist.results = [#dist.mapping<dims = []>]}
  %norm = net.sqrt %n : tensor<f32>
  // CHECK: net.reduce max {{.*}}dist.results = [#dist.mapping<dims = [], on {"dp" = [1], "pp" = [0]}>]
  %ma = net.reduce max %ga dims = [0] : tensor<4xf32> -> tensor<f32>
  %mb = net.reduce max %gb dims = [0] : tensor<4xf32> -> tensor<f32>
  // CHECK: %[[MAXIMUM:.*]] = net.maximum {{.*}}dist.results = [#dist.mapping<dims = [], partial = max ["dp", "pp"]>]
  %m = net.maximum %ma, %mb : tensor<f32>
  // A larger result is computed from the reduced operand.
  // CHECK: net.broadcast %[[MAXIMUM]] {{.*}}dist.operands = [#dist.mapping<dims = []>], dist.results = [#dist.mapping<dims = {{\[}}[]]>]
  %found = net.broadcast %m dims = [] : tensor<f32> -> tensor<4xf32>
  return %norm, %found : tensor<f32>, tensor<4xf32>
}

// -----

// Tests that an accumulator without a placement is on the stage that adds to it.

dist.mesh @mesh <["dp" = 2, "pp" = 2, steps "accumulation" = 4]> {dist.data_axes = ["dp"], dist.stage_axis = "pp",
    dist.task_order = "0F0,0B0\0A1F0,1B0\0A"}
net.variable parameter @w : tensor<4xf32> {dist.mapping = #dist.mapping<dims = [[]], on {"pp" = [1]}>}
// CHECK: net.variable accumulator @"accumulator/w" {{.*}}dist.mapping = #dist.mapping<dims = {{\[}}[]], partial = sum ["dp"], on {"pp" = [1]}>
net.variable accumulator @"accumulator/w" : tensor<4xf32> = <constant, 0.0, 0.0> like @w

// CHECK-LABEL: @merge
func.func @merge(%x: tensor<8x4xf32> {dist.mapping = #dist.mapping<dims = [["dp"], []]>}) {
  // CHECK: net.read @"accumulator/w" {dist.results = [{{.*}}partial = sum ["dp"], on {"pp" = [1]}>]}
  %before = net.read @"accumulator/w" : tensor<4xf32>
  %w = net.read @w : tensor<4xf32>
  %g = net.reduce sum %x dims = [0] {dist.stage = 1 : i64} : tensor<8x4xf32> -> tensor<4xf32>
  %sum = dist.accumulate %before, %g over "accumulation" {dist.stage = 1 : i64} : tensor<4xf32>
  // CHECK: net.subtract {{.*}}on {"pp" = [1]}>]
  %next = net.subtract %w, %sum : tensor<4xf32>
  // CHECK: net.assign @"accumulator/w", {{.*}}partial = sum ["dp"], on {"pp" = [1]}>]
  net.assign @"accumulator/w", %sum {dist.during = {accumulation = array<i64: 0, 1, 2>}} : tensor<4xf32>
  net.assign @w, %next {dist.during = {accumulation = array<i64: 3>}} : tensor<4xf32>
  return
}
