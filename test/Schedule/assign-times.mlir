// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --split-input-file --dist-schedule-assign-times | FileCheck %s

// Tests that operations run when they are needed: those that only the update needs at the last step, what the accumulator needs at all,
// unused operations never. Ranks that were named stay so. The update adds for itself.

// CHECK-LABEL: @merge
// CHECK: %[[BEFORE:.*]] = net.read @"accumulator/w" : tensor<4xf32>
// CHECK: %[[W:.*]] = net.read @w {dist.on = {dp = array<i64: 1>}} : tensor<4xf32>
// CHECK: %[[RATE:.*]] = net.constant dense<5.000000e-01> : tensor<4xf32>
// CHECK-NEXT: %[[G:.*]] = net.negate %arg0 : tensor<4xf32>
// CHECK-NEXT: %[[SUM:.*]] = net.add %[[BEFORE]], %[[G]] {dist.on = {accumulation = array<i64: 1, 2>}, net.role = #net.role<backward>} : tensor<4xf32>
// CHECK-NEXT: %[[KEPT:.*]] = dist.either %[[G]] on {accumulation = array<i64: 0>} else %[[SUM]] {dist.on = {accumulation = array<i64: 0, 1, 2>}, net.role = #net.role<backward>} : tensor<4xf32>
// CHECK-NEXT: %[[MERGED:.*]] = net.add %[[BEFORE]], %[[G]] {dist.on = {accumulation = array<i64: 3>}, net.role = #net.role<backward>} : tensor<4xf32>
// CHECK-NEXT: %[[ALL:.*]] = dist.collective c_allreduce sum(%[[MERGED]]) axes ["dp"] {dist.on = {accumulation = array<i64: 3>}}
// CHECK-NEXT: %[[SCALED:.*]] = net.multiply %[[ALL]], %[[RATE]] {dist.on = {accumulation = array<i64: 3>, dp = array<i64: 1>}}
// CHECK-NEXT: %[[NEXT:.*]] = net.subtract %[[W]], %[[SCALED]] {dist.on = {accumulation = array<i64: 3>, dp = array<i64: 1>}}
// CHECK-NEXT: %[[LATE:.*]] = net.abs %[[ALL]] {dist.on = {accumulation = array<i64: 3>}}
// CHECK-NEXT: net.assign @"accumulator/w", %[[KEPT]] {dist.on = {accumulation = array<i64: 0, 1, 2>}} : tensor<4xf32>
// CHECK-NEXT: net.assign @w, %[[NEXT]] {dist.on = {accumulation = array<i64: 3>, dp = array<i64: 1>}} : tensor<4xf32>
// CHECK-NEXT: return %[[G]], %[[LATE]]
dist.mesh @mesh <["dp" = 2, steps "accumulation" = 4]>
net.variable parameter @w : tensor<4xf32>
net.variable accumulator @"accumulator/w" : tensor<4xf32>
func.func @merge(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32> {dist.during = {accumulation = array<i64: 3>}}) {
  %before = net.read @"accumulator/w" : tensor<4xf32>
  %w = net.read @w {dist.on = {dp = array<i64: 1>}} : tensor<4xf32>
  %rate = net.constant dense<0.5> : tensor<4xf32>
  %g = net.negate %x : tensor<4xf32>
  %unused = net.negate %g : tensor<4xf32>
  %sum = dist.accumulate %before, %g over "accumulation" {net.role = #net.role<backward>} : tensor<4xf32>
  %all = dist.collective c_allreduce sum(%sum) axes ["dp"] : (tensor<4xf32>) -> tensor<4xf32>
  %scaled = net.multiply %all, %rate {dist.on = {dp = array<i64: 1>}} : tensor<4xf32>
  %next = net.subtract %w, %scaled {dist.on = {dp = array<i64: 1>}} : tensor<4xf32>
  %late = net.abs %all : tensor<4xf32>
  net.assign @"accumulator/w", %sum {dist.during = {accumulation = array<i64: 0, 1, 2>}} : tensor<4xf32>
  net.assign @w, %next {dist.during = {accumulation = array<i64: 3>}, dist.on = {dp = array<i64: 1>}} : tensor<4xf32>
  return %g, %late : tensor<4xf32>, tensor<4xf32>
}

// -----

// Tests that what is needed at some times here and at others there is needed at both.

// CHECK-LABEL: @both
// CHECK: net.negate %arg0 {dist.on = {accumulation = array<i64: 0, 2>}}
// CHECK: net.abs %arg0 : tensor<4xf32>
dist.mesh @mesh <[steps "accumulation" = 3]>
net.variable parameter @w : tensor<4xf32>
net.variable parameter @v : tensor<4xf32>
net.variable parameter @u : tensor<4xf32>
func.func @both(%x: tensor<4xf32>) -> (tensor<4xf32> {dist.during = {accumulation = array<i64: 2>}}) {
  %a = net.negate %x : tensor<4xf32>
  %b = net.abs %x : tensor<4xf32>
  net.assign @w, %a {dist.during = {accumulation = array<i64: 0>}} : tensor<4xf32>
  net.assign @v, %b {dist.during = {accumulation = array<i64: 0>}} : tensor<4xf32>
  net.assign @u, %b {dist.during = {accumulation = array<i64: 1, 2>}} : tensor<4xf32>
  return %a : tensor<4xf32>
}

// -----

// Tests that a sum which the same times assign and read is added once, and one that is returned too.

// CHECK-LABEL: @once
// CHECK: %[[SUM:.*]] = net.add %{{.*}}, %{{.*}} {dist.on = {accumulation = array<i64: 1, 2>}}
// CHECK-NEXT: %[[ALL:.*]] = dist.either %{{.*}} on {accumulation = array<i64: 0>} else %[[SUM]] : tensor<4xf32>
// CHECK-NEXT: %[[READ:.*]] = net.negate %[[ALL]]
// CHECK: net.add
// CHECK-NEXT: %[[RETURNED:.*]] = dist.either
// CHECK-NOT: net.add
// CHECK: return %[[READ]], %[[RETURNED]]
dist.mesh @mesh <[steps "accumulation" = 3]>
net.variable accumulator @a : tensor<4xf32>
net.variable accumulator @b : tensor<4xf32>
func.func @once(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32> {dist.during = {accumulation = array<i64: 2>}}) {
  %a = net.read @a : tensor<4xf32>
  %b = net.read @b : tensor<4xf32>
  %s = dist.accumulate %a, %x over "accumulation" : tensor<4xf32>
  %n = net.negate %s : tensor<4xf32>
  %t = dist.accumulate %b, %x over "accumulation" : tensor<4xf32>
  net.assign @a, %s {dist.during = {accumulation = array<i64: 0, 1>}} : tensor<4xf32>
  net.assign @b, %t {dist.during = {accumulation = array<i64: 0, 1>}} : tensor<4xf32>
  return %n, %t : tensor<4xf32>, tensor<4xf32>
}

// -----

// Tests that one step adds up nothing.

// CHECK-LABEL: @one
// CHECK-NEXT: %[[G:.*]] = net.negate
// CHECK-NEXT: net.assign @w, %[[G]] : tensor<4xf32>
dist.mesh @mesh <[steps "accumulation" = 1]>
net.variable parameter @w : tensor<4xf32>
net.variable accumulator @a : tensor<4xf32>
func.func @one(%x: tensor<4xf32>) {
  %before = net.read @a : tensor<4xf32>
  %g = net.negate %x : tensor<4xf32>
  %sum = dist.accumulate %before, %g over "accumulation" : tensor<4xf32>
  net.assign @w, %sum : tensor<4xf32>
  return
}

// -----

// Tests that a fetch which is done once in a step runs in the first slice that needs it, with what it alone reads, and that its readers run in all;
// in the last slice it stays where only that needs it. A layout operation with the mark goes with its readers.

// CHECK-LABEL: @once
// CHECK: net.convert %{{.*}} {dist.on = {micro = array<i64: 0>}}
// CHECK: %[[W:.*]] = dist.collective c_allgather{{.*}} {dist.on = {micro = array<i64: 0>}, dist.once}
// CHECK-NEXT: %[[FLAT:.*]] = net.reshape %[[W]] {dist.once} :
// CHECK-NEXT: net.add %arg0, %[[FLAT]] : tensor<8xf32>
// CHECK: dist.collective c_allgather{{.*}} {dist.on = {micro = array<i64: 3>}, dist.once}
dist.mesh @mesh <["dp" = 2, slices "micro" = 4]>
net.variable parameter @w : tensor<4xf64>
net.variable parameter @v : tensor<4xf32>
net.variable parameter @u : tensor<2x4xf32>
func.func @once(%x: tensor<8xf32>) -> tensor<8xf32> {
  %w = net.read @w : tensor<4xf64>
  %narrow = net.convert %w : tensor<4xf64> -> tensor<4xf32>
  %all = dist.collective c_allgather(%narrow) axes ["dp"] {dist.once} : (tensor<4xf32>) -> tensor<2x4xf32>
  %flat = net.reshape %all {dist.once} : tensor<2x4xf32> -> tensor<8xf32>
  %sum = net.add %x, %flat : tensor<8xf32>
  %v = net.read @v : tensor<4xf32>
  %late = dist.collective c_allgather(%v) axes ["dp"] {dist.once} : (tensor<4xf32>) -> tensor<2x4xf32>
  net.assign @u, %late {dist.during = {micro = array<i64: 3>}} : tensor<2x4xf32>
  return %sum : tensor<8xf32>
}

// -----

// Tests that the levels of a tree add at their own times: pairs after every second slice, both of them after the last one.

// CHECK-LABEL: @tree
// CHECK: %[[SLICE:.*]] = net.negate %arg0 : tensor<4xf32>
// CHECK-NEXT: %[[FIRST:.*]] = net.read @"accumulator/g" : tensor<4xf32>
// CHECK-NEXT: %[[PAIR:.*]] = net.add %[[FIRST]], %[[SLICE]] {dist.on = {micro = array<i64: 1>}}
// CHECK-NEXT: %[[KEPT:.*]] = dist.either %[[SLICE]] on {micro = array<i64: 0, 2>} else %[[PAIR]] {dist.on = {micro = array<i64: 0, 1, 2>}}
// CHECK-NEXT: %[[LAST:.*]] = net.add %[[FIRST]], %[[SLICE]] {dist.on = {micro = array<i64: 3>}}
// CHECK-NEXT: net.assign @"accumulator/g", %[[KEPT]] {dist.on = {micro = array<i64: 0, 2>}}
// CHECK-NEXT: %[[SECOND:.*]] = net.read @"accumulator/h" : tensor<4xf32>
// CHECK-NEXT: %[[ALL:.*]] = net.add %[[SECOND]], %[[LAST]] {dist.on = {micro = array<i64: 3>}}
// CHECK-NEXT: net.assign @"accumulator/h", %[[KEPT]] {dist.on = {micro = array<i64: 1>}}
// CHECK-NEXT: net.abs %[[ALL]] {dist.on = {micro = array<i64: 3>}}
dist.mesh @mesh <[slices "micro" = 4]>
net.variable accumulator @"accumulator/g" : tensor<4xf32>
net.variable accumulator @"accumulator/h" : tensor<4xf32>
func.func @tree(%x: tensor<4xf32>) -> (tensor<4xf32> {dist.during = {micro = array<i64: 3>}}) {
  %slice = net.negate %x : tensor<4xf32>
  %first = net.read @"accumulator/g" : tensor<4xf32>
  %pair = dist.accumulate %first, %slice over "micro" sums [1, 3] : tensor<4xf32>
  net.assign @"accumulator/g", %pair {dist.during = {micro = array<i64: 0, 2>}} : tensor<4xf32>
  %second = net.read @"accumulator/h" : tensor<4xf32>
  %all = dist.accumulate %second, %pair over "micro" sums [3] : tensor<4xf32>
  net.assign @"accumulator/h", %all {dist.during = {micro = array<i64: 1>}} : tensor<4xf32>
  %late = net.abs %all : tensor<4xf32>
  return %late : tensor<4xf32>
}
