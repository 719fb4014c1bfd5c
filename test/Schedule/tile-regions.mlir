// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file --dist-schedule-tile-regions="min-bytes=0 tile-bytes=2048" | FileCheck %s
// RUN: dist-opt %s -split-input-file --dist-schedule-tile-regions | FileCheck %s --check-prefix=SMALL
// RUN: dist-opt %s -split-input-file --dist-schedule-tile-regions="enabled=false min-bytes=0 tile-bytes=2048" | FileCheck %s --check-prefix=SMALL

// Tests that a softmax of products is computed by tiles of 32 rows: queries are taken from a stack, keys and values are read
// whole, and results are stacked. Matrices of fewer bytes than min-bytes are computed whole.
// CHECK-LABEL: @softmax
// CHECK-SAME: (%[[Q:.*]]: tensor<64x1xf32>, %[[K:.*]]: tensor<64x1xf32>, %[[V:.*]]: tensor<64x1xf32>)
// SMALL-LABEL: @softmax
// SMALL-NOT: net.loop
func.func @softmax(%q: tensor<64x1xf32>, %k: tensor<64x1xf32>, %v: tensor<64x1xf32>) -> (tensor<64x1xf32>, tensor<64xf32>) {
  // CHECK: %[[STACK:.*]] = net.reshape %[[Q]] : tensor<64x1xf32> -> tensor<2x32x1xf32>
  // CHECK-NEXT: %[[I:.*]] = net.loop count = 2
  // CHECK-NEXT: %[[TILE:.*]] = net.take %[[STACK]] in %[[I]]
  // CHECK-NEXT: %[[S:.*]] = net.dot %[[TILE]], %[[K]] {{.*}} -> tensor<32x64xf32>
  %s = net.dot %q, %k batch = [] x [] contract = [1] x [1] : tensor<64x1xf32>, tensor<64x1xf32> -> tensor<64x64xf32>
  // CHECK-NEXT: %[[M:.*]] = net.reduce max %[[S]]
  %m = net.reduce max %s dims = [1] : tensor<64x64xf32> -> tensor<64xf32>
  %b = net.broadcast %m dims = [0] : tensor<64xf32> -> tensor<64x64xf32>
  %c = net.subtract %s, %b : tensor<64x64xf32>
  // CHECK: net.exponential {{.*}} : tensor<32x64xf32>
  %e = net.exponential %c : tensor<64x64xf32>
  // CHECK: %[[O:.*]] = net.dot {{.*}}, %[[V]] {{.*}} -> tensor<32x1xf32>
  %o = net.dot %e, %v batch = [] x [] contract = [1] x [0] : tensor<64x64xf32>, tensor<64x1xf32> -> tensor<64x1xf32>
  // CHECK-DAG: net.stack %[[M]] in %[[I]]
  // CHECK-DAG: net.stack %[[O]] in %[[I]]
  // CHECK: net.end_loop %[[I]]
  return %o, %m : tensor<64x1xf32>, tensor<64xf32>
}

// -----

// Tests that a sum over rows is carried from tile to tile, and one in 16 bits as f32.
// CHECK-LABEL: @sum_over_rows
// SMALL-LABEL: @sum_over_rows
func.func @sum_over_rows(%q: tensor<64x1xbf16>, %k: tensor<64x1xbf16>, %g: tensor<64x1xbf16>) -> tensor<64x1xbf16> {
  %s = net.dot %q, %k batch = [] x [] contract = [1] x [1] : tensor<64x1xbf16>, tensor<64x1xbf16> -> tensor<64x64xbf16>
  %m = net.reduce max %s dims = [1] : tensor<64x64xbf16> -> tensor<64xbf16>
  %b = net.broadcast %m dims = [0] : tensor<64xbf16> -> tensor<64x64xbf16>
  %c = net.subtract %s, %b : tensor<64x64xbf16>
  %e = net.exponential %c : tensor<64x64xbf16>
  // CHECK: %[[ZERO:.*]] = net.constant {{.*}}dense<0.000000e+00> : tensor<64x1xf32>
  // CHECK: %[[I:.*]] = net.loop count = 2
  // CHECK-NEXT: %[[SUM:.*]] = net.carry %[[ZERO]] in %[[I]] : tensor<64x1xf32>
  // CHECK: %[[PART:.*]] = net.dot {{.*}} : tensor<32x64xbf16>, tensor<32x1xbf16> -> tensor<64x1xf32>
  // CHECK-NEXT: %[[NEW:.*]] = net.add %[[SUM]], %[[PART]]
  // CHECK-NEXT: %[[ALL:.*]] = net.next %[[NEW]] for %[[SUM]]
  // CHECK: net.convert %[[ALL]] {{.*}}-> tensor<64x1xbf16>
  %d = net.dot %e, %g batch = [] x [] contract = [0] x [0] : tensor<64x64xbf16>, tensor<64x1xbf16> -> tensor<64x1xbf16>
  return %d : tensor<64x1xbf16>
}

// -----

// Tests that the gradient of a softmax, which sums nothing along a row that others read, is divided by keys and by queries:
// gradients of keys and values are carried through the tiles of queries, those of queries through the blocks of keys.
// CHECK-LABEL: @gradient
// SMALL-LABEL: @gradient
// SMALL-NOT: net.loop
func.func @gradient(%q: tensor<64x1xf32>, %k: tensor<64x1xf32>, %v: tensor<64x1xf32>, %g: tensor<64x1xf32>, %m: tensor<64xf32>, %d: tensor<64xf32>)
    -> (tensor<64x1xf32>, tensor<64x1xf32>, tensor<64x1xf32>) {
  // CHECK: %[[B:.*]] = net.loop count = 2
  // CHECK-NEXT: %[[DQ:.*]] = net.carry %{{.*}} in %[[B]] : tensor<64x1xf32>
  // CHECK-NEXT: %[[K:.*]] = net.take %{{.*}} in %[[B]] : tensor<2x32x1xf32> -> tensor<32x1xf32>
  // CHECK: %[[I:.*]] = net.loop count = 2
  // CHECK-DAG: %[[DK:.*]] = net.carry %{{.*}} in %[[I]] : tensor<32x1xf32>
  // CHECK-DAG: %[[DV:.*]] = net.carry %{{.*}} in %[[I]] : tensor<32x1xf32>
  // CHECK: %[[Q:.*]] = net.take %{{.*}} in %[[I]] : tensor<2x32x1xf32> -> tensor<32x1xf32>
  // CHECK: net.dot %[[Q]], %[[K]] {{.*}} -> tensor<32x32xf32>
  // CHECK: %[[PART:.*]] = net.dot %{{.*}}, %[[K]] {{.*}} -> tensor<32x1xf32>
  // CHECK: %[[PARTS:.*]] = net.stack %[[PART]] in %[[I]]
  // CHECK: net.end_loop %[[I]]
  // CHECK: %[[ALL:.*]] = net.reshape %[[PARTS]] : tensor<2x32x1xf32> -> tensor<64x1xf32>
  // CHECK: net.add %[[DQ]], %[[ALL]]
  // CHECK-COUNT-1: net.stack %{{.*}} in %[[B]] : tensor<32x1xf32> -> tensor<2x32x1xf32>
  // CHECK: net.end_loop %[[B]]
  %s = net.dot %q, %k batch = [] x [] contract = [1] x [1] : tensor<64x1xf32>, tensor<64x1xf32> -> tensor<64x64xf32>
  %b = net.broadcast %m dims = [0] : tensor<64xf32> -> tensor<64x64xf32>
  %c = net.subtract %s, %b : tensor<64x64xf32>
  %e = net.exponential %c : tensor<64x64xf32>
  %dv = net.dot %e, %g batch = [] x [] contract = [0] x [0] : tensor<64x64xf32>, tensor<64x1xf32> -> tensor<64x1xf32>
  %p = net.dot %g, %v batch = [] x [] contract = [1] x [1] : tensor<64x1xf32>, tensor<64x1xf32> -> tensor<64x64xf32>
  %r = net.broadcast %d dims = [0] : tensor<64xf32> -> tensor<64x64xf32>
  %a = net.add %p, %r : tensor<64x64xf32>
  %t = net.multiply %a, %e : tensor<64x64xf32>
  %dq = net.dot %t, %k batch = [] x [] contract = [1] x [0] : tensor<64x64xf32>, tensor<64x1xf32> -> tensor<64x1xf32>
  %dk = net.dot %t, %q batch = [] x [] contract = [0] x [0] : tensor<64x64xf32>, tensor<64x1xf32> -> tensor<64x1xf32>
  return %dq, %dk, %dv : tensor<64x1xf32>, tensor<64x1xf32>, tensor<64x1xf32>
}

// -----

// Tests that columns that a causal mask hides from all rows of a tile are not computed, and that an operation which reads a
// result before the last member of the region moves behind the loop.
// CHECK-LABEL: @causal
// SMALL-LABEL: @causal
func.func @causal(%q: tensor<512x1xf32>, %k: tensor<512x1xf32>, %v: tensor<512x1xf32>) -> (tensor<512x1xf32>, tensor<512xf32>) {
  // CHECK: net.loop count = 8
  // CHECK: net.dot {{.*}} : tensor<32x1xf32>, tensor<256x1xf32> -> tensor<32x256xf32>
  // CHECK: net.end_loop
  // CHECK: net.loop count = 8
  // CHECK: net.dot {{.*}} : tensor<32x1xf32>, tensor<512x1xf32> -> tensor<32x512xf32>
  // CHECK: net.end_loop
  // CHECK: net.concatenate
  // CHECK: net.negate
  %s = net.dot %q, %k batch = [] x [] contract = [1] x [1] : tensor<512x1xf32>, tensor<512x1xf32> -> tensor<512x512xf32>
  %i = net.iota dim = 0 : tensor<512xi32>
  %row = net.broadcast %i dims = [0] : tensor<512xi32> -> tensor<512x512xi32>
  %column = net.broadcast %i dims = [1] : tensor<512xi32> -> tensor<512x512xi32>
  %shown = net.compare ge, %row, %column : tensor<512x512xi32> -> tensor<512x512xi1>
  %lowest = net.constant dense<0xFF800000> : tensor<512x512xf32>
  %x = net.select %shown, %s, %lowest : tensor<512x512xi1>, tensor<512x512xf32>
  %m = net.reduce max %x dims = [1] : tensor<512x512xf32> -> tensor<512xf32>
  %n = net.negate %m : tensor<512xf32>
  %b = net.broadcast %m dims = [0] : tensor<512xf32> -> tensor<512x512xf32>
  %c = net.subtract %x, %b : tensor<512x512xf32>
  %e = net.exponential %c : tensor<512x512xf32>
  %o = net.dot %e, %v batch = [] x [] contract = [1] x [0] : tensor<512x512xf32>, tensor<512x1xf32> -> tensor<512x1xf32>
  return %o, %n : tensor<512x1xf32>, tensor<512xf32>
}

// -----

// Tests what is not divided: a layer whose hidden values are wide without a softmax, scores that others read, and a softmax of
// which a part goes through an operation without rows.
// CHECK-LABEL: @layer
// SMALL-LABEL: @layer
func.func @layer(%x: tensor<64x1xf32>, %w: tensor<1x64xf32>, %v: tensor<64x1xf32>) -> tensor<64x1xf32> {
  // CHECK-NOT: net.loop
  %h = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<64x1xf32>, tensor<1x64xf32> -> tensor<64x64xf32>
  %t = net.tanh %h : tensor<64x64xf32>
  %o = net.dot %t, %v batch = [] x [] contract = [1] x [0] : tensor<64x64xf32>, tensor<64x1xf32> -> tensor<64x1xf32>
  return %o : tensor<64x1xf32>
}

// CHECK-LABEL: @kept_scores
func.func @kept_scores(%q: tensor<32x1xf32>, %k: tensor<32x1xf32>, %v: tensor<32x1xf32>) -> (tensor<32x1xf32>, tensor<32x32xf32>) {
  // CHECK-NOT: net.loop
  %s = net.dot %q, %k batch = [] x [] contract = [1] x [1] : tensor<32x1xf32>, tensor<32x1xf32> -> tensor<32x32xf32>
  %m = net.reduce max %s dims = [1] : tensor<32x32xf32> -> tensor<32xf32>
  %b = net.broadcast %m dims = [0] : tensor<32xf32> -> tensor<32x32xf32>
  %c = net.subtract %s, %b : tensor<32x32xf32>
  %e = net.exponential %c : tensor<32x32xf32>
  %o = net.dot %e, %v batch = [] x [] contract = [1] x [0] : tensor<32x32xf32>, tensor<32x1xf32> -> tensor<32x1xf32>
  return %o, %e : tensor<32x1xf32>, tensor<32x32xf32>
}

// CHECK-LABEL: @sorted_maxima
func.func @sorted_maxima(%q: tensor<32x1xf32>, %k: tensor<32x1xf32>, %v: tensor<32x1xf32>) -> tensor<32x1xf32> {
  // CHECK-NOT: net.loop
  %s = net.dot %q, %k batch = [] x [] contract = [1] x [1] : tensor<32x1xf32>, tensor<32x1xf32> -> tensor<32x32xf32>
  %m = net.reduce max %s dims = [1] : tensor<32x32xf32> -> tensor<32xf32>
  %r = net.reverse %m dims = [0] : tensor<32xf32>
  %b = net.broadcast %r dims = [0] : tensor<32xf32> -> tensor<32x32xf32>
  %c = net.subtract %s, %b : tensor<32x32xf32>
  %e = net.exponential %c : tensor<32x32xf32>
  %o = net.dot %e, %v batch = [] x [] contract = [1] x [0] : tensor<32x32xf32>, tensor<32x1xf32> -> tensor<32x1xf32>
  return %o : tensor<32x1xf32>
}
