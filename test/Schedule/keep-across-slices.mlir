// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --split-input-file --dist-schedule-keep-across-slices | FileCheck %s
// RUN: dist-opt %s --split-input-file --dist-schedule-keep-across-slices --dist-schedule-specialize | FileCheck %s --check-prefix=PARTS

// Tests that other slices read in a variable what the first one fetches: each part of a launch, from its wait on. A part that only a kernel
// reads which puts it into another layout is kept in that layout. What the first slice alone reads is not kept.

// CHECK: net.variable accumulator @"kept/w" : tensor<2x4xf32> {dist.mapping = #dist.mapping<dims = {{\[\[\], \[\]\]}}>, dist.once, dist.within_step}
// CHECK-LABEL: @slices
// CHECK: %[[FLIGHT:.*]]:3 = dist.collective c_allgather
// CHECK: %[[W:.*]]:3 = dist.wait %[[FLIGHT]]#0, %[[FLIGHT]]#1, %[[FLIGHT]]#2 {dist.on = {micro = array<i64: 0>}}
// CHECK-NEXT: net.assign @"kept/w", %[[W]]#0 {dist.on = {micro = array<i64: 0>}} : tensor<2x4xf32>
// CHECK-NEXT: %[[KEPT:.*]] = net.read @"kept/w" : tensor<2x4xf32>
// CHECK-NEXT: %[[EITHER:.*]] = dist.either %[[W]]#0 on {micro = array<i64: 0>} else %[[KEPT]] : tensor<2x4xf32>
// CHECK-NEXT: %[[FLAT:.*]] = dist.view %[[EITHER]] at 0
// CHECK-NEXT: %[[COPY:.*]] = dist.kernel(%[[W]]#1)
// CHECK: dist.on = {micro = array<i64: 0>}
// CHECK: net.assign @"kept/v", %[[COPY]] {dist.on = {micro = array<i64: 0>}} : tensor<4x2xf32>
// CHECK: net.assign @u, %[[W]]#2 {dist.on = {micro = array<i64: 0>}}

// PARTS-LABEL: @slices_micro0
// PARTS: dist.collective c_allgather
// PARTS: net.assign @"kept/w"
// PARTS-NOT: net.read @"kept
// PARTS: return
// PARTS-LABEL: @slices_micro1
// PARTS-NOT: dist.collective
// PARTS: net.read @"kept/w"
// PARTS: net.read @"kept/v"
// PARTS-NOT: net.assign
// PARTS: return
dist.mesh @mesh <["dp" = 2, slices "micro" = 4]>
net.variable parameter @w : tensor<4xf32>
net.variable parameter @v : tensor<4xf32>
net.variable parameter @u : tensor<2x4xf32>
func.func @slices() -> (tensor<8xf32>, tensor<4x2xf32>) {
  %w = net.read @w : tensor<4xf32>
  %v = net.read @v : tensor<4xf32>
  %f:3 = dist.collective c_allgather(%w, %v, %v) axes ["dp"] {dist.on = {micro = array<i64: 0>}, dist.once, dist.parts = ["w", "v", "v"]} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (!dist.handle<tensor<2x4xf32>>, !dist.handle<tensor<2x4xf32>>, !dist.handle<tensor<2x4xf32>>)
  %p:3 = dist.wait %f#0, %f#1, %f#2 : (!dist.handle<tensor<2x4xf32>>, !dist.handle<tensor<2x4xf32>>, !dist.handle<tensor<2x4xf32>>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  %flat = dist.view %p#0 at 0 : tensor<2x4xf32> -> tensor<8xf32>
  %copy = dist.kernel(%p#1) {
  ^bb0(%a: tensor<2x4xf32>):
    %t = net.transpose %a dims = [1, 0] : tensor<2x4xf32> -> tensor<4x2xf32>
    dist.yield %t : tensor<4x2xf32>
  } : (tensor<2x4xf32>) -> tensor<4x2xf32>
  net.assign @u, %p#2 {dist.on = {micro = array<i64: 0>}} : tensor<2x4xf32>
  return %flat, %copy : tensor<8xf32>, tensor<4x2xf32>
}

// -----

// Tests that a collective which is not in flight is kept as well, at the later steps of an accumulation too, and that one without the mark is left alone.

// CHECK-LABEL: @blocking
// CHECK: %[[W:.*]] = dist.collective c_broadcast{{.*}} {dist.on = {accumulation = array<i64: 1>, micro = array<i64: 0>}, dist.once}
// CHECK-NEXT: net.assign @"kept/w", %[[W]] {dist.on = {accumulation = array<i64: 1>, micro = array<i64: 0>}}
// CHECK-NEXT: %[[KEPT:.*]] = net.read @"kept/w"
// CHECK-NEXT: %[[EITHER:.*]] = dist.either %[[W]] on {micro = array<i64: 0>} else %[[KEPT]] {dist.on = {accumulation = array<i64: 1>}} : tensor<4xf32>
// CHECK-NEXT: net.negate %[[EITHER]] {dist.on = {accumulation = array<i64: 1>}}
// CHECK: %[[V:.*]] = dist.collective c_broadcast
// CHECK-NEXT: return %[[V]]
dist.mesh @mesh <["dp" = 2, slices "micro" = 4, steps "accumulation" = 2]>
net.variable parameter @w : tensor<4xf32>
net.variable accumulator @s : tensor<4xf32>
func.func @blocking() -> tensor<4xf32> {
  %w = net.read @w : tensor<4xf32>
  %0 = dist.collective c_broadcast(%w) roots [0] axes ["dp"] {dist.on = {accumulation = array<i64: 1>, micro = array<i64: 0>}, dist.once} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = net.negate %0 {dist.on = {accumulation = array<i64: 1>}} : tensor<4xf32>
  net.assign @s, %1 {dist.on = {accumulation = array<i64: 1>}} : tensor<4xf32>
  %2 = dist.collective c_broadcast(%w) roots [0] axes ["dp"] : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
