// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// DEFINE: %{train} = dist-opt %s --split-input-file --dist-train-differentiate
// RUN: %{train} --dist-train-accumulate-gradients=steps=4 | FileCheck %s --check-prefixes=CHECK,MEAN
// RUN: %{train} --dist-train-accumulate-gradients="steps=4 average=false" | FileCheck %s --check-prefixes=CHECK,SUM
// RUN: %{train} --dist-train-accumulate-gradients="steps=4 reduce=every-step" | FileCheck %s --check-prefixes=CHECK,EVERY
// RUN: %{train} --dist-train-accumulate-gradients=steps=1 | FileCheck %s --check-prefix=ONE
// RUN: not dist-opt %s --split-input-file --dist-train-differentiate --dist-train-accumulate-gradients=steps=0 2>&1 | FileCheck %s --check-prefix=ERROR

// ERROR: error: gradients of 0 steps are accumulated; it takes at least 1
// ONE-NOT: accumulat

// Tests how gradients are accumulated, and where the mean is taken: before or after the reduction.

// CHECK: dist.mesh @mesh <[steps "accumulation" = 4]>
// CHECK: net.variable parameter @w
// CHECK-NEXT: net.variable accumulator @"accumulator/w" : tensor<4xf32> = <constant, 0.000000e+00, 0.000000e+00> like @w
// CHECK-LABEL: @wide
// CHECK: %[[BEFORE:.*]] = net.read @"accumulator/w"
// CHECK: %[[SUM:.*]] = dist.accumulate %[[BEFORE]], %{{.*}} over "accumulation" {net.name = "accumulator/w"
// MEAN: %[[QUARTER:.*]] = net.constant {{.*}}dense<2.500000e-01>
// MEAN: net.multiply %[[QUARTER]], %[[SUM]] {dist.defer_reduction, net.name = "grad/w", net.role = #net.role<backward>}
// SUM: net.reshape %[[SUM]] {net.name = "grad/w"
// EVERY: %[[QUARTER:.*]] = net.constant {{.*}}dense<2.500000e-01>
// EVERY: net.multiply %[[QUARTER]], %[[SUM]] {net.name = "grad/w", net.role = #net.role<optimize>}
// CHECK: net.assign @"accumulator/w", %[[SUM]] {dist.during = {accumulation = array<i64: 0, 1, 2>}
net.variable parameter @w : tensor<4xf32>
func.func @wide(%x: tensor<4xf32>) -> tensor<f32> {
  %w = net.read @w : tensor<4xf32>
  %y = net.multiply %w, %x : tensor<4xf32>
  %loss = net.reduce sum %y dims = [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Tests that gradients in 16 bit are added up in 32, as partial sums where they are reduced later.

// CHECK: net.variable accumulator @"accumulator/w" : tensor<4xf32>
// CHECK-LABEL: @narrow
// MEAN: %[[ADDEND:.*]] = net.convert %{{.*}} {dist.defer_reduction, net.role = #net.role<backward>} : tensor<4xbf16> -> tensor<4xf32>
// EVERY: %[[ADDEND:.*]] = net.convert %{{.*}} {net.role = #net.role<optimize>} : tensor<4xbf16> -> tensor<4xf32>
// SUM: %[[ADDEND:.*]] = net.convert %{{.*}} {dist.defer_reduction
// CHECK: %[[SUM:.*]] = dist.accumulate %{{.*}}, %[[ADDEND]]
// MEAN: %[[MEAN:.*]] = net.multiply %{{.*}}, %[[SUM]] {dist.defer_reduction
// MEAN: net.convert %[[MEAN]] {net.name = "grad/w"{{.*}}} : tensor<4xf32> -> tensor<4xbf16>
// SUM: net.convert %[[SUM]] {net.name = "grad/w"{{.*}}} : tensor<4xf32> -> tensor<4xbf16>
net.variable parameter @w : tensor<4xbf16>
func.func @narrow(%x: tensor<4xbf16>) -> tensor<bf16> {
  %w = net.read @w : tensor<4xbf16>
  %y = net.multiply %w, %x : tensor<4xbf16>
  %loss = net.reduce sum %y dims = [0] : tensor<4xbf16> -> tensor<bf16>
  return %loss : tensor<bf16>
}

// -----

// Tests that a partial sum passes the way back from 16 bit where it is reduced later, and only there.

// CHECK-LABEL: @mixed
// MEAN: net.convert %{{.*}} {dist.defer_reduction, net.role = #net.role<backward>} : tensor<4xbf16> -> tensor<4xf32>
// EVERY: net.convert %{{.*}} {net.role = #net.role<backward>} : tensor<4xbf16> -> tensor<4xf32>
// CHECK: dist.accumulate
net.variable parameter @w : tensor<4xf32>
func.func @mixed(%x: tensor<4xbf16>) -> tensor<f32> {
  %w = net.read @w : tensor<4xf32>
  %n = net.convert %w : tensor<4xf32> -> tensor<4xbf16>
  %y = net.multiply %n, %x : tensor<4xbf16>
  %z = net.convert %y : tensor<4xbf16> -> tensor<4xf32>
  %loss = net.reduce sum %z dims = [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Tests that a partial sum also passes a conversion to 16 bit which only layout operations follow.

// CHECK-LABEL: @laid_out
// MEAN: %[[NARROW:.*]] = net.convert %{{.*}} {dist.defer_reduction, net.role = #net.role<backward>} : tensor<1x4xf32> -> tensor<1x4xbf16>
// EVERY: %[[NARROW:.*]] = net.convert %{{.*}} {net.role = #net.role<backward>} : tensor<1x4xf32> -> tensor<1x4xbf16>
// MEAN: %[[GRADIENT:.*]] = net.reshape %[[NARROW]]
// MEAN: net.convert %[[GRADIENT]] {dist.defer_reduction
// CHECK: dist.accumulate
net.variable parameter @w : tensor<4xbf16>
func.func @laid_out(%x: tensor<1x4xf32>) -> tensor<f32> {
  %w = net.read @w : tensor<4xbf16>
  %r = net.reshape %w : tensor<4xbf16> -> tensor<1x4xbf16>
  %n = net.convert %r : tensor<1x4xbf16> -> tensor<1x4xf32>
  %y = net.multiply %n, %x : tensor<1x4xf32>
  %loss = net.reduce sum %y dims = [0, 1] : tensor<1x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Tests that the axis of steps comes after existing axes of ranks.

// CHECK: dist.mesh @mesh <["dp" = 2, steps "accumulation" = 4]> {dist.data_axes = ["dp"]}
// CHECK-LABEL: @ranks
// CHECK: dist.accumulate
dist.mesh @mesh <["dp" = 2]> {dist.data_axes = ["dp"]}
net.variable parameter @w : tensor<f32>
func.func @ranks() -> tensor<f32> {
  %w = net.read @w : tensor<f32>
  %loss = net.multiply %w, %w : tensor<f32>
  return %loss : tensor<f32>
}
