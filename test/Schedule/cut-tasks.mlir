// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-schedule-cut-tasks | FileCheck %s
// RUN: dist-opt %s --dist-schedule-elide-empty --dist-schedule-lower-conversions --dist-schedule-lower-loops --dist-schedule-cut-tasks --dist-schedule-assign-times --dist-schedule-form-kernels --dist-schedule-communicate-in-loops --dist-schedule-communicate --dist-schedule-keep-across-slices --dist-schedule-specialize --dist-schedule-materialize-copies --dist-schedule-assign-buffers --dist-schedule-verify | FileCheck %s --check-prefix=PLACED

// Tests that a pipeline of two stages becomes functions. What forward leaves to backward, and what was received, is in variables with as
// many slots as micro-batches are there at once: two on the first stage, which runs ahead, one between forward and backward of the last.
// Values made of the inputs are recomputed in backward; the tied weight, which does not depend on the micro-batch, is sent once; the
// update reads the sums in their accumulators.

// CHECK-DAG: net.variable accumulator @[[SENT:"within/h_.*"]] {{.*}}on {"pp" = [0]}>, dist.slots = 2 : i64, dist.within_step}
// CHECK-DAG: net.variable accumulator @"within/h" {{.*}}on {"pp" = [1]}>, dist.slots = 1 : i64, dist.within_step}
// CHECK-DAG: net.variable accumulator @"within/y" {{.*}}on {"pp" = [1]}>, dist.slots = 1 : i64, dist.within_step}
// CHECK-DAG: net.variable accumulator @"within/w" {{.*}}on {"pp" = [1]}>, dist.within_step}
// CHECK-LABEL: func.func @step_0F({{.*}}) attributes {dist.action = "0F"}
// CHECK:   %[[MICRO:.*]] = dist.coordinate "micro"
// CHECK:   net.convert %[[MICRO]] {dist.on = {pp = array<i64: 0>}, dist.stage = 0 : i64, net.role = #net.role<forward>}
// CHECK:   %[[H:.*]] = net.multiply {{.*}}net.name = "h"
// CHECK:   net.assign @[[SENT]], %[[H]] {dist.on = {pp = array<i64: 0>}}
// CHECK-LABEL: func.func @step_0B
// CHECK:   %[[MICRO:.*]] = dist.coordinate "micro"
// CHECK:   net.convert %[[MICRO]] {dist.on = {pp = array<i64: 0>}, dist.stage = 0 : i64, net.role = #net.role<backward>}
// CHECK:   %[[DH:.*]] = net.read @"within/dh
// CHECK:   %[[G:.*]] = net.multiply %{{.*}}, %[[DH]]
// CHECK:   %[[SUM:.*]] = dist.accumulate %{{.*}}, %[[G]] over "micro"
// CHECK:   net.assign @"accumulator/w", %[[SUM]] {dist.on = {pp = array<i64: 0>}}
// CHECK-LABEL: func.func @step_1F
// CHECK:   net.read @"within/h"
// CHECK:   net.read @"within/w"
// CHECK:   net.assign @"within/y"
// CHECK-LABEL: func.func @step_1B
// CHECK:   net.read @"within/y"
// CHECK:   net.read @"within/w"
// CHECK-LABEL: func.func @step_send6({{.*}}) attributes {dist.action = "send6", dist.during = {micro = array<i64: 0>}, dist.starts}
// CHECK:   %[[W:.*]] = net.read @w
// CHECK:   %[[SENT:.*]] = dist.collective c_send(%[[W]]) roots [0] to 1 axes ["pp"]
// CHECK:   net.assign @"within/w", %[[SENT]] {dist.on = {pp = array<i64: 1>}}
// CHECK-LABEL: func.func @step_send7({{.*}}) attributes {dist.action = "send7", dist.starts}
// CHECK-LABEL: func.func @step_update({{.*}}) attributes {dist.action = "update", dist.during = {micro = array<i64: 2>}}
// CHECK:   %[[W:.*]] = net.read @w
// CHECK:   %[[SUM:.*]] = net.read @"accumulator/w"
// CHECK:   net.subtract %[[W]], %[[SUM]]
// CHECK: dist.schedule on {pp = array<i64: 0>} actions ["send6", "0F", "send7", "send8", "0B", "update"] items [0, 0, 1, 0, 2, 0, 1, 1,
// CHECK: dist.schedule on {pp = array<i64: 1>} actions ["send6", "send7", "1F", "1B", "send8", "update"] items [0, 0, 1, 0, -1, 0, -2, 0, 2, 0,

// Two slots for the value that the first stage sends, after the persistent values, and the functions of the ranks in each action.
// PLACED-LABEL: func.func @step_0F_pp0({{.*}}dist.persistent_bytes = 256 : i64{{.*}}"within/h_0" = 320 : i64
// PLACED: func.func @step_0B_micro0_pp0
// PLACED: func.func @step_0B_micro1_pp0({{.*}}dist.on = {micro = array<i64: 1, 2>, pp = array<i64: 0>}
// PLACED: func.func @step_send7_pp0
// PLACED:   dist.collective c_send(%{{.*}}) roots [0] to 1 axes ["pp"]{{.*}} : (tensor<2x4xf32>) -> ()
// PLACED: func.func @step_send7_pp1
// PLACED:   dist.collective c_send() roots [0] to 1 axes ["pp"]{{.*}} : () -> tensor<2x4xf32>
// PLACED: func.func @step_update_micro2_pp0
// PLACED-NOT: func.func @step_update_micro2_pp1

dist.mesh @mesh <["pp" = 2, slices "micro" = 3]> {dist.stage_axis = "pp", dist.task_order = "0F0,0F1,0B0,0F2,0B1,0B2\0A1F0,1B0,1F1,1B1,1F2,1B2\0A"}
net.variable parameter @w : tensor<2x4xf32> {dist.mapping = #dist.mapping<dims = [[], []], on {"pp" = [0]}>}
net.variable accumulator @"accumulator/w" : tensor<2x4xf32> {dist.within_step, dist.mapping = #dist.mapping<dims = [[], []], on {"pp" = [0]}>}
func.func @step(%x: tensor<2x4xf32>) {
  %micro = dist.coordinate "micro" : tensor<i32>
  %number = net.convert %micro : tensor<i32> -> tensor<f32>
  %numbers = net.broadcast %number dims = [] : tensor<f32> -> tensor<2x4xf32>
  %slice = net.add %x, %numbers : tensor<2x4xf32>
  %w = net.read @w {dist.on = {pp = array<i64: 0>}} : tensor<2x4xf32>
  %tied = dist.collective c_send(%w) roots [0] to 1 axes ["pp"] : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %h = net.multiply %slice, %w {net.name = "h", net.role = #net.role<forward>, dist.stage = 0, dist.on = {pp = array<i64: 0>}} : tensor<2x4xf32>
  %h1 = dist.collective c_send(%h) roots [0] to 1 axes ["pp"] : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = net.multiply %h1, %tied {net.name = "y", net.role = #net.role<forward>, dist.stage = 1, dist.on = {pp = array<i64: 1>}} : tensor<2x4xf32>
  %dh1 = net.multiply %y, %tied {net.name = "dh", net.role = #net.role<backward>, dist.stage = 1, dist.on = {pp = array<i64: 1>}} : tensor<2x4xf32>
  %dh = dist.collective c_send(%dh1) roots [1] to 0 axes ["pp"] : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %g = net.multiply %slice, %dh {net.role = #net.role<backward>, dist.stage = 0, dist.on = {pp = array<i64: 0>}} : tensor<2x4xf32>
  %before = net.read @"accumulator/w" {dist.on = {pp = array<i64: 0>}} : tensor<2x4xf32>
  %sum = dist.accumulate %before, %g over "micro" {net.role = #net.role<backward>, dist.stage = 0, dist.on = {pp = array<i64: 0>}} : tensor<2x4xf32>
  net.assign @"accumulator/w", %sum {dist.during = {micro = array<i64: 0, 1>}, dist.on = {pp = array<i64: 0>}} : tensor<2x4xf32>
  %next = net.subtract %w, %sum {net.role = #net.role<optimize>, dist.on = {pp = array<i64: 0>}} : tensor<2x4xf32>
  net.assign @w, %next {dist.during = {micro = array<i64: 2>}, dist.on = {pp = array<i64: 0>}} : tensor<2x4xf32>
  return
}
