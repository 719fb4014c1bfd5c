// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-train-verify | FileCheck %s

// Tests that state that a step writes and does not read is legal: it is its user's.
// CHECK: net.variable counter @skipped
// CHECK: net.variable optimizer_state @norms
net.variable counter @skipped : tensor<i32> = <constant, 0.0, 0.0>
net.variable optimizer_state @norms : tensor<4xf32> = <constant, 0.0, 0.0>
func.func @step(%x: tensor<4xf32>, %count: tensor<i32>) {
  net.assign @skipped, %count : tensor<i32>
  net.assign @norms, %x : tensor<4xf32>
  return
}
