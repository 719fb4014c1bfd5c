// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-complete-propagate --split-input-file --verify-diagnostics

// Tests that an order of tasks has to go with its mesh, and stages with the order.

// expected-error @below {{names "pp" as the axis of a pipeline, which is not an axis of ranks}}
dist.mesh @mesh <["dp" = 2, slices "pp" = 2]> {dist.stage_axis = "pp", dist.task_order = "0F0\0A1F0\0A"}

// -----

// expected-error @below {{has a pipeline along axis "pp" without dist.task_order}}
dist.mesh @mesh <["pp" = 2]> {dist.stage_axis = "pp"}

// -----

// expected-error @below {{has a dist.task_order that cannot be read: line 1, cell 2: "0X0" is no task}}
dist.mesh @mesh <["pp" = 2]> {dist.stage_axis = "pp", dist.task_order = "0F0,0X0\0A1F0\0A"}

// -----

// expected-error @below {{has a dist.task_order that is not a valid order: }}
dist.mesh @mesh <["pp" = 2]> {dist.stage_axis = "pp", dist.task_order = "0F0,0F0\0A1F0\0A"}

// -----

// expected-error @below {{has a dist.task_order of 2 ranks, but axis "pp" has size 3}}
dist.mesh @mesh <["pp" = 3]> {dist.stage_axis = "pp", dist.task_order = "0F0,0B0\0A1F0,1B0\0A"}

// -----

dist.mesh @mesh <["pp" = 2]> {dist.stage_axis = "pp", dist.task_order = "0F0,0B0\0A1F0,1B0\0A"}
func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{is of stage 2, but the order of tasks has 2 stages}}
  %0 = net.tanh %x {dist.stage = 2 : i64} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

dist.mesh @mesh <["pp" = 2]> {dist.stage_axis = "pp", dist.task_order = "0F0,0B0\0A1F0,1B0\0A"}
// expected-error @below {{a value is split over axis "pp", the axis of the pipeline's stages}}
func.func @step(%x: tensor<4xf32> {dist.mapping = #dist.mapping<dims = [["pp"]]>}) -> tensor<4xf32> {
  %0 = net.tanh %x {dist.stage = 1 : i64} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

dist.mesh @mesh <["pp" = 3]>
net.variable parameter @w : tensor<4xf32> {dist.mapping = #dist.mapping<dims = [[]], on {"pp" = [0, 2]}>}
func.func @step() -> tensor<4xf32> {
  // expected-error @below {{has a value on 2 of the 3 coordinates of axis "pp"; a value is held by one of them or by all}}
  %w = net.read @w : tensor<4xf32>
  return %w : tensor<4xf32>
}
