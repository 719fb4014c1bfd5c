// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-schedule-elide-empty --dist-schedule-lower-conversions --dist-schedule-lower-loops --dist-schedule-cut-tasks --dist-schedule-assign-times --dist-schedule-form-kernels --dist-schedule-communicate-in-loops --dist-schedule-communicate --dist-schedule-keep-across-slices --dist-schedule-specialize --dist-schedule-materialize-copies --dist-schedule-assign-buffers --dist-schedule-verify -o %t
// RUN: dist-opt %t --dist-schedule-verify -o /dev/null
// RUN: sed 's/actions \["send6", "1F", "update"\] items .*/actions ["send6", "1F", "update"] items [0, 0, 1, 0, -1, 0, 0, 1, -1, 1, 1, 1, 2, 1]/' %t | not dist-opt - --dist-schedule-verify 2>&1 | FileCheck %s --check-prefix=RECEIVED
// RUN: sed 's/actions \["send6", "1F", "update"\] items .*/actions ["send6", "1F", "update"] items [1, 0, 0, 0, -1, 0, 0, 1, -1, 1, 1, 1, 2, 1]/' %t | not dist-opt - --dist-schedule-verify 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: sed 's/dist.slots = 2/dist.slots = 1/' %t | not dist-opt - --dist-schedule-verify 2>&1 | FileCheck %s --check-prefix=SENT
// RUN: sed 's/items \[0, 0, 1, 0, 0, 1, 1, 1, -2, 0, -2, 1, 2, 1\]/items [0, 0, 0, 1, 1, 1, 1, 0, -2, 0, -2, 1, 2, 1]/' %t | not dist-opt - --dist-schedule-verify 2>&1 | FileCheck %s --check-prefix=STUCK
// RUN: grep -v 'dist.schedule on {pp = array<i64: 1>}' %t | not dist-opt - --dist-schedule-verify 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: grep -v 'dist.schedule on' %t | not dist-opt - --from=emit --emit=%t.out 2>&1 | FileCheck %s --check-prefix=EMIT
// RUN: grep -v 'dist.schedule on {pp = array<i64: 1>}' %t | not dist-opt - --from=emit --emit=%t.out 2>&1 | FileCheck %s --check-prefix=MISSING

// Tests that the gate finds what is wrong with a schedule: a value is read before it has come or without being there, a slot is written while it is
// being sent, and sends in different orders on their two sides, which never take place.

// RECEIVED: 'dist.schedule' op does "1F" for micro-batch 0 where "within/h" is still being received
// NONE: 'dist.schedule' op does "1F" for micro-batch 0 where its slot of "within/h" holds what is of none
// SENT: 'dist.schedule' op does "0F" for micro-batch 1 where its slot of "within/h_0" is still being sent
// STUCK: 'dist.schedule' op does not come to its end
// STUCK: note: coordinate 0 waits for "send6" of micro-batch 0, has next in its row "send6" of micro-batch 1
// STUCK: note: coordinate 1 waits for "send6" of micro-batch 0, has next in its row "send6" of micro-batch 0
// MISSING: is of a pipeline, but no dist.schedule is for its ranks
// EMIT: the actions of a pipeline have no schedule

dist.mesh @mesh <["pp" = 2, slices "micro" = 2]> {dist.stage_axis = "pp", dist.task_order = "0F0,0F1,0B0,0B1\0A1F0,1B0,1F1,1B1\0A"}
net.variable parameter @w : tensor<4xf32> {dist.mapping = #dist.mapping<dims = [[]], on {"pp" = [0]}>}
func.func @step(%x: tensor<4xf32>) -> (tensor<4xf32> {dist.mapping = #dist.mapping<dims = [[]], on {"pp" = [1]}>, dist.during = {micro = array<i64: 1>}}) {
  %micro = dist.coordinate "micro" : tensor<i32>
  %number = net.convert %micro : tensor<i32> -> tensor<f32>
  %numbers = net.broadcast %number dims = [] : tensor<f32> -> tensor<4xf32>
  %w = net.read @w {dist.on = {pp = array<i64: 0>}} : tensor<4xf32>
  %h = net.multiply %numbers, %w {net.name = "h", net.role = #net.role<forward>, dist.stage = 0, dist.on = {pp = array<i64: 0>}} : tensor<4xf32>
  %h1 = dist.collective c_send(%h) roots [0] to 1 axes ["pp"] : (tensor<4xf32>) -> tensor<4xf32>
  %y = net.negate %h1 {net.name = "y", net.role = #net.role<forward>, dist.stage = 1, dist.on = {pp = array<i64: 1>}} : tensor<4xf32>
  return %y : tensor<4xf32>
}
