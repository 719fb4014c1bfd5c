// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-schedule-cut-tasks | FileCheck %s

// Tests that of a backward in halves the first has what another stage waits for and no more, and that the second reads what the first made where
// it needs it. The first stage sends nothing back: all of it is in the second half.

// CHECK-LABEL: func.func @step_0F
// CHECK-NOT: @step_0I
// CHECK-LABEL: func.func @step_0W
// CHECK:   dist.accumulate
// CHECK-LABEL: func.func @step_1F
// CHECK-LABEL: func.func @step_1I
// CHECK:   %[[D:.*]] = net.exponential
// CHECK:   %[[DH:.*]] = net.multiply %[[D]]
// CHECK-NOT: net.sine
// CHECK-NOT: dist.accumulate
// CHECK-DAG: net.assign @"within/d", %[[D]]
// CHECK-DAG: net.assign @"within/dh{{.*}}", %[[DH]]
// CHECK-LABEL: func.func @step_1W
// CHECK:   %[[D:.*]] = net.read @"within/d"
// CHECK:   net.sine %[[D]]
// CHECK:   dist.accumulate
// CHECK: dist.schedule on {pp = array<i64: 1>} actions ["send{{[0-9]+}}", "1F", "1I", "send{{[0-9]+}}", "1W", "update"]
dist.mesh @mesh <["pp" = 2, slices "micro" = 2]> {dist.stage_axis = "pp", dist.task_order = "0F0,0F1,0I0,0W0,0I1,0W1\0A1F0,1I0,1F1,1I1,1W0,1W1\0A"}
net.variable parameter @v : tensor<4xf32> {dist.mapping = #dist.mapping<dims = [[]], on {"pp" = [0]}>}
net.variable parameter @w : tensor<4xf32> {dist.mapping = #dist.mapping<dims = [[]], on {"pp" = [1]}>}
net.variable accumulator @"accumulator/v" : tensor<4xf32> {dist.within_step, dist.mapping = #dist.mapping<dims = [[]], on {"pp" = [0]}>}
net.variable accumulator @"accumulator/w" : tensor<4xf32> {dist.within_step, dist.mapping = #dist.mapping<dims = [[]], on {"pp" = [1]}>}
func.func @step(%x: tensor<4xf32>) {
  %micro = dist.coordinate "micro" : tensor<i32>
  %number = net.convert %micro : tensor<i32> -> tensor<f32>
  %slice = net.broadcast %number dims = [] : tensor<f32> -> tensor<4xf32>
  %v = net.read @v {dist.on = {pp = array<i64: 0>}} : tensor<4xf32>
  %w = net.read @w {dist.on = {pp = array<i64: 1>}} : tensor<4xf32>
  %h = net.multiply %slice, %v {net.name = "h", net.role = #net.role<forward>, dist.stage = 0, dist.on = {pp = array<i64: 0>}} : tensor<4xf32>
  %h1 = dist.collective c_send(%h) roots [0] to 1 axes ["pp"] : (tensor<4xf32>) -> tensor<4xf32>
  %y = net.multiply %h1, %w {net.name = "y", net.role = #net.role<forward>, dist.stage = 1, dist.on = {pp = array<i64: 1>}} : tensor<4xf32>
  %d = net.exponential %y {net.name = "d", net.role = #net.role<backward>, dist.stage = 1, dist.on = {pp = array<i64: 1>}} : tensor<4xf32>
  %gw = net.sine %d {net.role = #net.role<backward>, dist.stage = 1, dist.on = {pp = array<i64: 1>}} : tensor<4xf32>
  %dh = net.multiply %d, %w {net.name = "dh", net.role = #net.role<backward>, dist.stage = 1, dist.on = {pp = array<i64: 1>}} : tensor<4xf32>
  %dh0 = dist.collective c_send(%dh) roots [1] to 0 axes ["pp"] : (tensor<4xf32>) -> tensor<4xf32>
  %gv = net.multiply %dh0, %slice {net.role = #net.role<backward>, dist.stage = 0, dist.on = {pp = array<i64: 0>}} : tensor<4xf32>
  %bw = net.read @"accumulator/w" {dist.on = {pp = array<i64: 1>}} : tensor<4xf32>
  %sw = dist.accumulate %bw, %gw over "micro" {net.role = #net.role<backward>, dist.stage = 1, dist.on = {pp = array<i64: 1>}} : tensor<4xf32>
  net.assign @"accumulator/w", %sw {dist.during = {micro = array<i64: 0>}, dist.on = {pp = array<i64: 1>}} : tensor<4xf32>
  %bv = net.read @"accumulator/v" {dist.on = {pp = array<i64: 0>}} : tensor<4xf32>
  %sv = dist.accumulate %bv, %gv over "micro" {net.role = #net.role<backward>, dist.stage = 0, dist.on = {pp = array<i64: 0>}} : tensor<4xf32>
  net.assign @"accumulator/v", %sv {dist.during = {micro = array<i64: 0>}, dist.on = {pp = array<i64: 0>}} : tensor<4xf32>
  %nw = net.subtract %w, %sw {net.role = #net.role<optimize>, dist.on = {pp = array<i64: 1>}} : tensor<4xf32>
  %nv = net.subtract %v, %sv {net.role = #net.role<optimize>, dist.on = {pp = array<i64: 0>}} : tensor<4xf32>
  net.assign @w, %nw {dist.during = {micro = array<i64: 1>}, dist.on = {pp = array<i64: 1>}} : tensor<4xf32>
  net.assign @v, %nv {dist.during = {micro = array<i64: 1>}, dist.on = {pp = array<i64: 0>}} : tensor<4xf32>
  return
}
