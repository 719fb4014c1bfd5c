// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: dist-opt %s --dist-schedule-lower-loops --dist-schedule-form-kernels --dist-schedule-assign-buffers --dist-schedule-verify --split-input-file | FileCheck %s

// Tests where kernels of loops stand, and where their values are in the arena.

// The carried value begins where the input was copied to, and every iteration writes it in place; parts of 64 bytes are
// read and stacked where they are.
// CHECK-LABEL: @in_place
// CHECK-SAME: dist.arena_bytes = 512 : i64, dist.persistent_bytes = 256 : i64
// CHECK: %[[I:.*]] = net.loop count = 3
// CHECK-NEXT: %[[C:.*]] = net.carry %arg0 in %[[I]] {dist.offsets = array<i64: 256>}
// CHECK-NEXT: %[[W:.*]] = net.take %arg1 in %[[I]] {dist.offsets = array<i64: 64>}
// CHECK-NEXT: %[[Y:.*]]:2 = dist.kernel(%[[W]], %[[C]]) in_place [1, -1]
// CHECK: dist.iteration_bytes = array<i64: 0, 64>, dist.offsets = array<i64: 256, 320>
// CHECK: net.stack %[[Y]]#1 in %[[I]] {dist.offsets = array<i64: 320>}
// CHECK: net.next %[[Y]]#0 for %[[C]] {dist.offsets = array<i64: 256>}
// CHECK-NEXT: net.end_loop %[[I]]
func.func @in_place(%x: tensor<16xf32>, %w: tensor<3x16xf32>) -> (tensor<16xf32>, tensor<3x16xf32>) {
  %i = net.loop count = 3
  %c = net.carry %x in %i : tensor<16xf32>
  %v = net.take %w in %i : tensor<3x16xf32> -> tensor<16xf32>
  %0 = net.multiply %v, %c : tensor<16xf32>
  %1 = net.exponential %0 : tensor<16xf32>
  %2 = net.stack %1 in %i : tensor<16xf32> -> tensor<3x16xf32>
  %3 = net.next %0 for %c : tensor<16xf32>
  net.end_loop %i
  return %3, %2 : tensor<16xf32>, tensor<3x16xf32>
}

// -----

// Carried values are exchanged: no iteration may write one while the other is still read.
// CHECK-LABEL: @exchange
// CHECK: %[[A:.*]] = net.carry %arg0 {{.*}} {dist.offsets = array<i64: 128>}
// CHECK-NEXT: %[[B:.*]] = net.carry %arg1 {{.*}} {dist.offsets = array<i64: 192>}
// CHECK-NEXT: %[[Y:.*]] = dist.kernel(%[[B]])
// CHECK: dist.offsets = array<i64: 256>
// CHECK-NEXT: %[[X:.*]] = dist.kernel(%[[A]])
// CHECK: dist.offsets = array<i64: 192>
// CHECK-NEXT: net.next %[[Y]] for %[[A]] {dist.offsets = array<i64: 128>}
// CHECK-NEXT: net.next %[[X]] for %[[B]] {dist.offsets = array<i64: 192>}
func.func @exchange(%x: tensor<16xf32>, %y: tensor<16xf32>) -> tensor<16xf32> {
  %i = net.loop count = 3
  %a = net.carry %x in %i : tensor<16xf32>
  %b = net.carry %y in %i : tensor<16xf32>
  %0 = net.next %b for %a : tensor<16xf32>
  %1 = net.next %a for %b : tensor<16xf32>
  net.end_loop %i
  return %0 : tensor<16xf32>
}

// -----

// A value read in a loop is alive until its end: a kernel of the loop does not take its place, though it reads it last;
// one after the loop does. Kernels of a loop and others are apart.
// CHECK-LABEL: @outside_is_kept
// CHECK: %[[OUT:.*]] = dist.matmul %arg0 {{.*}} {dist.offsets = array<i64: [[KEPT:[0-9]+]]>}
// CHECK: %[[C:.*]] = net.carry
// CHECK-NEXT: dist.kernel(%[[C]], %[[OUT]]) in_place [0]
// CHECK: net.end_loop
// CHECK-NEXT: dist.kernel(%[[OUT]]) in_place [0]
// CHECK: dist.offsets = array<i64: [[KEPT]]>
func.func @outside_is_kept(%x: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %o = net.dot %x, %x batch = [] x [] contract = [1] x [0] : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  %i = net.loop count = 3
  %c = net.carry %x in %i : tensor<16x16xf32>
  %0 = net.sine %c : tensor<16x16xf32>
  %1 = net.multiply %0, %o : tensor<16x16xf32>
  %2 = net.next %1 for %c : tensor<16x16xf32>
  net.end_loop %i
  %3 = net.cosine %o : tensor<16x16xf32>
  return %2, %3 : tensor<16x16xf32>, tensor<16x16xf32>
}

// -----

// Parts that are not of a multiple of 64 bytes are copied, but those of fewer are read in place.
// CHECK-LABEL: @unaligned_parts
// CHECK-SAME: dist.persistent_bytes = 320
// CHECK: %[[V:.*]] = net.take %arg0 in %{{.*}} {dist.offsets = array<i64: [[OWN:[1-9][0-9]*]]>}
// CHECK-NEXT: %[[W:.*]] = net.take %arg1 in %{{.*}} {dist.offsets = array<i64: 256>}
// CHECK-NEXT: %[[S:.*]] = dist.kernel(%[[V]], %[[W]])
// CHECK-NOT: dist.iteration_bytes
// CHECK: net.stack %[[S]]
func.func @unaligned_parts(%x: tensor<3x20xf32>, %y: tensor<3x1xf32>) -> tensor<3x20xf32> {
  %i = net.loop count = 3
  %v = net.take %x in %i : tensor<3x20xf32> -> tensor<20xf32>
  %w = net.take %y in %i : tensor<3x1xf32> -> tensor<1xf32>
  %z = net.reshape %w : tensor<1xf32> -> tensor<f32>
  %all = net.broadcast %z dims = [] : tensor<f32> -> tensor<20xf32>
  %0 = net.multiply %v, %all : tensor<20xf32>
  %1 = net.stack %0 in %i : tensor<20xf32> -> tensor<3x20xf32>
  net.end_loop %i
  return %1 : tensor<3x20xf32>
}

// -----

// A stack takes the memory of a product of which each iteration reads only its own part, and nothing else reads it.
// CHECK-LABEL: @replaced
// CHECK: %[[OUT:.*]] = dist.matmul {{.*}} {dist.offsets = array<i64: [[PLACE:[0-9]+]]>}
// CHECK: %[[V:.*]] = net.take %[[OUT]] in %[[I:.*]] {dist.offsets = array<i64: [[PLACE]]>}
// CHECK: %[[Y:.*]] = dist.kernel({{.*}}%[[V]]{{.*}}) in_place [{{[01]}}]
// CHECK: dist.iteration_bytes = array<i64: 1024>, dist.offsets = array<i64: [[PLACE]]>
// CHECK: net.stack %[[Y]] in %[[I]] {dist.offsets = array<i64: [[PLACE]]>}
func.func @replaced(%x: tensor<3x16x16xf32>, %b: tensor<16x16xf32>) -> tensor<3x16x16xf32> {
  %o = net.dot %x, %x batch = [0] x [0] contract = [2] x [1] : tensor<3x16x16xf32>, tensor<3x16x16xf32> -> tensor<3x16x16xf32>
  %i = net.loop count = 3
  %v = net.take %o in %i : tensor<3x16x16xf32> -> tensor<16x16xf32>
  %0 = net.sine %v : tensor<16x16xf32>
  %1 = net.multiply %0, %b : tensor<16x16xf32>
  %2 = net.stack %1 in %i : tensor<16x16xf32> -> tensor<3x16x16xf32>
  net.end_loop %i
  %3 = net.dot %2, %x batch = [0] x [0] contract = [2] x [1] : tensor<3x16x16xf32>, tensor<3x16x16xf32> -> tensor<3x16x16xf32>
  return %3 : tensor<3x16x16xf32>
}

// -----

// So does the stack of a second loop that takes parts of the first one's.
// CHECK-LABEL: @replaced_again
// CHECK: dist.matmul {{.*}} {dist.offsets = array<i64: [[PLACE:[0-9]+]]>}
// CHECK: net.stack {{.*}} {dist.offsets = array<i64: [[PLACE]]>}
// CHECK: net.stack {{.*}} {dist.offsets = array<i64: [[PLACE]]>}
func.func @replaced_again(%x: tensor<3x16x16xf32>) -> tensor<3x16x16xf32> {
  %o = net.dot %x, %x batch = [0] x [0] contract = [2] x [1] : tensor<3x16x16xf32>, tensor<3x16x16xf32> -> tensor<3x16x16xf32>
  %i = net.loop count = 3
  %v = net.take %o in %i : tensor<3x16x16xf32> -> tensor<16x16xf32>
  %0 = net.sine %v : tensor<16x16xf32>
  %1 = net.stack %0 in %i : tensor<16x16xf32> -> tensor<3x16x16xf32>
  net.end_loop %i
  %j = net.loop count = 3
  %w = net.take %1 in %j : tensor<3x16x16xf32> -> tensor<16x16xf32>
  %2 = net.cosine %w : tensor<16x16xf32>
  %3 = net.stack %2 in %j : tensor<16x16xf32> -> tensor<3x16x16xf32>
  net.end_loop %j
  %4 = net.dot %3, %x batch = [0] x [0] contract = [2] x [1] : tensor<3x16x16xf32>, tensor<3x16x16xf32> -> tensor<3x16x16xf32>
  return %4 : tensor<3x16x16xf32>
}

// -----

// Not if it is read after the loop, or the iteration reads its part after the new one is made.
// CHECK-LABEL: @read_after_the_loop
// CHECK: dist.matmul {{.*}} {dist.offsets = array<i64: [[PLACE:[0-9]+]]>}
// CHECK: dist.kernel
// CHECK-NOT: dist.offsets = array<i64: [[PLACE]]>
// CHECK: net.stack
func.func @read_after_the_loop(%x: tensor<3x16x16xf32>) -> tensor<3x16x16xf32> {
  %o = net.dot %x, %x batch = [0] x [0] contract = [2] x [1] : tensor<3x16x16xf32>, tensor<3x16x16xf32> -> tensor<3x16x16xf32>
  %i = net.loop count = 3
  %v = net.take %o in %i : tensor<3x16x16xf32> -> tensor<16x16xf32>
  %0 = net.sine %v : tensor<16x16xf32>
  %1 = net.stack %0 in %i : tensor<16x16xf32> -> tensor<3x16x16xf32>
  net.end_loop %i
  %2 = net.dot %1, %o batch = [0] x [0] contract = [2] x [1] : tensor<3x16x16xf32>, tensor<3x16x16xf32> -> tensor<3x16x16xf32>
  return %2 : tensor<3x16x16xf32>
}

// -----

// CHECK-LABEL: @read_after_the_part_is_made
// CHECK: dist.matmul {{.*}} {dist.offsets = array<i64: [[PLACE:[0-9]+]]>}
// CHECK: %[[Y:.*]] = dist.kernel
// CHECK-NOT: dist.offsets = array<i64: [[PLACE]]>
// CHECK: net.stack
func.func @read_after_the_part_is_made(%x: tensor<3x16x16xf32>, %c: tensor<16x16xf32>) -> (tensor<3x16x16xf32>, tensor<16x16xf32>) {
  %o = net.dot %x, %x batch = [0] x [0] contract = [2] x [1] : tensor<3x16x16xf32>, tensor<3x16x16xf32> -> tensor<3x16x16xf32>
  %i = net.loop count = 3
  %d = net.carry %c in %i : tensor<16x16xf32>
  %v = net.take %o in %i : tensor<3x16x16xf32> -> tensor<16x16xf32>
  %0 = net.sine %d : tensor<16x16xf32>
  %1 = net.stack %0 in %i : tensor<16x16xf32> -> tensor<3x16x16xf32>
  %2 = net.dot %0, %v batch = [] x [] contract = [1] x [0] : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  %3 = net.next %2 for %d : tensor<16x16xf32>
  net.end_loop %i
  %4 = net.dot %1, %x batch = [0] x [0] contract = [2] x [1] : tensor<3x16x16xf32>, tensor<3x16x16xf32> -> tensor<3x16x16xf32>
  return %4, %3 : tensor<3x16x16xf32>, tensor<16x16xf32>
}
