// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-schedule-communicate-in-loops="bucket-megabytes=1" --dist-schedule-communicate -split-input-file | FileCheck %s
// RUN: dist-opt %s --dist-schedule-communicate-in-loops="bucket-megabytes=0 max-in-flight=1" --dist-schedule-communicate -split-input-file | FileCheck %s --check-prefix=ONE

// Tests that the fetches of an iteration start with it, in one launch; that they are waited for before their first reader; and that
// what only stacks take is reduced in one launch at the end of the iteration. What else is exchanged stays where it is.

// CHECK-LABEL: func.func @iteration
// CHECK: %[[I:.*]] = net.loop count = 3
// CHECK-NEXT: %[[A:.*]] = net.take %arg1 in %[[I]]
// CHECK-NEXT: %[[B:.*]] = net.take %arg2 in %[[I]]
// CHECK-NEXT: %[[F:.*]]:2 = dist.collective c_allgather(%[[A]], %[[B]]) axes ["dp"] {{.*}} -> (!dist.handle<tensor<4xf32>>, !dist.handle<tensor<4xf32>>)
// CHECK: dist.kernel
// CHECK: %[[S:.*]] = dist.collective c_allreduce sum({{.*}}) axes ["dp"] : (tensor<4xf32>) -> tensor<4xf32>
// CHECK: %[[W:.*]]:2 = dist.wait %[[F]]#0, %[[F]]#1
// CHECK-NEXT: dist.kernel({{.*}}%[[W]]#0
// CHECK: dist.kernel({{.*}}%[[W]]#1
// CHECK: net.next
// CHECK-NEXT: %[[R:.*]]:2 = dist.collective c_reducescatter sum({{.*}}) axes ["dp"] {{.*}} -> (tensor<2xf32>, tensor<2xf32>)
// CHECK-NEXT: net.stack %[[R]]#0
// CHECK-NEXT: net.stack %[[R]]#1
// CHECK-NEXT: net.end_loop

// One at a time: the second fetch starts after the wait for the first, and the first reduction is over before the second one starts.
// ONE-LABEL: func.func @iteration
// ONE: %[[FA:.*]] = dist.collective c_allgather
// ONE: %[[S:.*]] = dist.collective c_allreduce
// ONE: %[[WA:.*]] = dist.wait %[[FA]]
// ONE-NEXT: %[[FB:.*]] = dist.collective c_allgather
// ONE-NEXT: dist.kernel({{.*}}%[[WA]]
// ONE: %[[RA:.*]] = dist.collective c_reducescatter {{.*}} -> !dist.handle<tensor<2xf32>>
// ONE-NEXT: %[[WB:.*]] = dist.wait %[[FB]]
// ONE-NEXT: dist.kernel({{.*}}%[[WB]]
// ONE: %[[WRA:.*]] = dist.wait %[[RA]]
// ONE-NEXT: %[[RB:.*]] = dist.collective c_reducescatter {{.*}} -> tensor<2xf32>
// ONE-NEXT: net.stack %[[WRA]]
// ONE-NEXT: net.stack %[[RB]]
// ONE-NEXT: net.end_loop
dist.mesh @mesh <["dp" = 2]>
func.func @iteration(%x: tensor<4xf32>, %a: tensor<3x2xf32>, %b: tensor<3x2xf32>) -> (tensor<4xf32>, tensor<3x2xf32>, tensor<3x2xf32>) {
  %i = net.loop count = 3
  %c = net.carry %x in %i : tensor<4xf32>
  %t = dist.kernel(%c) {
  ^bb0(%0: tensor<4xf32>):
    %1 = net.tanh %0 : tensor<4xf32>
    dist.yield %1 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %s = dist.collective c_allreduce sum(%t) axes ["dp"] : (tensor<4xf32>) -> tensor<4xf32>
  %ai = net.take %a in %i : tensor<3x2xf32> -> tensor<2xf32>
  %af = dist.collective c_allgather(%ai) axes ["dp"] : (tensor<2xf32>) -> tensor<4xf32>
  %p = dist.kernel(%s, %af) {
  ^bb0(%0: tensor<4xf32>, %1: tensor<4xf32>):
    %2 = net.multiply %0, %1 : tensor<4xf32>
    dist.yield %2 : tensor<4xf32>
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %pr = dist.collective c_reducescatter sum(%p) axes ["dp"] : (tensor<4xf32>) -> tensor<2xf32>
  %ps = net.stack %pr in %i : tensor<2xf32> -> tensor<3x2xf32>
  %bi = net.take %b in %i : tensor<3x2xf32> -> tensor<2xf32>
  %bf = dist.collective c_allgather(%bi) axes ["dp"] : (tensor<2xf32>) -> tensor<4xf32>
  %q = dist.kernel(%p, %bf) {
  ^bb0(%0: tensor<4xf32>, %1: tensor<4xf32>):
    %2 = net.add %0, %1 : tensor<4xf32>
    dist.yield %2 : tensor<4xf32>
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %qr = dist.collective c_reducescatter sum(%q) axes ["dp"] : (tensor<4xf32>) -> tensor<2xf32>
  %qs = net.stack %qr in %i : tensor<2xf32> -> tensor<3x2xf32>
  %n = net.next %q for %c : tensor<4xf32>
  net.end_loop %i
  return %n, %ps, %qs : tensor<4xf32>, tensor<3x2xf32>, tensor<3x2xf32>
}

// -----

// Tests that a fetch which a loop in the body reads is waited for before that loop.

// CHECK-LABEL: func.func @nested
// CHECK: net.loop count = 3
// CHECK: %[[F:.*]] = dist.collective c_allgather{{.*}} -> !dist.handle<tensor<4xf32>>
// CHECK: dist.kernel
// CHECK: %[[W:.*]] = dist.wait %[[F]]
// CHECK-NEXT: net.loop count = 2
// CHECK: dist.kernel({{.*}}%[[W]]
dist.mesh @mesh <["dp" = 2]>
func.func @nested(%x: tensor<4xf32>, %a: tensor<3x2xf32>) -> tensor<4xf32> {
  %i = net.loop count = 3
  %c = net.carry %x in %i : tensor<4xf32>
  %ai = net.take %a in %i : tensor<3x2xf32> -> tensor<2xf32>
  %af = dist.collective c_allgather(%ai) axes ["dp"] : (tensor<2xf32>) -> tensor<4xf32>
  %t = dist.kernel(%c) {
  ^bb0(%0: tensor<4xf32>):
    %1 = net.tanh %0 : tensor<4xf32>
    dist.yield %1 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %j = net.loop count = 2
  %d = net.carry %t in %j : tensor<4xf32>
  %p = dist.kernel(%d, %af) {
  ^bb0(%0: tensor<4xf32>, %1: tensor<4xf32>):
    %2 = net.multiply %0, %1 : tensor<4xf32>
    dist.yield %2 : tensor<4xf32>
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %e = net.next %p for %d : tensor<4xf32>
  net.end_loop %j
  %n = net.next %e for %c : tensor<4xf32>
  net.end_loop %i
  return %n : tensor<4xf32>
}
