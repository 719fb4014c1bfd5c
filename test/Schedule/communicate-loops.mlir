// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: dist-opt %s --dist-schedule-communicate --split-input-file | FileCheck %s

// Tests that loops stay together, and what they exchange in them.

dist.mesh @mesh <["dp" = 2]>

// Values from outside that the body reads are waited for before the loop; the bucket of a gradient that leaves it starts when
// backward is over, and the update comes after that.
// CHECK-LABEL: @around
// CHECK: %[[SUM:.*]] = dist.collective c_allreduce sum(%arg0)
// CHECK-NEXT: net.loop count = 3
// CHECK-NEXT: net.carry
// CHECK-NEXT: dist.kernel(%{{.*}}, %[[SUM]])
// CHECK: dist.collective c_allgather
// CHECK-SAME: -> tensor<8xf32>
// CHECK-NEXT: dist.kernel
// CHECK: %[[GRADIENT:.*]] = net.next
// CHECK-NEXT: net.end_loop
// CHECK-NEXT: dist.kernel(%arg1)
// CHECK: net.sine
// CHECK: dist.collective c_allreduce sum(%[[GRADIENT]])
// CHECK-NEXT: dist.kernel
// CHECK: net.cosine
func.func @around(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %s = dist.collective c_allreduce sum(%x) axes ["dp"] : (tensor<4xf32>) -> tensor<4xf32>
  %i = net.loop count = 3
  %c = net.carry %y in %i : tensor<4xf32>
  %0 = dist.kernel(%c, %s) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %m = net.multiply %a, %b : tensor<4xf32>
    dist.yield %m : tensor<4xf32>
  } {net.role = #net.role<backward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %w = dist.collective c_allgather(%0) axes ["dp"] : (tensor<4xf32>) -> tensor<8xf32>
  %1 = dist.kernel(%w) {
  ^bb0(%a: tensor<8xf32>):
    %m = net.slice %a starts = [0] limits = [4] steps = [1] : tensor<8xf32> -> tensor<4xf32>
    dist.yield %m : tensor<4xf32>
  } {net.role = #net.role<backward>} : (tensor<8xf32>) -> tensor<4xf32>
  %n = net.next %1 for %c {net.role = #net.role<backward>} : tensor<4xf32>
  net.end_loop %i
  %g = dist.collective c_allreduce sum(%n) axes ["dp"] {net.role = #net.role<backward>} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = dist.kernel(%y) {
  ^bb0(%a: tensor<4xf32>):
    %m = net.sine %a : tensor<4xf32>
    dist.yield %m : tensor<4xf32>
  } {net.role = #net.role<backward>} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = dist.kernel(%g) {
  ^bb0(%a: tensor<4xf32>):
    %m = net.cosine %a : tensor<4xf32>
    dist.yield %m : tensor<4xf32>
  } {net.role = #net.role<optimize>} : (tensor<4xf32>) -> tensor<4xf32>
  return %2, %3 : tensor<4xf32>, tensor<4xf32>
}
