// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s | dist-opt - | FileCheck %s
// RUN: dist-opt %s --mlir-print-op-generic | dist-opt - | FileCheck %s

// Tests that counted conditionals print as they are written, with and without results.

dist.mesh @mesh <["dp" = 2, slices "micro" = 4, steps "accumulation" = 8]>
net.variable parameter @w : tensor<4xf32>

// CHECK-LABEL: @conditional
func.func @conditional(%x: tensor<4xf32>) -> (tensor<4xf32> {dist.during = {accumulation = array<i64: 7>, micro = array<i64: 3>}}) {
  // CHECK: %[[NEW:.*]] = dist.when {accumulation = array<i64: 7>, micro = array<i64: 3>} {
  // CHECK-NEXT: %[[Y:.*]] = net.negate %arg0 : tensor<4xf32>
  // CHECK-NEXT: dist.yield %[[Y]] : tensor<4xf32>
  // CHECK-NEXT: } : tensor<4xf32>
  %new = dist.when {accumulation = array<i64: 7>, micro = array<i64: 3>} {
    %y = net.negate %x : tensor<4xf32>
    dist.yield %y : tensor<4xf32>
  } : tensor<4xf32>
  // CHECK-NEXT: dist.when {accumulation = array<i64: 0, 2>} {
  // CHECK-NEXT: net.assign @w, %arg0 : tensor<4xf32>
  // CHECK-NEXT: dist.yield
  // CHECK-NEXT: }
  dist.when {accumulation = array<i64: 0, 2>} {
    net.assign @w, %x : tensor<4xf32>
    dist.yield
  }
  return %new : tensor<4xf32>
}
