// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: not dist-opt %s --dist-complete-recompute="blocks=h.?,g.?" 2>&1 | FileCheck %s --check-prefix=BLOCK
// RUN: dist-opt %s --dist-complete-recompute="blocks=h,h.0,h.?,h.1" 2>&1 | FileCheck %s --check-prefix=INNER --implicit-check-not=warning:
// RUN: dist-opt %s --dist-complete-recompute="blocks=h.0,h.?" 2>&1 | FileCheck %s --check-prefix=RIGHT --implicit-check-not=warning:
// RUN: not dist-opt %s --dist-complete-recompute="anchors=h.0,h.1.out" 2>&1 | FileCheck %s --check-prefix=ANCHOR
// RUN: not dist-opt %s --dist-complete-recompute="anchors=h.0.in,h.0.out" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: dist-opt %s --dist-complete-recompute="anchors=a,b policy=nothing" | FileCheck %s

// Tests names that nothing has, and an anchor that is met twice.
// BLOCK: error: block "g.?" matches no scope of the 3 operations of forward
// INNER: warning: block "h.0" has no effect: earlier globs, or larger blocks, match all that it matches
// INNER: warning: block "h.?" has no effect
// INNER: warning: block "h.1" has no effect
// RIGHT: @recomputes
// ANCHOR: error: anchor "h.0" is not the name of a value and ends in neither ".in" nor ".out"
// TWICE: error: the block of anchor "h.0.in" is entered 2 times forward, not once
// CHECK-LABEL: @recomputes_between_values
func.func @recomputes_between_values(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = net.dot %x, %x batch = [] x [] contract = [1] x [0] {net.name = "a", net.role = #net.role<forward>, net.scope = "h.0"} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  // CHECK: net.dot {{.*}}net.name = "b", net.recomputed
  // CHECK: net.dot {{.*}}net.recomputes
  %b = net.dot %a, %a batch = [] x [] contract = [1] x [0] {net.name = "b", net.role = #net.role<forward>, net.scope = "h.1"} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %c = net.tanh %b {net.role = #net.role<forward>, net.scope = "h.0"} : tensor<4x4xf32>
  %r = net.multiply %b, %a {net.role = #net.role<backward>} : tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}
