// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file --dist-schedule-form-score-kernels="min-bytes=0" --dist-schedule-tile-regions="min-bytes=0" | FileCheck %s

// Tests that a softmax of products of 16-bit floats becomes one kernel, which reads through layout operations and computes
// in f32 up to the operand of the second product. What is computed of sums alone stays outside.
// CHECK-LABEL: @softmax
// CHECK-SAME: (%[[Q:.*]]: tensor<128x8xbf16>, %[[K:.*]]: tensor<8x128xbf16>, %[[V:.*]]: tensor<128x8xbf16>)
func.func @softmax(%q: tensor<128x8xbf16>, %k: tensor<8x128xbf16>, %v: tensor<128x8xbf16>) -> (tensor<128x8xbf16>, tensor<128xf32>) {
  // CHECK: %[[KERNEL:.*]]:2 = dist.kernel(%[[Q]], %[[K]], %[[V]]) scores <rows = 0, columns = 1, visible = [0, 128, 0, 128]> {
  // CHECK-NEXT: ^bb0(%[[QUERY:.*]]: tensor<128x8xbf16>, %[[TURNED:.*]]: tensor<8x128xbf16>, %[[VALUE:.*]]: tensor<128x8xbf16>):
  // CHECK-NEXT: %[[KEY:.*]] = net.transpose %[[TURNED]]
  // CHECK-NEXT: %[[S:.*]] = net.dot %[[QUERY]], %[[KEY]] {{.*}} -> tensor<128x128xf32>
  // CHECK-NEXT: %[[M:.*]] = net.reduce max %[[S]]
  %t = net.transpose %k dims = [1, 0] : tensor<8x128xbf16> -> tensor<128x8xbf16>
  %s = net.dot %q, %t batch = [] x [] contract = [1] x [1] : tensor<128x8xbf16>, tensor<128x8xbf16> -> tensor<128x128xbf16>
  %w = net.convert %s : tensor<128x128xbf16> -> tensor<128x128xf32>
  %m = net.reduce max %w dims = [1] : tensor<128x128xf32> -> tensor<128xf32>
  %b = net.broadcast %m dims = [0] : tensor<128xf32> -> tensor<128x128xf32>
  %c = net.subtract %w, %b : tensor<128x128xf32>
  // CHECK: %[[E:.*]] = net.exponential
  // CHECK-NEXT: %[[L:.*]] = net.reduce sum %[[E]]
  %e = net.exponential %c : tensor<128x128xf32>
  %l = net.reduce sum %e dims = [1] : tensor<128x128xf32> -> tensor<128xf32>
  // CHECK-NEXT: %[[ONE:.*]] = net.constant dense<1.000000e+00> : tensor<128xf32>
  // CHECK-NEXT: %[[INVERSE:.*]] = net.divide %[[ONE]], %[[L]]
  // CHECK-NEXT: %[[SPREAD:.*]] = net.broadcast %[[INVERSE]]
  // CHECK: %[[P:.*]] = net.multiply %[[E]], %[[SPREAD]]
  // CHECK: %[[SHORT:.*]] = net.convert %[[P]] {{.*}} -> tensor<128x128xbf16>
  // CHECK-NEXT: %[[O:.*]] = net.dot %[[SHORT]], %[[VALUE]]
  // CHECK: dist.yield %[[L]], %[[O]]
  %d = net.broadcast %l dims = [0] : tensor<128xf32> -> tensor<128x128xf32>
  %p = net.divide %e, %d : tensor<128x128xf32>
  %h = net.convert %p : tensor<128x128xf32> -> tensor<128x128xbf16>
  %o = net.dot %h, %v batch = [] x [] contract = [1] x [0] : tensor<128x128xbf16>, tensor<128x8xbf16> -> tensor<128x8xbf16>
  // CHECK: %[[LOG:.*]] = net.log %[[KERNEL]]#0
  // CHECK-NEXT: return %[[KERNEL]]#1, %[[LOG]]
  %g = net.log %l : tensor<128xf32>
  return %o, %g : tensor<128x8xbf16>, tensor<128xf32>
}

// -----

// Tests that each 64 rows have the columns that a causal mask leaves.
// CHECK-LABEL: @causal
func.func @causal(%q: tensor<160x8xf16>, %k: tensor<160x8xf16>, %v: tensor<160x8xf16>) -> tensor<160x8xf16> {
  // CHECK: dist.kernel({{.*}}) scores <rows = 0, columns = 1, visible = [0, 64, 0, 128, 0, 160]>
  %s = net.dot %q, %k batch = [] x [] contract = [1] x [1] : tensor<160x8xf16>, tensor<160x8xf16> -> tensor<160x160xf16>
  %i = net.iota dim = 0 : tensor<160x160xi32>
  %j = net.iota dim = 1 : tensor<160x160xi32>
  %seen = net.compare ge, %i, %j : tensor<160x160xi32> -> tensor<160x160xi1>
  %low = net.constant dense<0xFC00> : tensor<160x160xf16>
  %x = net.select %seen, %s, %low : tensor<160x160xi1>, tensor<160x160xf16>
  %m = net.reduce max %x dims = [1] : tensor<160x160xf16> -> tensor<160xf16>
  %b = net.broadcast %m dims = [0] : tensor<160xf16> -> tensor<160x160xf16>
  %c = net.subtract %x, %b : tensor<160x160xf16>
  %e = net.exponential %c : tensor<160x160xf16>
  %o = net.dot %e, %v batch = [] x [] contract = [1] x [0] : tensor<160x160xf16>, tensor<160x8xf16> -> tensor<160x8xf16>
  return %o : tensor<160x8xf16>
}

// -----

// Tests that scores keep their roundings where a sum of them is read with the same scores outside of kernels, as by a backward
// whose scores leave it.
// CHECK-LABEL: @same_scores
func.func @same_scores(%q: tensor<128x8xbf16>, %k: tensor<128x8xbf16>) -> (tensor<128x8xbf16>, tensor<128x128xbf16>) {
  // CHECK: dist.kernel
  // CHECK: net.dot {{.*}} -> tensor<128x128xbf16>
  // CHECK: dist.yield
  %s = net.dot %q, %k batch = [] x [] contract = [1] x [1] : tensor<128x8xbf16>, tensor<128x8xbf16> -> tensor<128x128xbf16>
  %m = net.reduce max %s dims = [1] : tensor<128x128xbf16> -> tensor<128xbf16>
  %b = net.broadcast %m dims = [0] : tensor<128xbf16> -> tensor<128x128xbf16>
  %c = net.subtract %s, %b : tensor<128x128xbf16>
  %o = net.dot %c, %k batch = [] x [] contract = [1] x [0] : tensor<128x128xbf16>, tensor<128x8xbf16> -> tensor<128x8xbf16>
  %again = net.dot %q, %k batch = [] x [] contract = [1] x [1] {net.role = #net.role<backward>} : tensor<128x8xbf16>, tensor<128x8xbf16> -> tensor<128x128xbf16>
  %largest = net.broadcast %m dims = [0] {net.role = #net.role<backward>} : tensor<128xbf16> -> tensor<128x128xbf16>
  %d = net.subtract %again, %largest {net.role = #net.role<backward>} : tensor<128x128xbf16>
  return %o, %d : tensor<128x8xbf16>, tensor<128x128xbf16>
}

// -----

// Tests that scores of f32, for which tensor cores are too coarse, are computed by tiles.
// CHECK-LABEL: @single
// CHECK-NOT: dist.kernel
// CHECK: net.loop
func.func @single(%q: tensor<128x8xf32>, %k: tensor<128x8xf32>) -> tensor<128x8xf32> {
  %s = net.dot %q, %k batch = [] x [] contract = [1] x [1] : tensor<128x8xf32>, tensor<128x8xf32> -> tensor<128x128xf32>
  %m = net.reduce max %s dims = [1] : tensor<128x128xf32> -> tensor<128xf32>
  %b = net.broadcast %m dims = [0] : tensor<128xf32> -> tensor<128x128xf32>
  %c = net.subtract %s, %b : tensor<128x128xf32>
  %o = net.dot %c, %k batch = [] x [] contract = [1] x [0] : tensor<128x128xf32>, tensor<128x8xf32> -> tensor<128x8xf32>
  return %o : tensor<128x8xf32>
}
