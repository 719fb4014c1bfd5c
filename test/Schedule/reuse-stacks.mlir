// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: dist-opt %s --dist-schedule-reuse-stacks --split-input-file | FileCheck %s

// Tests which stacks of carried values are read from those of the next values.

// CHECK-LABEL: @forward
// CHECK: %[[I:.*]] = net.loop count = 8
// CHECK-NEXT: %[[C:.*]] = net.carry
// CHECK-NEXT: %[[Y:.*]] = net.tanh %[[C]]
// CHECK-NEXT: %[[B:.*]] = net.stack %[[Y]] in %[[I]]
// CHECK-NOT: net.stack
// CHECK: net.end_loop
// CHECK-NEXT: %[[H:.*]] = net.reshape %arg0 : tensor<2x4xf32> -> tensor<1x2x4xf32>
// CHECK-NEXT: %[[D0:.*]] = net.slice %arg1 starts = [0, 0, 0] limits = [1, 2, 3]
// CHECK-NEXT: %[[P0:.*]] = net.dot %[[H]], %[[D0]] batch = [] x [] contract = [0, 1] x [0, 1]
// CHECK-NEXT: %[[B0:.*]] = net.slice %[[B]] starts = [0, 0, 0] limits = [7, 2, 4]
// CHECK-NEXT: %[[D1:.*]] = net.slice %arg1 starts = [1, 0, 0] limits = [8, 2, 3]
// CHECK-NEXT: %[[P1:.*]] = net.dot %[[B0]], %[[D1]] batch = [] x [] contract = [0, 1] x [0, 1]
// CHECK-NEXT: %[[P:.*]] = net.add %[[P0]], %[[P1]] {net.name = "gradient"}
// CHECK-NEXT: return %[[P]], %[[B]]
func.func @forward(%h: tensor<2x4xf32>, %d: tensor<8x2x3xf32>) -> (tensor<4x3xf32>, tensor<8x2x4xf32>) {
  %i = net.loop count = 8
  %c = net.carry %h in %i : tensor<2x4xf32>
  %y = net.tanh %c : tensor<2x4xf32>
  %a = net.stack %c in %i : tensor<2x4xf32> -> tensor<8x2x4xf32>
  %b = net.stack %y in %i : tensor<2x4xf32> -> tensor<8x2x4xf32>
  %n = net.next %y for %c : tensor<2x4xf32>
  net.end_loop %i
  %p = net.dot %a, %d batch = [] x [] contract = [0, 1] x [0, 1] {net.name = "gradient"} : tensor<8x2x4xf32>, tensor<8x2x3xf32> -> tensor<4x3xf32>
  return %p, %b : tensor<4x3xf32>, tensor<8x2x4xf32>
}

// -----

// Backward, the value at the beginning is that of the last number. The stack is the second operand, and the iterations
// are the second dimension that is summed over.
// CHECK-LABEL: @reverse
// CHECK: net.end_loop
// CHECK-NEXT: %[[H:.*]] = net.reshape
// CHECK-NEXT: %[[D0:.*]] = net.slice %arg1 starts = [0, 0, 7] limits = [3, 2, 8]
// CHECK-NEXT: net.dot %[[D0]], %[[H]] batch = [] x [] contract = [1, 2] x [1, 0]
// CHECK-NEXT: %[[B0:.*]] = net.slice %{{.*}} starts = [1, 0, 0] limits = [8, 2, 4]
// CHECK-NEXT: %[[D1:.*]] = net.slice %arg1 starts = [0, 0, 0] limits = [3, 2, 7]
// CHECK-NEXT: net.dot %[[D1]], %[[B0]] batch = [] x [] contract = [1, 2] x [1, 0]
func.func @reverse(%h: tensor<2x4xf32>, %d: tensor<3x2x8xf32>) -> (tensor<3x4xf32>, tensor<8x2x4xf32>) {
  %i = net.loop count = 8 reverse
  %c = net.carry %h in %i : tensor<2x4xf32>
  %y = net.tanh %c : tensor<2x4xf32>
  %a = net.stack %c in %i : tensor<2x4xf32> -> tensor<8x2x4xf32>
  %b = net.stack %y in %i : tensor<2x4xf32> -> tensor<8x2x4xf32>
  %n = net.next %y for %c : tensor<2x4xf32>
  net.end_loop %i
  %p = net.dot %d, %a batch = [] x [] contract = [1, 2] x [1, 0] : tensor<3x2x8xf32>, tensor<8x2x4xf32> -> tensor<3x4xf32>
  return %p, %b : tensor<3x4xf32>, tensor<8x2x4xf32>
}

// -----

// Left alone: a stack that others read, one of whose iterations is not summed over, one of a single iteration, one
// without a stack of the next values, results that are larger than the stack, and sums in a fixed order.
// CHECK-LABEL: @read_elsewhere
// CHECK-COUNT-2: net.stack
func.func @read_elsewhere(%h: tensor<2x4xf32>, %d: tensor<8x2x3xf32>) -> (tensor<4x3xf32>, tensor<8x2x4xf32>, tensor<8x2x4xf32>) {
  %i = net.loop count = 8
  %c = net.carry %h in %i : tensor<2x4xf32>
  %y = net.tanh %c : tensor<2x4xf32>
  %a = net.stack %c in %i : tensor<2x4xf32> -> tensor<8x2x4xf32>
  %b = net.stack %y in %i : tensor<2x4xf32> -> tensor<8x2x4xf32>
  %n = net.next %y for %c : tensor<2x4xf32>
  net.end_loop %i
  %p = net.dot %a, %d batch = [] x [] contract = [0, 1] x [0, 1] : tensor<8x2x4xf32>, tensor<8x2x3xf32> -> tensor<4x3xf32>
  return %p, %a, %b : tensor<4x3xf32>, tensor<8x2x4xf32>, tensor<8x2x4xf32>
}
// CHECK-LABEL: @iterations_stay
// CHECK-COUNT-2: net.stack
func.func @iterations_stay(%h: tensor<2x4xf32>, %d: tensor<2x3xf32>) -> (tensor<8x4x3xf32>, tensor<8x2x4xf32>) {
  %i = net.loop count = 8
  %c = net.carry %h in %i : tensor<2x4xf32>
  %y = net.tanh %c : tensor<2x4xf32>
  %a = net.stack %c in %i : tensor<2x4xf32> -> tensor<8x2x4xf32>
  %b = net.stack %y in %i : tensor<2x4xf32> -> tensor<8x2x4xf32>
  %n = net.next %y for %c : tensor<2x4xf32>
  net.end_loop %i
  %p = net.dot %a, %d batch = [] x [] contract = [1] x [0] : tensor<8x2x4xf32>, tensor<2x3xf32> -> tensor<8x4x3xf32>
  return %p, %b : tensor<8x4x3xf32>, tensor<8x2x4xf32>
}
// CHECK-LABEL: @one_iteration
// CHECK-COUNT-2: net.stack
func.func @one_iteration(%h: tensor<2x4xf32>, %d: tensor<1x2x2xf32>) -> (tensor<4x2xf32>, tensor<1x2x4xf32>) {
  %i = net.loop count = 1
  %c = net.carry %h in %i : tensor<2x4xf32>
  %y = net.tanh %c : tensor<2x4xf32>
  %a = net.stack %c in %i : tensor<2x4xf32> -> tensor<1x2x4xf32>
  %b = net.stack %y in %i : tensor<2x4xf32> -> tensor<1x2x4xf32>
  %n = net.next %y for %c : tensor<2x4xf32>
  net.end_loop %i
  %p = net.dot %a, %d batch = [] x [] contract = [0, 1] x [0, 1] : tensor<1x2x4xf32>, tensor<1x2x2xf32> -> tensor<4x2xf32>
  return %p, %b : tensor<4x2xf32>, tensor<1x2x4xf32>
}
// CHECK-LABEL: @next_not_stacked
// CHECK: net.stack
func.func @next_not_stacked(%h: tensor<2x4xf32>, %d: tensor<8x2x3xf32>) -> tensor<4x3xf32> {
  %i = net.loop count = 8
  %c = net.carry %h in %i : tensor<2x4xf32>
  %y = net.tanh %c : tensor<2x4xf32>
  %a = net.stack %c in %i : tensor<2x4xf32> -> tensor<8x2x4xf32>
  %n = net.next %y for %c : tensor<2x4xf32>
  net.end_loop %i
  %p = net.dot %a, %d batch = [] x [] contract = [0, 1] x [0, 1] : tensor<8x2x4xf32>, tensor<8x2x3xf32> -> tensor<4x3xf32>
  return %p : tensor<4x3xf32>
}
// CHECK-LABEL: @large_results
// CHECK-COUNT-2: net.stack
func.func @large_results(%h: tensor<2x4xf32>, %d: tensor<8x2x30xf32>) -> (tensor<4x30xf32>, tensor<8x2x4xf32>) {
  %i = net.loop count = 8
  %c = net.carry %h in %i : tensor<2x4xf32>
  %y = net.tanh %c : tensor<2x4xf32>
  %a = net.stack %c in %i : tensor<2x4xf32> -> tensor<8x2x4xf32>
  %b = net.stack %y in %i : tensor<2x4xf32> -> tensor<8x2x4xf32>
  %n = net.next %y for %c : tensor<2x4xf32>
  net.end_loop %i
  %p = net.dot %a, %d batch = [] x [] contract = [0, 1] x [0, 1] : tensor<8x2x4xf32>, tensor<8x2x30xf32> -> tensor<4x30xf32>
  return %p, %b : tensor<4x30xf32>, tensor<8x2x4xf32>
}
// CHECK-LABEL: @fixed_order
// CHECK-COUNT-2: net.stack
func.func @fixed_order(%h: tensor<2x4xf32>, %d: tensor<8x2x3xf32>) -> (tensor<4x3xf32>, tensor<8x2x4xf32>) attributes {net.sum_parts = 2 : i64} {
  %i = net.loop count = 8
  %c = net.carry %h in %i : tensor<2x4xf32>
  %y = net.tanh %c : tensor<2x4xf32>
  %a = net.stack %c in %i : tensor<2x4xf32> -> tensor<8x2x4xf32>
  %b = net.stack %y in %i : tensor<2x4xf32> -> tensor<8x2x4xf32>
  %n = net.next %y for %c : tensor<2x4xf32>
  net.end_loop %i
  %p = net.dot %a, %d batch = [] x [] contract = [0, 1] x [0, 1] : tensor<8x2x4xf32>, tensor<8x2x3xf32> -> tensor<4x3xf32>
  return %p, %b : tensor<4x3xf32>, tensor<8x2x4xf32>
}
