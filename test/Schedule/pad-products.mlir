// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: dist-opt %s --dist-schedule-pad-products --split-input-file | FileCheck %s

// Tests that a vocabulary is padded in the weights and in the cotangent of its scores, each once for two products, and
// weights outside of the loop that reads them.
// CHECK-LABEL: func.func @vocabulary
// CHECK-SAME: (%[[XS:.*]]: tensor<4x1024x768xbf16>, %[[W:.*]]: tensor<50257x768xbf16>, %[[D:.*]]: tensor<1024x50257xbf16>)
func.func @vocabulary(%xs: tensor<4x1024x768xbf16>, %w: tensor<50257x768xbf16>, %d: tensor<1024x50257xbf16>) -> (tensor<4x1024x50257xbf16>, tensor<1024x768xbf16>, tensor<50257x768xf32>) {
  // CHECK: %[[WIDE:.*]] = net.pad %[[W]], %{{.*}} low = [0, 0] high = [7, 0] interior = [0, 0]
  // CHECK: net.loop
  // CHECK: %[[X:.*]] = net.take
  %i = net.loop count = 4
  %x = net.take %xs in %i : tensor<4x1024x768xbf16> -> tensor<1024x768xbf16>
  // CHECK: %[[SCORES:.*]] = net.dot %[[X]], %[[WIDE]] batch = [] x [] contract = [1] x [1] {net.name = "scores"} : tensor<1024x768xbf16>, tensor<50264x768xbf16> -> tensor<1024x50264xbf16>
  // CHECK: %[[CUT:.*]] = net.slice %[[SCORES]] starts = [0, 0] limits = [1024, 50257] steps = [1, 1]
  // CHECK: net.stack %[[CUT]]
  %s = net.dot %x, %w batch = [] x [] contract = [1] x [1] {net.name = "scores"} : tensor<1024x768xbf16>, tensor<50257x768xbf16> -> tensor<1024x50257xbf16>
  %ss = net.stack %s in %i : tensor<1024x50257xbf16> -> tensor<4x1024x50257xbf16>
  net.end_loop %i
  %first = net.slice %xs starts = [0, 0, 0] limits = [1, 1024, 768] steps = [1, 1, 1] : tensor<4x1024x768xbf16> -> tensor<1x1024x768xbf16>
  %y = net.reshape %first : tensor<1x1024x768xbf16> -> tensor<1024x768xbf16>
  // CHECK: net.dot %[[PADDED:.*]], %[[WIDE]] batch = [] x [] contract = [1] x [0] : tensor<1024x50264xbf16>, tensor<50264x768xbf16> -> tensor<1024x768xbf16>
  // CHECK-NOT: net.slice
  %dx = net.dot %d, %w batch = [] x [] contract = [1] x [0] : tensor<1024x50257xbf16>, tensor<50257x768xbf16> -> tensor<1024x768xbf16>
  // CHECK: %[[DW:.*]] = net.dot %[[PADDED]], %{{.*}} batch = [] x [] contract = [0] x [0] : tensor<1024x50264xbf16>, tensor<1024x768xbf16> -> tensor<50264x768xf32>
  // CHECK: net.slice %[[DW]] starts = [0, 0] limits = [50257, 768] steps = [1, 1]
  %dw = net.dot %d, %y batch = [] x [] contract = [0] x [0] : tensor<1024x50257xbf16>, tensor<1024x768xbf16> -> tensor<50257x768xf32>
  return %ss, %dx, %dw : tensor<4x1024x50257xbf16>, tensor<1024x768xbf16>, tensor<50257x768xf32>
}

// -----

// Tests what is left alone: rows that begin at multiples of 16 bytes, floats of 32 bits, dimensions along which no rows
// lie, products whose operands and results are large for their work, small products, and those in parts.
// CHECK-LABEL: func.func @others
// CHECK-NOT: net.pad
func.func @others(%x: tensor<1024x768xbf16>, %a: tensor<768x1000xbf16>, %y: tensor<1024x768xf32>, %b: tensor<768x1021xf32>, %z: tensor<1021x768xbf16>, %c: tensor<4096x16xbf16>, %d: tensor<16x4093xbf16>, %e: tensor<768x13xbf16>, %f: tensor<768x1021xbf16>) -> (tensor<1024x1000xbf16>, tensor<1024x1021xf32>, tensor<1021x1000xbf16>, tensor<4096x4093xbf16>, tensor<1024x13xbf16>, tensor<1024x1021xbf16>) {
  %0 = net.dot %x, %a batch = [] x [] contract = [1] x [0] : tensor<1024x768xbf16>, tensor<768x1000xbf16> -> tensor<1024x1000xbf16>
  %1 = net.dot %y, %b batch = [] x [] contract = [1] x [0] : tensor<1024x768xf32>, tensor<768x1021xf32> -> tensor<1024x1021xf32>
  %2 = net.dot %z, %a batch = [] x [] contract = [1] x [0] : tensor<1021x768xbf16>, tensor<768x1000xbf16> -> tensor<1021x1000xbf16>
  %3 = net.dot %c, %d batch = [] x [] contract = [1] x [0] : tensor<4096x16xbf16>, tensor<16x4093xbf16> -> tensor<4096x4093xbf16>
  %4 = net.dot %x, %e batch = [] x [] contract = [1] x [0] : tensor<1024x768xbf16>, tensor<768x13xbf16> -> tensor<1024x13xbf16>
  %5 = net.dot %x, %f batch = [] x [] contract = [1] x [0] {net.sum_parts = 2 : i64} : tensor<1024x768xbf16>, tensor<768x1021xbf16> -> tensor<1024x1021xbf16>
  return %0, %1, %2, %3, %4, %5 : tensor<1024x1000xbf16>, tensor<1024x1021xf32>, tensor<1021x1000xbf16>, tensor<4096x4093xbf16>, tensor<1024x13xbf16>, tensor<1024x1021xbf16>
}
