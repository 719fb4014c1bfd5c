// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s | dist-opt - | FileCheck %s
// RUN: dist-opt %s --mlir-print-op-generic | dist-opt - | FileCheck %s

// Tests that axes of times and sums over them print as they are written.

// CHECK: dist.mesh @mesh <["dp" = 2, slices "micro" = 4, steps "accumulation" = 8]>
dist.mesh @mesh <["dp" = 2, slices "micro" = 4, steps "accumulation" = 8]>
net.variable accumulator @"accumulator/w" : tensor<4xf32>

// CHECK-LABEL: @accumulate
func.func @accumulate(%gradient: tensor<4xf32>) {
  %before = net.read @"accumulator/w" : tensor<4xf32>
  // CHECK: %[[SUM:.*]] = dist.accumulate %{{.*}}, %{{.*}} over "accumulation" : tensor<4xf32>
  %sum = dist.accumulate %before, %gradient over "accumulation" : tensor<4xf32>
  // CHECK: net.assign @"accumulator/w", %[[SUM]] {dist.during = {accumulation = array<i64: 0, 1>}} : tensor<4xf32>
  net.assign @"accumulator/w", %sum {dist.during = {accumulation = array<i64: 0, 1>}} : tensor<4xf32>
  return
}
