// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-complete-propagate --dist-partition-materialize-reshards --dist-partition-localize-shapes --dist-partition-verify --split-input-file | FileCheck %s

// Tests what crosses from stage to stage: a value once to each that reads it, over as many stages as lie between; a
// weight that two stages use once per step, and what the second adds to its gradient once, after the last slice.

dist.mesh @mesh <["pp" = 3, slices "micro" = 2]> {dist.stage_axis = "pp",
    dist.task_order = "0F0,0F1,0B0,0B1\0A1F0,1F1,1B0,1B1\0A2F0,2F1,2B0,2B1\0A"}
net.variable parameter @w : tensor<3xf32> {dist.mapping = #dist.mapping<dims = [[]], on {"pp" = [0]}>}

// CHECK-LABEL: @tied
func.func @tied(%x: tensor<4x3xf32> {dist.mapping = #dist.mapping<dims = [["micro"], []]>}) -> tensor<f32> {
  // CHECK: %[[W:.*]] = net.read @w {dist.on = {pp = array<i64: 0>}}
  %w = net.read @w : tensor<3xf32>
  %w0 = net.broadcast %w dims = [1] {dist.stage = 0 : i64} : tensor<3xf32> -> tensor<4x3xf32>
  // CHECK: %[[H0:.*]] = net.multiply {{.*}}dist.stage = 0
  %h0 = net.multiply %x, %w0 {dist.stage = 0 : i64} : tensor<4x3xf32>
  // CHECK: %[[TO1:.*]] = dist.c_send %[[H0]] {{.*}} to <{{.*}}"micro"{{.*}} on {"pp" = [1]}> shape [4, 3] {dist.on = {pp = array<i64: 0, 1>}, dist.stage = 0 : i64}
  // CHECK-NEXT: %[[H1:.*]] = net.tanh %[[TO1]] {dist.on = {pp = array<i64: 1>}, dist.stage = 1 : i64}
  %h1 = net.tanh %h0 {dist.stage = 1 : i64} : tensor<4x3xf32>
  // CHECK-NEXT: %[[COPY:.*]] = dist.c_send %[[W]] axes ["pp"] from <dims = {{\[}}[]], on {"pp" = [0]}> to <dims = {{\[}}[]], on {"pp" = [2]}> shape [3] {dist.on = {pp = array<i64: 0, 2>}}
  // CHECK-NEXT: net.broadcast %[[COPY]]
  %w2 = net.broadcast %w dims = [1] {dist.stage = 2 : i64} : tensor<3xf32> -> tensor<4x3xf32>
  // CHECK-NEXT: dist.c_send %[[H1]] {{.*}}dist.stage = 1
  %h2 = net.multiply %h1, %w2 {dist.stage = 2 : i64} : tensor<4x3xf32>
  // CHECK: dist.c_send %[[H0]] {{.*}} to <{{.*}} on {"pp" = [2]}>
  %s = net.add %h2, %h0 {dist.stage = 2 : i64} : tensor<4x3xf32>
  %loss = net.reduce sum %s dims = [0, 1] {dist.stage = 2 : i64} : tensor<4x3xf32> -> tensor<f32>
  // CHECK: %[[G2:.*]] = dist.accumulate {{.*}}dist.on = {pp = array<i64: 2>}, dist.stage = 2 : i64} : tensor<3xf32>
  %gw2 = net.reduce sum %h1 dims = [0] {dist.stage = 2 : i64} : tensor<4x3xf32> -> tensor<3xf32>
  // CHECK: dist.c_send {{.*}}on {"pp" = [2]}> to <{{.*}}on {"pp" = [1]}>{{.*}}dist.stage = 2
  // CHECK-NOT: dist.c_send
  // CHECK: net.multiply {{.*}}dist.stage = 1
  %d1 = net.multiply %w2, %h1 {dist.stage = 1 : i64} : tensor<4x3xf32>
  // CHECK: dist.c_send {{.*}}dist.stage = 1
  %d0 = net.multiply %d1, %x {dist.stage = 0 : i64} : tensor<4x3xf32>
  // CHECK-NOT: dist.c_send
  // CHECK: %[[G0:.*]] = dist.accumulate {{.*}}dist.on = {pp = array<i64: 0>}, dist.stage = 0 : i64} : tensor<3xf32>
  %gw0 = net.reduce sum %d0 dims = [0] {dist.stage = 0 : i64} : tensor<4x3xf32> -> tensor<3xf32>
  // CHECK: %[[SENT:.*]] = dist.c_send %[[G2]] axes ["pp"] {{.*}} shape [3]
  // CHECK-NEXT: net.add %[[G0]], %[[SENT]]
  %gw = net.add %gw0, %gw2 {dist.stage = 0 : i64, net.name = "grad/w"} : tensor<3xf32>
  %w1 = net.subtract %w, %gw : tensor<3xf32>
  net.assign @w, %w1 : tensor<3xf32>
  // CHECK-NOT: dist.c_
  // CHECK: return
  return %loss : tensor<f32>
}
