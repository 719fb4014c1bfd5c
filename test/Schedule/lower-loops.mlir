// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: dist-opt %s --dist-schedule-lower-loops --split-input-file | FileCheck %s

// Tests what is left of loops.

// CHECK-LABEL: @sum_is_carried
// CHECK: %[[ZERO:.*]] = net.constant dense<0.0
// CHECK-NEXT: %[[I:.*]] = net.loop count = 3
// CHECK-NEXT: %[[C:.*]] = net.carry %arg0 in %[[I]]
// CHECK-NEXT: %[[SUM:.*]] = net.carry %[[ZERO]] in %[[I]]
// CHECK-NEXT: %[[SINE:.*]] = net.sine %[[C]]
// CHECK-NEXT: %[[ADDED:.*]] = net.add %[[SUM]], %[[SINE]]
// CHECK-NEXT: %[[LAST:.*]] = net.next %[[SINE]] for %[[C]]
// CHECK-NEXT: %[[TOTAL:.*]] = net.next %[[ADDED]] for %[[SUM]]
// CHECK-NEXT: net.end_loop %[[I]]
// CHECK-NEXT: return %[[LAST]], %[[TOTAL]]
func.func @sum_is_carried(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %i = net.loop count = 3
  %s = net.carry %x in %i : tensor<4xf32>
  %0 = net.sine %s : tensor<4xf32>
  %1 = net.next %0 for %s : tensor<4xf32>
  %2 = net.total %0 in %i : tensor<4xf32>
  net.end_loop %i
  return %1, %2 : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @number_is_taken
// CHECK: %[[NUMBERS:.*]] = net.iota dim = 0 : tensor<3xi32>
// CHECK-NEXT: %[[I:.*]] = net.loop count = 3 reverse
// CHECK-NEXT: %[[NUMBER:.*]] = net.take %[[NUMBERS]] in %[[I]]
// CHECK-NEXT: %[[DOUBLE:.*]] = net.add %[[NUMBER]], %[[NUMBER]]
// CHECK-NEXT: %[[ALL:.*]] = net.stack %[[DOUBLE]] in %[[I]]
// CHECK-NEXT: %[[SAME:.*]] = net.stack %[[NUMBER]] in %[[I]]
// CHECK-NEXT: net.end_loop %[[I]]
func.func @number_is_taken() -> (tensor<3xi32>, tensor<3xi32>) {
  %i = net.loop count = 3 reverse
  %0 = net.add %i, %i : tensor<i32>
  %1 = net.stack %0 in %i : tensor<i32> -> tensor<3xi32>
  %2 = net.stack %i in %i : tensor<i32> -> tensor<3xi32>
  net.end_loop %i
  return %1, %2 : tensor<3xi32>, tensor<3xi32>
}

// -----

// Operations that read nothing of a loop are hoisted before it.
// CHECK-LABEL: @same_in_every_iteration
// CHECK: %[[W:.*]] = net.exponential %arg1
// CHECK-NEXT: %[[I:.*]] = net.loop count = 3
// CHECK-NEXT: %[[C:.*]] = net.carry %arg0 in %[[I]]
// CHECK-NEXT: %[[S:.*]] = net.sine %[[C]]
// CHECK-NEXT: %[[J:.*]] = net.loop count = 2
// CHECK-NEXT: %[[D:.*]] = net.carry %[[C]] in %[[J]]
// CHECK-NEXT: %[[P:.*]] = net.multiply %[[D]], %[[W]]
// CHECK-NEXT: %[[Q:.*]] = net.add %[[P]], %[[S]]
// CHECK-NEXT: %[[E:.*]] = net.next %[[Q]] for %[[D]]
// CHECK-NEXT: net.end_loop %[[J]]
// CHECK-NEXT: %[[L:.*]] = net.next %[[E]] for %[[C]]
// CHECK-NEXT: net.end_loop %[[I]]
// CHECK-NEXT: return %[[L]]
func.func @same_in_every_iteration(%x: tensor<4xf32>, %v: tensor<4xf32>) -> tensor<4xf32> {
  %i = net.loop count = 3
  %c = net.carry %x in %i : tensor<4xf32>
  %j = net.loop count = 2
  %d = net.carry %c in %j : tensor<4xf32>
  %w = net.exponential %v : tensor<4xf32>
  %p = net.multiply %d, %w : tensor<4xf32>
  %s = net.sine %c : tensor<4xf32>
  %q = net.add %p, %s : tensor<4xf32>
  %e = net.next %q for %d : tensor<4xf32>
  net.end_loop %j
  %l = net.next %e for %c : tensor<4xf32>
  net.end_loop %i
  return %l : tensor<4xf32>
}
