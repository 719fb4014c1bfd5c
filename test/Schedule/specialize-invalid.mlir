// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file --dist-schedule-specialize -verify-diagnostics

dist.mesh @mesh <["zero" = 2]>
func.func @reads_what_others_have(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note @below {{the value is made here}}
  %0 = net.tanh %x {dist.on = {zero = array<i64: 1>}} : tensor<4xf32>
  // expected-error @below {{reads on {zero = array<i64: 0>} a value that only {zero = array<i64: 1>} has}}
  %1 = net.sine %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

dist.mesh @mesh <["pp" = 2]>
func.func @of_one_rank(%x: tensor<4xf32>) {
  // expected-error @below {{has an end of a part elsewhere; a program is specialized once}}
  dist.collective c_send(%x) roots [0] to 1 axes ["pp"] {dist.on = {pp = array<i64: 0, 1>}} : (tensor<4xf32>) -> ()
  %0 = net.tanh %x {dist.on = {pp = array<i64: 1>}} : tensor<4xf32>
  return
}
