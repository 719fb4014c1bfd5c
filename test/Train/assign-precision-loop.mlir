// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-train-assign-precision="compute=bf16" -split-input-file | FileCheck %s

// Tests that a value which comes into a loop in 16 bit and is left so by every iteration is carried in 16 bit, and that what leaves the loop is
// converted after it, once.

net.variable parameter @v : tensor<4x4xf32>
net.variable parameter @w : tensor<3x4x4xf32>
// CHECK-LABEL: func.func @step
func.func @step(%x: tensor<2x4xf32>) -> tensor<f32> {
  // CHECK: %[[X:.*]] = net.convert %arg0 : tensor<2x4xf32> -> tensor<2x4xbf16>
  // CHECK: %[[W:.*]] = net.convert {{.*}} : tensor<3x4x4xf32> -> tensor<3x4x4xbf16>
  %w = net.read @w : tensor<3x4x4xf32>
  %first = net.read @v : tensor<4x4xf32>
  %y = net.dot %x, %first batch = [] x [] contract = [1] x [0] : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  // CHECK: net.loop
  // CHECK-NEXT: %[[C:.*]] = net.carry {{.*}} : tensor<2x4xbf16>
  // CHECK-NEXT: %[[TAKE:.*]] = net.take %[[W]] {{.*}} : tensor<3x4x4xbf16> -> tensor<4x4xbf16>
  // CHECK-NEXT: %[[P:.*]] = net.dot %[[C]], %[[TAKE]] {{.*}} -> tensor<2x4xbf16>
  // CHECK-NEXT: %[[P32:.*]] = net.convert %[[P]] : tensor<2x4xbf16> -> tensor<2x4xf32>
  // CHECK-NEXT: %[[N:.*]] = net.next %[[P]] for %[[C]] : tensor<2x4xbf16>
  // CHECK-NEXT: net.total %[[P32]] {{.*}} : tensor<2x4xf32>
  // CHECK-NEXT: net.end_loop
  // CHECK-NEXT: %[[N32:.*]] = net.convert %[[N]] : tensor<2x4xbf16> -> tensor<2x4xf32>
  // CHECK-NOT: net.convert
  %i = net.loop count = 3
  %c = net.carry %y in %i : tensor<2x4xf32>
  %wi = net.take %w in %i : tensor<3x4x4xf32> -> tensor<4x4xf32>
  %p = net.dot %c, %wi batch = [] x [] contract = [1] x [0] : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %n = net.next %p for %c : tensor<2x4xf32>
  %t = net.total %p in %i : tensor<2x4xf32>
  net.end_loop %i
  // CHECK: net.reduce sum %[[N32]]
  // CHECK: net.exponential %[[N32]]
  %a = net.reduce sum %n dims = [0, 1] : tensor<2x4xf32> -> tensor<f32>
  %e = net.exponential %n : tensor<2x4xf32>
  %z = net.add %e, %t : tensor<2x4xf32>
  %b = net.reduce sum %z dims = [0, 1] : tensor<2x4xf32> -> tensor<f32>
  %loss = net.add %a, %b : tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Tests that what an iteration leaves wide is carried wide, and so is what it is handed on to: in 16 bit it comes in, and leaves the body by a sum.

net.variable parameter @w : tensor<4x4xf32>
// CHECK-LABEL: func.func @step
func.func @step(%x: tensor<2x4xf32>) -> tensor<f32> {
  %w = net.read @w : tensor<4x4xf32>
  %y = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  // CHECK: net.loop
  // CHECK-NEXT: %[[C:.*]] = net.carry {{.*}} : tensor<2x4xf32>
  // CHECK-NEXT: %[[D:.*]] = net.carry {{.*}} : tensor<2x4xf32>
  // CHECK: %[[P:.*]] = net.dot {{.*}} -> tensor<2x4xbf16>
  // CHECK: %[[S:.*]] = net.exponential {{.*}} : tensor<2x4xf32>
  // CHECK: net.next %[[S]] for %[[C]] : tensor<2x4xf32>
  // CHECK: net.next %[[C]] for %[[D]] : tensor<2x4xf32>
  %i = net.loop count = 3
  %c = net.carry %y in %i : tensor<2x4xf32>
  %d = net.carry %y in %i : tensor<2x4xf32>
  %p = net.dot %d, %w batch = [] x [] contract = [1] x [0] : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %s = net.exponential %p : tensor<2x4xf32>
  %n = net.next %s for %c : tensor<2x4xf32>
  %m = net.next %c for %d : tensor<2x4xf32>
  net.end_loop %i
  %z = net.add %n, %m : tensor<2x4xf32>
  %loss = net.reduce sum %z dims = [0, 1] : tensor<2x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Tests that a sum which starts from zero is carried as it is written.

net.variable parameter @w : tensor<4x4xf32>
// CHECK-LABEL: func.func @step
func.func @step(%x: tensor<2x4xf32>) -> tensor<f32> {
  %w = net.read @w : tensor<4x4xf32>
  %zero = net.constant dense<0.0> : tensor<2x4xf32>
  // CHECK: net.loop
  // CHECK-NEXT: net.carry {{.*}} : tensor<2x4xf32>
  // CHECK: net.add {{.*}} : tensor<2x4xf32>
  %i = net.loop count = 3
  %c = net.carry %zero in %i : tensor<2x4xf32>
  %p = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %s = net.add %c, %p : tensor<2x4xf32>
  %n = net.next %s for %c : tensor<2x4xf32>
  net.end_loop %i
  %loss = net.reduce sum %n dims = [0, 1] : tensor<2x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
