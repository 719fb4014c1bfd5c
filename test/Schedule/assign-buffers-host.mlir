// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: dist-opt %s --dist-schedule-assign-buffers --dist-schedule-verify | FileCheck %s

// Tests that the host has an arena of its own, and that what is fetched leaves its memory to the new value.

net.variable parameter @w : tensor<16xf32>
net.variable optimizer_state @m : tensor<16xf32> {dist.memory = #dist<memory host>}
net.variable optimizer_state @v : tensor<16xf32> {dist.memory = #dist<memory host>}

// CHECK-LABEL: @update
// CHECK-SAME: dist.arena_bytes = 128
// CHECK-SAME: dist.host_arena_bytes = 128
// CHECK-SAME: dist.persistent_bytes = 64
// CHECK-SAME: dist.variables = {m = 0 : i64, v = 64 : i64, w = 0 : i64}
func.func @update() {
  // CHECK: net.read @m {dist.in_host_arena, dist.offsets = array<i64: 0>}
  %m = net.read @m : tensor<16xf32>
  // CHECK: net.read @v {dist.in_host_arena, dist.offsets = array<i64: 64>}
  %v = net.read @v : tensor<16xf32>
  // CHECK: dist.copy %{{.*}} to device {dist.offsets = array<i64: 64>}
  %0 = dist.copy %m to device : (tensor<16xf32>) -> !dist.handle<tensor<16xf32>>
  %1 = dist.wait %0 : (!dist.handle<tensor<16xf32>>) -> tensor<16xf32>
  // CHECK: dist.kernel({{.*}}) in_place [0]
  // CHECK: dist.offsets = array<i64: 64>
  %2 = dist.kernel(%1) {
  ^bb0(%arg: tensor<16xf32>):
    %y = net.negate %arg : tensor<16xf32>
    dist.yield %y : tensor<16xf32>
  } : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK: dist.copy %{{.*}} to host {dist.in_host_arena, dist.offsets = array<i64: 0>}
  %3 = dist.copy %2 to host : (tensor<16xf32>) -> !dist.handle<tensor<16xf32>>
  // CHECK: dist.wait %{{.*}} {dist.in_host_arena, dist.offsets = array<i64: 0>}
  %4 = dist.wait %3 : (!dist.handle<tensor<16xf32>>) -> tensor<16xf32>
  // The next fetched value takes the same place.
  // CHECK: dist.copy %{{.*}} to device {dist.offsets = array<i64: 64>}
  %5 = dist.copy %v to device : (tensor<16xf32>) -> tensor<16xf32>
  %6 = dist.kernel(%5) {
  ^bb0(%arg: tensor<16xf32>):
    %y = net.negate %arg : tensor<16xf32>
    dist.yield %y : tensor<16xf32>
  } : (tensor<16xf32>) -> tensor<16xf32>
  %7 = dist.copy %6 to host : (tensor<16xf32>) -> tensor<16xf32>
  net.assign @m, %4 : tensor<16xf32>
  net.assign @v, %7 : tensor<16xf32>
  return
}
