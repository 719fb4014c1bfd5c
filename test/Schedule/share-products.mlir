// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: dist-opt %s --dist-schedule-share-products --split-input-file | FileCheck %s

// Tests which products of a loop become one product.

// CHECK-LABEL: @part_times_weight
// CHECK: %[[ALL:.*]] = net.dot %arg0, %arg1 batch = [] x [] contract = [2] x [0] {{.*}}-> tensor<8x2x4xf32>
// CHECK-NEXT: %[[I:.*]] = net.loop count = 8
// CHECK-NEXT: %[[C:.*]] = net.carry %arg2 in %[[I]]
// CHECK-NEXT: %[[P:.*]] = net.take %[[ALL]] in %[[I]]
// CHECK-NEXT: %[[S:.*]] = net.add %[[P]], %[[C]]
// CHECK-NEXT: net.stack %[[S]] in %[[I]]
// CHECK-NEXT: net.next %[[S]] for %[[C]]
// CHECK-NEXT: net.end_loop
func.func @part_times_weight(%xs: tensor<8x2x3xf32>, %w: tensor<3x4xf32>, %h: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<8x2x4xf32>) {
  %i = net.loop count = 8
  %c = net.carry %h in %i : tensor<2x4xf32>
  %x = net.take %xs in %i : tensor<8x2x3xf32> -> tensor<2x3xf32>
  %p = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
  %s = net.add %p, %c : tensor<2x4xf32>
  %a = net.stack %s in %i : tensor<2x4xf32> -> tensor<8x2x4xf32>
  %n = net.next %s for %c : tensor<2x4xf32>
  net.end_loop %i
  return %n, %a : tensor<2x4xf32>, tensor<8x2x4xf32>
}

// -----

// The iterations come first in what is taken, also where the part is the second operand or has batching dimensions.
// CHECK-LABEL: @iterations_come_first
// CHECK: %[[SECOND:.*]] = net.dot %arg1, %arg0 batch = [] x [] contract = [1] x [2] {{.*}}-> tensor<4x8x2xf32>
// CHECK-NEXT: %[[MOVED:.*]] = net.transpose %[[SECOND]] dims = [1, 0, 2]
// CHECK-NEXT: %[[BATCH:.*]] = net.dot %arg2, %arg3 batch = [1] x [0] contract = [3] x [1] {{.*}}-> tensor<5x8x2x3xf32>
// CHECK-NEXT: %[[BATCHED:.*]] = net.transpose %[[BATCH]] dims = [1, 0, 2, 3]
// CHECK-NEXT: %[[I:.*]] = net.loop
// CHECK: net.take %[[MOVED]] in %[[I]] : tensor<8x4x2xf32> -> tensor<4x2xf32>
// CHECK: net.take %[[BATCHED]] in %[[I]] : tensor<8x5x2x3xf32> -> tensor<5x2x3xf32>
func.func @iterations_come_first(%xs: tensor<8x2x3xf32>, %w: tensor<4x3xf32>, %ys: tensor<8x5x2x3xf32>, %v: tensor<5x3x3xf32>)
    -> (tensor<8x4x2xf32>, tensor<8x5x2x3xf32>) {
  %i = net.loop count = 8
  %x = net.take %xs in %i : tensor<8x2x3xf32> -> tensor<2x3xf32>
  %p = net.dot %w, %x batch = [] x [] contract = [1] x [1] : tensor<4x3xf32>, tensor<2x3xf32> -> tensor<4x2xf32>
  %y = net.take %ys in %i : tensor<8x5x2x3xf32> -> tensor<5x2x3xf32>
  %q = net.dot %y, %v batch = [0] x [0] contract = [2] x [1] : tensor<5x2x3xf32>, tensor<5x3x3xf32> -> tensor<5x2x3xf32>
  %e = net.exponential %p : tensor<4x2xf32>
  %f = net.exponential %q : tensor<5x2x3xf32>
  %a = net.stack %e in %i : tensor<4x2xf32> -> tensor<8x4x2xf32>
  %b = net.stack %f in %i : tensor<5x2x3xf32> -> tensor<8x5x2x3xf32>
  net.end_loop %i
  return %a, %b : tensor<8x4x2xf32>, tensor<8x5x2x3xf32>
}

// -----

// Parts in f32 that are multiplied in bf16 are converted before the loop, too.
// CHECK-LABEL: @converted_part
// CHECK: %[[NARROW:.*]] = net.convert %arg0 : tensor<8x2x3xf32> -> tensor<8x2x3xbf16>
// CHECK-NEXT: %[[ALL:.*]] = net.dot %[[NARROW]], %arg1
// CHECK-NEXT: %[[I:.*]] = net.loop
// CHECK-NEXT: net.take %[[ALL]] in %[[I]]
func.func @converted_part(%xs: tensor<8x2x3xf32>, %w: tensor<3x8xbf16>) -> tensor<8x2x8xbf16> {
  %i = net.loop count = 8
  %x = net.take %xs in %i : tensor<8x2x3xf32> -> tensor<2x3xf32>
  %y = net.convert %x : tensor<2x3xf32> -> tensor<2x3xbf16>
  %p = net.dot %y, %w batch = [] x [] contract = [1] x [0] : tensor<2x3xbf16>, tensor<3x8xbf16> -> tensor<2x8xbf16>
  %e = net.exponential %p : tensor<2x8xbf16>
  %a = net.stack %e in %i : tensor<2x8xbf16> -> tensor<8x2x8xbf16>
  net.end_loop %i
  return %a : tensor<8x2x8xbf16>
}

// -----

// [x, h] W is x W1 + h W2, of which the first is moved.
// CHECK-LABEL: @joined_operands
// CHECK: %[[W1:.*]] = net.slice %arg1 starts = [0, 0] limits = [3, 4]
// CHECK-NEXT: %[[W2:.*]] = net.slice %arg1 starts = [3, 0] limits = [7, 4]
// CHECK-NEXT: %[[ALL:.*]] = net.dot %arg0, %[[W1]]
// CHECK-NEXT: %[[I:.*]] = net.loop
// CHECK-NEXT: %[[C:.*]] = net.carry %arg2 in %[[I]]
// CHECK-NEXT: %[[P:.*]] = net.take %[[ALL]] in %[[I]]
// CHECK-NEXT: %[[Q:.*]] = net.dot %[[C]], %[[W2]]
// CHECK-NEXT: %[[S:.*]] = net.add %[[P]], %[[Q]]
// CHECK: net.next %[[S]] for %[[C]]
func.func @joined_operands(%xs: tensor<8x2x3xf32>, %w: tensor<7x4xf32>, %h: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<8x2x4xf32>) {
  %i = net.loop count = 8
  %c = net.carry %h in %i : tensor<2x4xf32>
  %x = net.take %xs in %i : tensor<8x2x3xf32> -> tensor<2x3xf32>
  %j = net.concatenate %x, %c dim = 1 : tensor<2x3xf32>, tensor<2x4xf32> -> tensor<2x7xf32>
  %p = net.dot %j, %w batch = [] x [] contract = [1] x [0] : tensor<2x7xf32>, tensor<7x4xf32> -> tensor<2x4xf32>
  %n = net.next %p for %c : tensor<2x4xf32>
  %a = net.stack %p in %i : tensor<2x4xf32> -> tensor<8x2x4xf32>
  net.end_loop %i
  return %n, %a : tensor<2x4xf32>, tensor<8x2x4xf32>
}

// -----

// The gradient of a weight, of a bias and of the inputs, as backward of a recurrent layer makes them: one stack of %d is
// new, in place of that of the inputs' gradients. The product with a carried result stays.
// CHECK-LABEL: @gradients
// CHECK: %[[I:.*]] = net.loop count = 8 reverse
// CHECK-NEXT: %[[C:.*]] = net.carry %arg3 in %[[I]]
// CHECK-NEXT: %[[G:.*]] = net.take %arg1 in %[[I]]
// CHECK-NEXT: %[[D:.*]] = net.multiply %[[G]], %[[C]]
// CHECK-NEXT: %[[B:.*]] = net.dot %[[D]], %arg2
// CHECK-NEXT: net.next %[[B]] for %[[C]]
// CHECK-NEXT: %[[DS:.*]] = net.stack %[[D]] in %[[I]]
// CHECK-NEXT: net.end_loop %[[I]]
// CHECK-DAG: %[[W:.*]] = net.dot %arg0, %[[DS]] batch = [] x [] contract = [0, 1] x [0, 1] {net.name = "grad/w"}
// CHECK-DAG: %[[BIAS:.*]] = net.reduce sum %[[DS]] dims = [0, 1] {net.name = "grad/b"}
// CHECK-DAG: %[[DX:.*]] = net.dot %[[DS]], %arg4 batch = [] x [] contract = [2] x [1] {{.*}}-> tensor<8x2x4xf32>
// CHECK-DAG: %[[TWICE:.*]] = net.add %[[DX]], %arg0
// CHECK: return %[[W]], %[[BIAS]], %[[TWICE]]
func.func @gradients(%xs: tensor<8x2x4xf32>, %gs: tensor<8x2x4xf32>, %u: tensor<4x4xf32>, %dh: tensor<2x4xf32>, %w: tensor<4x4xf32>)
    -> (tensor<4x4xf32>, tensor<4xf32>, tensor<8x2x4xf32>) {
  %zero = net.constant dense<0.0> : tensor<4x4xf32>
  %none = net.constant dense<0.0> : tensor<4xf32>
  %i = net.loop count = 8 reverse
  %c = net.carry %dh in %i : tensor<2x4xf32>
  %sw = net.carry %zero in %i : tensor<4x4xf32>
  %sb = net.carry %none in %i : tensor<4xf32>
  %g = net.take %gs in %i : tensor<8x2x4xf32> -> tensor<2x4xf32>
  %x = net.take %xs in %i : tensor<8x2x4xf32> -> tensor<2x4xf32>
  %d = net.multiply %g, %c : tensor<2x4xf32>
  %dw = net.dot %x, %d batch = [] x [] contract = [0] x [0] : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<4x4xf32>
  %db = net.reduce sum %d dims = [0] : tensor<2x4xf32> -> tensor<4xf32>
  %dx = net.dot %d, %w batch = [] x [] contract = [1] x [1] : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %dx2 = net.add %dx, %x : tensor<2x4xf32>
  %b = net.dot %d, %u batch = [] x [] contract = [1] x [1] : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %sw2 = net.add %sw, %dw : tensor<4x4xf32>
  %sb2 = net.add %db, %sb : tensor<4xf32>
  %n = net.next %b for %c : tensor<2x4xf32>
  %grad = net.next %sw2 for %sw {net.name = "grad/w"} : tensor<4x4xf32>
  %bias = net.next %sb2 for %sb {net.name = "grad/b"} : tensor<4xf32>
  %dxs = net.stack %dx2 in %i : tensor<2x4xf32> -> tensor<8x2x4xf32>
  net.end_loop %i
  return %grad, %bias, %dxs : tensor<4x4xf32>, tensor<4xf32>, tensor<8x2x4xf32>
}

// -----

// A sum that does not begin at zero keeps its beginning.
// CHECK-LABEL: @sum_with_beginning
// CHECK: net.end_loop
// CHECK-NEXT: %[[TOTAL:.*]] = net.dot %arg0, %arg1 batch = [] x [] contract = [0, 1] x [0, 1]
// CHECK-NEXT: %[[SUM:.*]] = net.add %arg2, %[[TOTAL]]
// CHECK-NEXT: return %[[SUM]]
func.func @sum_with_beginning(%xs: tensor<8x2x4xf32>, %ys: tensor<8x2x4xf32>, %s: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %i = net.loop count = 8
  %c = net.carry %s in %i : tensor<4x4xf32>
  %x = net.take %xs in %i : tensor<8x2x4xf32> -> tensor<2x4xf32>
  %y = net.take %ys in %i : tensor<8x2x4xf32> -> tensor<2x4xf32>
  %p = net.dot %x, %y batch = [] x [] contract = [0] x [0] : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<4x4xf32>
  %q = net.add %c, %p : tensor<4x4xf32>
  %n = net.next %q for %c : tensor<4x4xf32>
  net.end_loop %i
  return %n : tensor<4x4xf32>
}

// -----

// Products of a block's weights, which are parts of stacks themselves, stay: only the layers' input is carried.
// CHECK-LABEL: @layers
// CHECK: net.loop
// CHECK: %[[W:.*]] = net.take %arg0
// CHECK: net.dot %{{.*}}, %[[W]]
// CHECK: net.end_loop
func.func @layers(%ws: tensor<8x4x4xf32>, %x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %i = net.loop count = 8
  %c = net.carry %x in %i : tensor<2x4xf32>
  %w = net.take %ws in %i : tensor<8x4x4xf32> -> tensor<4x4xf32>
  %p = net.dot %c, %w batch = [] x [] contract = [1] x [0] : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %n = net.next %p for %c : tensor<2x4xf32>
  net.end_loop %i
  return %n : tensor<2x4xf32>
}

// -----

// A result that is larger than the weight would be written and read in place of it.
// CHECK-LABEL: @large_result
// CHECK: net.loop
// CHECK: net.dot
// CHECK: net.end_loop
func.func @large_result(%xs: tensor<8x9x3xf32>, %w: tensor<3x4xf32>, %h: tensor<9x4xf32>) -> (tensor<9x4xf32>, tensor<8x9x4xf32>) {
  %i = net.loop count = 8
  %c = net.carry %h in %i : tensor<9x4xf32>
  %x = net.take %xs in %i : tensor<8x9x3xf32> -> tensor<9x3xf32>
  %p = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<9x3xf32>, tensor<3x4xf32> -> tensor<9x4xf32>
  %e = net.add %p, %c : tensor<9x4xf32>
  %a = net.stack %e in %i : tensor<9x4xf32> -> tensor<8x9x4xf32>
  %n = net.next %e for %c : tensor<9x4xf32>
  net.end_loop %i
  return %n, %a : tensor<9x4xf32>, tensor<8x9x4xf32>
}

// -----

// A result that is stacked anyway costs nothing after the loop, whatever its size.
// CHECK-LABEL: @stacked_result
// CHECK: net.end_loop
// CHECK-NEXT: %[[ALL:.*]] = net.dot %arg0, %arg1
// CHECK-NEXT: %[[B:.*]] = net.broadcast %arg2 dims = [1, 2] {{.*}}-> tensor<8x9x4xf32>
// CHECK-NEXT: %[[SUM:.*]] = net.add %[[ALL]], %[[B]]
// CHECK-NEXT: return %[[SUM]]
func.func @stacked_result(%xs: tensor<8x9x3xf32>, %w: tensor<3x4xf32>, %b: tensor<9x4xf32>) -> tensor<8x9x4xf32> {
  %i = net.loop count = 8
  %x = net.take %xs in %i : tensor<8x9x3xf32> -> tensor<9x3xf32>
  %p = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<9x3xf32>, tensor<3x4xf32> -> tensor<9x4xf32>
  %e = net.add %p, %b : tensor<9x4xf32>
  %a = net.stack %e in %i : tensor<9x4xf32> -> tensor<8x9x4xf32>
  net.end_loop %i
  return %a : tensor<8x9x4xf32>
}

// -----

// Operands of a sum that are larger than the sum would be stacked for it.
// CHECK-LABEL: @small_sum
// CHECK: net.loop
// CHECK: net.dot
// CHECK: net.end_loop
func.func @small_sum(%x: tensor<9x2xf32>, %h: tensor<9x2xf32>, %zero: tensor<2x2xf32>) -> (tensor<9x2xf32>, tensor<2x2xf32>) {
  %i = net.loop count = 8
  %c = net.carry %h in %i : tensor<9x2xf32>
  %s = net.carry %zero in %i : tensor<2x2xf32>
  %d = net.sine %c : tensor<9x2xf32>
  %p = net.dot %c, %d batch = [] x [] contract = [0] x [0] : tensor<9x2xf32>, tensor<9x2xf32> -> tensor<2x2xf32>
  %q = net.add %s, %p : tensor<2x2xf32>
  %n = net.next %d for %c : tensor<9x2xf32>
  %t = net.next %q for %s : tensor<2x2xf32>
  net.end_loop %i
  return %n, %t : tensor<9x2xf32>, tensor<2x2xf32>
}

// -----

// A sum that an iteration reads is not only a sum.
// CHECK-LABEL: @sum_is_read
// CHECK: net.loop
// CHECK: net.dot
// CHECK: net.end_loop
func.func @sum_is_read(%xs: tensor<8x2x4xf32>, %ys: tensor<8x2x4xf32>, %s: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<8x4x4xf32>) {
  %i = net.loop count = 8
  %c = net.carry %s in %i : tensor<4x4xf32>
  %x = net.take %xs in %i : tensor<8x2x4xf32> -> tensor<2x4xf32>
  %y = net.take %ys in %i : tensor<8x2x4xf32> -> tensor<2x4xf32>
  %p = net.dot %x, %y batch = [] x [] contract = [0] x [0] : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<4x4xf32>
  %q = net.add %c, %p : tensor<4x4xf32>
  %a = net.stack %q in %i : tensor<4x4xf32> -> tensor<8x4x4xf32>
  %n = net.next %q for %c : tensor<4x4xf32>
  net.end_loop %i
  return %n, %a : tensor<4x4xf32>, tensor<8x4x4xf32>
}

// -----

// Sums of a fixed order stay.
// CHECK-LABEL: @fixed_order
// CHECK: net.loop
// CHECK: net.dot
// CHECK: net.end_loop
func.func @fixed_order(%xs: tensor<8x2x3xf32>, %w: tensor<3x4xf32>) -> tensor<8x2x4xf32> attributes {net.sum_parts = 2 : i64} {
  %i = net.loop count = 8
  %x = net.take %xs in %i : tensor<8x2x3xf32> -> tensor<2x3xf32>
  %p = net.dot %x, %w batch = [] x [] contract = [1] x [0] {net.sum_parts = 1 : i64} : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
  %e = net.exponential %p : tensor<2x4xf32>
  %a = net.stack %e in %i : tensor<2x4xf32> -> tensor<8x2x4xf32>
  net.end_loop %i
  return %a : tensor<8x2x4xf32>
}
