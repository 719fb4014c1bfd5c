// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics --dist-schedule-assign-times

dist.mesh @mesh <["dp" = 2, steps "accumulation" = 4]>
net.variable parameter @w : tensor<f32>
func.func @no_axis(%x: tensor<f32>) {
  // expected-error @below {{has "dist.during" = 3 : i64, but its type is dictionary of i64 arrays, the coordinates by axis}}
  net.assign @w, %x {dist.during = 3} : tensor<f32>
  return
}

// -----

dist.mesh @mesh <["dp" = 2, steps "accumulation" = 4]>
net.variable parameter @w : tensor<f32>
func.func @axis_of_ranks(%x: tensor<f32>) {
  // expected-error @below {{takes place during array<i64: 1> of "dp", which are no coordinates of an axis of times of the mesh}}
  net.assign @w, %x {dist.during = {dp = array<i64: 1>}} : tensor<f32>
  return
}

// -----

dist.mesh @mesh <[steps "accumulation" = 4]>
// expected-error @below {{takes place at coordinate 4 after 3 of axis "accumulation" of size 4}}
func.func @beyond(%x: tensor<f32>) -> (tensor<f32> {dist.during = {accumulation = array<i64: 3, 4>}}) {
  return %x : tensor<f32>
}

// -----

dist.mesh @mesh <[steps "accumulation" = 4]>
net.variable parameter @w : tensor<f32>
func.func @in_no_order(%x: tensor<f32>) {
  // expected-error @below {{takes place at coordinate 1 after 2 of axis "accumulation" of size 4}}
  net.assign @w, %x {dist.during = {accumulation = array<i64: 2, 1>}} : tensor<f32>
  return
}
