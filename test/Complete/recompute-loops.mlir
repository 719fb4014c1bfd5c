// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file --dist-complete-recompute | FileCheck %s

// Tests that an iteration of backward makes again what an iteration of forward made by cheap operations, from what that one takes of stacks that are there and
// one more stack; and that stacks which are read no more are gone.

// CHECK-LABEL: func.func @iteration
// CHECK: %[[I:.*]] = net.loop count = 3
// CHECK: %[[B:.*]] = net.take %arg1 in %[[I]]
// CHECK: %[[Y:.*]] = net.dot
// CHECK-NEXT: net.convert %[[Y]] {net.recomputed = [[CONVERT:[0-9]+]]
// CHECK-NEXT: net.add %{{.*}}, %[[B]] {net.recomputed = [[ADD:[0-9]+]]
// CHECK-NEXT: net.tanh {{.*}}net.recomputed = [[TANH:[0-9]+]]
// CHECK-NEXT: net.next
// CHECK-NEXT: %[[S:.*]] = net.stack %[[Y]] in %[[I]] {net.role = #net.role<forward>} : tensor<4x8xbf16> -> tensor<3x4x8xbf16>
// CHECK-NEXT: net.end_loop
// CHECK-NEXT: %[[J:.*]] = net.loop count = 3 reverse
// CHECK-DAG: %[[YJ:.*]] = net.take %[[S]] in %[[J]] {net.role = #net.role<backward>}
// CHECK-DAG: %[[BJ:.*]] = net.take %arg1 in %[[J]] {net.role = #net.role<backward>}
// CHECK: %[[C:.*]] = net.convert %[[YJ]] {net.recomputes = [[CONVERT]]
// CHECK-NEXT: %[[A:.*]] = net.add %[[C]], %[[BJ]] {net.recomputes = [[ADD]]
// CHECK-NEXT: %[[T:.*]] = net.tanh %[[A]] {net.recomputes = [[TANH]]
// CHECK-NEXT: net.multiply %{{.*}}, %[[T]]
// CHECK-NEXT: net.next
func.func @iteration(%x: tensor<4x8xf32>, %bias: tensor<3x4x8xf32>, %w: tensor<8x8xbf16>, %g: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %i = net.loop count = 3 {net.role = #net.role<forward>}
  %c = net.carry %x in %i {net.role = #net.role<forward>} : tensor<4x8xf32>
  %b = net.take %bias in %i {net.role = #net.role<forward>} : tensor<3x4x8xf32> -> tensor<4x8xf32>
  %h = net.convert %c {net.role = #net.role<forward>} : tensor<4x8xf32> -> tensor<4x8xbf16>
  %y = net.dot %h, %w batch = [] x [] contract = [1] x [0] {net.role = #net.role<forward>} : tensor<4x8xbf16>, tensor<8x8xbf16> -> tensor<4x8xbf16>
  %f = net.convert %y {net.role = #net.role<forward>} : tensor<4x8xbf16> -> tensor<4x8xf32>
  %a = net.add %f, %b {net.role = #net.role<forward>} : tensor<4x8xf32>
  %t = net.tanh %a {net.role = #net.role<forward>} : tensor<4x8xf32>
  %n = net.next %t for %c {net.role = #net.role<forward>} : tensor<4x8xf32>
  %ts = net.stack %t in %i {net.role = #net.role<forward>} : tensor<4x8xf32> -> tensor<3x4x8xf32>
  net.end_loop %i {net.role = #net.role<forward>}
  %j = net.loop count = 3 reverse {net.role = #net.role<backward>}
  %d = net.carry %g in %j {net.role = #net.role<backward>} : tensor<4x8xf32>
  %ti = net.take %ts in %j {net.role = #net.role<backward>} : tensor<3x4x8xf32> -> tensor<4x8xf32>
  %p = net.multiply %d, %ti {net.role = #net.role<backward>} : tensor<4x8xf32>
  %e = net.next %p for %d {net.role = #net.role<backward>} : tensor<4x8xf32>
  net.end_loop %j {net.role = #net.role<backward>}
  return %n, %e : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Tests that what else reads of a stack leaves it as it is.

// CHECK-LABEL: func.func @read_elsewhere
// CHECK: net.stack
// CHECK-NOT: net.recompute
func.func @read_elsewhere(%x: tensor<4x8xf32>, %g: tensor<4x8xf32>) -> (tensor<3x4x8xf32>, tensor<4x8xf32>) {
  %i = net.loop count = 3 {net.role = #net.role<forward>}
  %c = net.carry %x in %i {net.role = #net.role<forward>} : tensor<4x8xf32>
  %t = net.tanh %c {net.role = #net.role<forward>} : tensor<4x8xf32>
  %n = net.next %t for %c {net.role = #net.role<forward>} : tensor<4x8xf32>
  %ts = net.stack %t in %i {net.role = #net.role<forward>} : tensor<4x8xf32> -> tensor<3x4x8xf32>
  net.end_loop %i {net.role = #net.role<forward>}
  %j = net.loop count = 3 reverse {net.role = #net.role<backward>}
  %d = net.carry %g in %j {net.role = #net.role<backward>} : tensor<4x8xf32>
  %ti = net.take %ts in %j {net.role = #net.role<backward>} : tensor<3x4x8xf32> -> tensor<4x8xf32>
  %p = net.multiply %d, %ti {net.role = #net.role<backward>} : tensor<4x8xf32>
  %e = net.next %p for %d {net.role = #net.role<backward>} : tensor<4x8xf32>
  net.end_loop %j {net.role = #net.role<backward>}
  return %ts, %e : tensor<3x4x8xf32>, tensor<4x8xf32>
}
