// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --split-input-file --verify-diagnostics --dist-schedule-cut-tasks

// expected-error @below {{has an order of tasks for 2 micro-batches, but the batch has 3 slices}}
dist.mesh @mesh <["pp" = 2, slices "micro" = 3]> {dist.stage_axis = "pp", dist.task_order = "0F0,0F1,0B0,0B1\0A1F0,1B0,1F1,1B1\0A"}
func.func @step(%x: tensor<4xf32>) {
  return
}

// -----

// expected-error @below {{has an order of tasks in which 0F0 comes after a later micro-batch; sums over micro-batches need them in order}}
dist.mesh @mesh <["pp" = 2, slices "micro" = 2]> {dist.stage_axis = "pp", dist.task_order = "0F1,0F0,0B1,0B0\0A1F1,1B1,1F0,1B0\0A"}
func.func @step(%x: tensor<4xf32>) {
  return
}

// -----

dist.mesh @mesh <["pp" = 2, slices "micro" = 2]> {dist.stage_axis = "pp", dist.task_order = "0F0,0F1,0B0,0B1\0A1F0,1B0,1F1,1B1\0A"}
func.func @step(%x: tensor<4xf32>) {
  // expected-error @below {{is of stage 2 of a pipeline that has 2}}
  %0 = net.negate %x {net.role = #net.role<forward>, dist.stage = 2} : tensor<4xf32>
  return
}

// -----

dist.mesh @mesh <["pp" = 2, slices "micro" = 2]> {dist.stage_axis = "pp", dist.task_order = "0F0,0F1,0B0,0B1\0A1F0,1B0,1F1,1B1\0A"}
net.variable accumulator @sum : tensor<4xf32> {dist.within_step}
func.func @step(%x: tensor<4xf32>) {
  %0 = net.read @sum : tensor<4xf32>
  %1 = dist.accumulate %0, %x over "micro" : tensor<4xf32>
  // expected-error @below {{sums over micro-batches a value that no stage of the pipeline computes}}
  net.assign @sum, %1 {dist.during = {micro = array<i64: 0>}} : tensor<4xf32>
  return
}
