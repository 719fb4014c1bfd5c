// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: dist-opt %s --dist-schedule-lower-loops --split-input-file --verify-diagnostics

// Tests what no loop may do in a step.

net.variable parameter @w : tensor<4xf32>
func.func @assigned_in_every_iteration(%x: tensor<4xf32>) {
  %i = net.loop count = 3
  %s = net.carry %x in %i : tensor<4xf32>
  %0 = net.sine %s : tensor<4xf32>
  %1 = net.next %0 for %s : tensor<4xf32>
  // expected-error @below {{assigns @w in every iteration of a loop; a step assigns it once}}
  net.assign @w, %0 : tensor<4xf32>
  net.end_loop %i
  return
}

// -----

func.func @without_end(%x: tensor<4xf32>) {
  // expected-error @below {{has no net.end_loop}}
  %i = net.loop count = 3
  return
}
