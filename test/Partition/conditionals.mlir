// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --split-input-file --dist-partition-form-conditionals | FileCheck %s
// RUN: dist-opt %s --split-input-file --dist-partition-form-conditionals --dist-partition-inline-conditionals | FileCheck %s --check-prefix=APART
// RUN: dist-opt %s --split-input-file --dist-partition-form-conditionals --dist-partition-inline-conditionals --dist-partition-form-conditionals | FileCheck %s

// Tests that the last step's operations, in their order, follow those that every step needs; that a value which only a result of the
// last step reads is yielded; that loops move as a whole, and so do operations that nothing needs. Inlined, the program
// is as before except for the order.

// CHECK-LABEL: @merge
// CHECK: %[[BEFORE:.*]] = net.read @"accumulator/w"
// CHECK-NEXT: %[[G:.*]] = net.negate %arg0
// CHECK-NEXT: %[[SUM:.*]] = dist.accumulate %[[BEFORE]], %[[G]]
// CHECK-NEXT: net.assign @"accumulator/w", %[[SUM]] {dist.during = {accumulation = array<i64: 0, 1, 2>}}
// CHECK-NEXT: %[[LATE:.*]] = dist.when {accumulation = array<i64: 3>} {
// CHECK-NEXT: %[[W:.*]] = net.read @w
// CHECK-NEXT: %[[ALL:.*]] = dist.c_allreduce %[[SUM]]
// CHECK-NEXT: net.sine %[[ALL]]
// CHECK-NEXT: net.abs %arg0
// CHECK-NEXT: %[[I:.*]] = net.loop count = 2
// CHECK-NEXT: %[[C:.*]] = net.carry %[[W]]
// CHECK-NEXT: %[[LESS:.*]] = net.subtract %[[C]], %[[ALL]]
// CHECK-NEXT: %[[NEXT:.*]] = net.next %[[LESS]]
// CHECK-NEXT: net.end_loop %[[I]]
// CHECK-NEXT: %[[A:.*]] = net.abs %[[ALL]]
// CHECK-NEXT: net.assign @w, %[[NEXT]] : tensor<4xf32>
// CHECK-NEXT: net.assign @v, %[[A]] {dist.during = {micro = array<i64: 1>}} : tensor<4xf32>
// CHECK-NEXT: dist.yield %[[A]] : tensor<4xf32>
// CHECK-NEXT: } : tensor<4xf32>
// CHECK-NEXT: return %[[G]], %[[LATE]]

// APART-LABEL: @merge
// APART-NOT: dist.when
// APART: net.assign @"accumulator/w", %{{.*}} {dist.during = {accumulation = array<i64: 0, 1, 2>}}
// APART: net.read @w
// APART: dist.c_allreduce
// APART: net.assign @w, %{{.*}} {dist.during = {accumulation = array<i64: 3>}} : tensor<4xf32>
// APART-NEXT: net.assign @v, %[[A:.*]] {dist.during = {accumulation = array<i64: 3>, micro = array<i64: 1>}} : tensor<4xf32>
// APART-NEXT: return %{{.*}}, %[[A]]
dist.mesh @mesh <["dp" = 2, slices "micro" = 2, steps "accumulation" = 4]>
net.variable parameter @w : tensor<4xf32>
net.variable parameter @v : tensor<4xf32>
net.variable accumulator @"accumulator/w" : tensor<4xf32>
func.func @merge(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32> {dist.during = {accumulation = array<i64: 3>}}) {
  %before = net.read @"accumulator/w" : tensor<4xf32>
  %w = net.read @w : tensor<4xf32>
  %g = net.negate %x : tensor<4xf32>
  %sum = dist.accumulate %before, %g over "accumulation" : tensor<4xf32>
  %all = dist.c_allreduce %sum axes ["dp"] from <dims = [[]], partial = sum ["dp"]> to <dims = [[]]> shape [4] : tensor<4xf32> -> tensor<4xf32>
  net.assign @"accumulator/w", %sum {dist.during = {accumulation = array<i64: 0, 1, 2>}} : tensor<4xf32>
  %unused = net.sine %all : tensor<4xf32>
  %unread = net.abs %x : tensor<4xf32>
  %i = net.loop count = 2
  %c = net.carry %w in %i : tensor<4xf32>
  %less = net.subtract %c, %all : tensor<4xf32>
  %next = net.next %less for %c : tensor<4xf32>
  net.end_loop %i
  %late = net.abs %all : tensor<4xf32>
  net.assign @w, %next {dist.during = {accumulation = array<i64: 3>}} : tensor<4xf32>
  net.assign @v, %late {dist.during = {accumulation = array<i64: 3>, micro = array<i64: 1>}} : tensor<4xf32>
  return %g, %late : tensor<4xf32>, tensor<4xf32>
}

// -----

// Tests that nothing moves if the last step does what the others do, and if there is one step.

// CHECK-LABEL: @every
// CHECK-NOT: dist.when
// CHECK: return
dist.mesh @mesh <["dp" = 2, steps "accumulation" = 2]>
net.variable parameter @w : tensor<4xf32>
net.variable parameter @v : tensor<4xf32>
func.func @every(%x: tensor<4xf32>) {
  %a = net.negate %x : tensor<4xf32>
  net.assign @w, %a : tensor<4xf32>
  net.assign @v, %x {dist.during = {accumulation = array<i64: 0>}} : tensor<4xf32>
  return
}

// -----

// CHECK-LABEL: @one
// CHECK-NOT: dist.when
// CHECK: net.assign @w, %{{.*}} {dist.during = {accumulation = array<i64: 0>}}
dist.mesh @mesh <["dp" = 2, steps "accumulation" = 1]>
net.variable parameter @w : tensor<4xf32>
func.func @one(%x: tensor<4xf32>) {
  net.assign @w, %x {dist.during = {accumulation = array<i64: 0>}} : tensor<4xf32>
  return
}
