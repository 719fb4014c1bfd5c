// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file --dist-complete-segment="megabytes=0.0003 prefetch=1" | FileCheck %s
// RUN: dist-opt %s -split-input-file --dist-complete-segment="megabytes=0.0003 prefetch=1 keep-within-megabytes=0.0003" | FileCheck %s --check-prefix=KEEP
// RUN: dist-opt %s -split-input-file --dist-complete-segment="megabytes=0.0003 prefetch=2 max-live-megabytes=0.0003" | FileCheck %s --check-prefix=LIVE
// RUN: dist-opt %s -split-input-file --dist-complete-segment="megabytes=0.0003 prefetch=2 max-in-flight=2" | FileCheck %s --check-prefix=QUEUE
// RUN: dist-opt %s -split-input-file --dist-complete-segment="megabytes=0.0003 backward-axes=ep" | FileCheck %s --check-prefix=AXES

// Tests that every segment reads what it uses of the parameters that are kept elsewhere. A parameter of 8x8 is 256 bytes, so that
// a segment of 0.0003 megabytes has one.

// The read that forward and backward share becomes one per segment, before its first user, and starts one segment ahead.
dist.mesh @mesh <["dp" = 2]>
net.variable parameter @v : tensor<8x8xf32> {dist.mapping = #dist.mapping<dims = [["dp"], []]>}
net.variable parameter @w : tensor<8x8xf32> {dist.mapping = #dist.mapping<dims = [["dp"], []]>}
// CHECK-LABEL: @one_read_per_segment
// KEEP-LABEL: @one_read_per_segment
// LIVE-LABEL: @one_read_per_segment
// QUEUE-LABEL: @one_read_per_segment
func.func @one_read_per_segment(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %v = net.read @v {dist.results = [#dist.mapping<dims = [[], []]>]} : tensor<8x8xf32>
  %w = net.read @w {dist.results = [#dist.mapping<dims = [[], []]>]} : tensor<8x8xf32>
  // CHECK-NOT: net.read
  // CHECK: net.negate {{.*}}dist.segment = 0
  // CHECK-NEXT: %[[V:.*]] = net.read @v {dist.fetch_at = 0 : i64, dist.reason = "fetch for segment 0 (forward), starts with it", {{.*}}dist.segment = 0 : i64, net.role = #net.role<forward>}
  // CHECK-NEXT: net.dot %{{.*}}, %[[V]] {{.*}}dist.segment = 0
  %n = net.negate %x {net.role = #net.role<forward>} : tensor<4x8xf32>
  %a = net.dot %n, %v batch = [] x [] contract = [1] x [0] {net.role = #net.role<forward>} : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  // CHECK-NEXT: net.exponential {{.*}}dist.segment = 0
  %e = net.exponential %a {net.role = #net.role<forward>} : tensor<4x8xf32>
  // CHECK-NEXT: %[[W:.*]] = net.read @w {dist.fetch_at = 0 : i64, dist.reason = "fetch for segment 1 (forward), starts with segment 0: 1 ahead"
  // CHECK-NEXT: net.dot %{{.*}}, %[[W]] {{.*}}dist.segment = 1
  %b = net.dot %e, %w batch = [] x [] contract = [1] x [0] {net.role = #net.role<forward>} : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  // Backward begins a segment, whatever the volume.
  // CHECK-NEXT: %[[AGAIN:.*]] = net.read @w {dist.fetch_at = 1 : i64, {{.*}}dist.segment = 2 : i64, net.role = #net.role<backward>}
  // CHECK-NEXT: net.dot %{{.*}}, %[[AGAIN]] {{.*}}dist.segment = 2
  %c = net.dot %b, %w batch = [] x [] contract = [1] x [1] {net.role = #net.role<backward>} : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  // CHECK: net.read @v {dist.fetch_at = 2 {{.*}}dist.segment = 3
  // CHECK-NEXT: net.dot
  // CHECK-NOT: net.read
  %d = net.dot %c, %v batch = [] x [] contract = [1] x [1] {net.role = #net.role<backward>} : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  // Kept parameters are read once: @w has nothing in between, @v nothing but what is kept.
  // KEEP: %[[V:.*]] = net.read @v {{.*}}"fetch for segment 0 (forward), starts with it; kept for segment 3: 256 B are fetched in between"
  // KEEP: %[[W:.*]] = net.read @w {{.*}}kept for segment 2: 0 B are fetched in between"
  // KEEP-NOT: net.read
  // KEEP: net.dot %{{.*}}, %[[W]] {{.*}}dist.segment = 2
  // KEEP: net.dot %{{.*}}, %[[V]] {{.*}}dist.segment = 3
  // There is room for one at a time.
  // LIVE: net.read @w {dist.fetch_at = 1 : i64, dist.reason = "fetch for segment 1 (forward), starts with it: at most 300 B may be alive and segment 0 has 256 B"
  // Two launches are those of the segment and one more.
  // QUEUE: net.read @w {dist.fetch_at = 0 : i64, dist.reason = "fetch for segment 1 (forward), starts with segment 0: 1 ahead"
  // QUEUE: net.read @w {dist.fetch_at = 1 : i64, dist.reason = "fetch for segment 2 (backward), starts with segment 1: at most 2 buckets may be in flight and segment 0 has 2"
  return %d : tensor<4x8xf32>
}

// -----

// Layout operations on a parameter are repeated in every segment; a tied parameter is fetched once for all its uses there.
dist.mesh @mesh <["dp" = 2]>
net.variable parameter @w : tensor<8x8xf32> {dist.mapping = #dist.mapping<dims = [["dp"], []]>}
// CHECK-LABEL: @layout_is_cloned
func.func @layout_is_cloned(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %w = net.read @w {dist.results = [#dist.mapping<dims = [[], []]>]} : tensor<8x8xf32>
  %t = net.transpose %w dims = [1, 0] {net.role = #net.role<forward>} : tensor<8x8xf32> -> tensor<8x8xf32>
  // CHECK: %[[FIRST:.*]] = net.read @w {{.*}}dist.segment = 0
  // CHECK-NEXT: %[[T:.*]] = net.transpose %[[FIRST]] {{.*}}dist.segment = 0 : i64, net.role = #net.role<forward>
  // CHECK-NEXT: net.dot %{{.*}}, %[[T]]
  // CHECK-NEXT: net.dot %{{.*}}, %[[FIRST]]
  %a = net.dot %x, %t batch = [] x [] contract = [1] x [0] {net.role = #net.role<forward>} : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %b = net.dot %a, %w batch = [] x [] contract = [1] x [0] {net.role = #net.role<forward>} : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  // CHECK-NEXT: %[[SECOND:.*]] = net.read @w {{.*}}dist.segment = 1
  // CHECK-NEXT: %[[U:.*]] = net.transpose %[[SECOND]] {{.*}}dist.segment = 1 : i64, net.role = #net.role<backward>
  // CHECK-NEXT: net.dot %{{.*}}, %[[U]]
  %c = net.dot %b, %t batch = [] x [] contract = [1] x [1] {net.role = #net.role<backward>} : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  return %c : tensor<4x8xf32>
}

// -----

// Backward gathers over an axis of its own: what forward fetched waits split over it. A parameter that backward does not use does not wait.
dist.mesh @mesh <["dp" = 2, "ep" = 2]>
net.variable parameter @b : tensor<8xf32> {dist.mapping = #dist.mapping<dims = [["dp", "ep"]]>}
net.variable parameter @w : tensor<8x8xf32> {dist.mapping = #dist.mapping<dims = [["dp", "ep"], []]>}
// AXES-LABEL: @backward_axes
func.func @backward_axes(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %b = net.read @b {dist.results = [#dist.mapping<dims = [[]]>]} : tensor<8xf32>
  %w = net.read @w {dist.results = [#dist.mapping<dims = [[], []]>]} : tensor<8x8xf32>
  // AXES: %[[W:.*]] = net.read @w
  // AXES: net.dot %{{.*}}, %[[W]]
  // AXES-NEXT: %[[HELD:.*]] = dist.reshard %[[W]] from <dims = {{\[\[\], \[\]\]}}> to <dims = {{\[\["ep"\], \[\]\]}}> {{.*}}dist.segment = 0 : i64, net.role = #net.role<forward>
  // AXES: net.read @b
  // AXES-NOT: dist.reshard
  // AXES: %[[GATHERED:.*]] = dist.reshard %[[HELD]] from <dims = {{\[\["ep"\], \[\]\]}}> to <dims = {{\[\[\], \[\]\]}}> {dist.fetch_at = {{.*}}net.role = #net.role<backward>
  // AXES-NEXT: net.dot %{{.*}}, %[[GATHERED]]
  %a = net.dot %x, %w batch = [] x [] contract = [1] x [0] {net.role = #net.role<forward>} : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %bb = net.broadcast %b dims = [1] {net.role = #net.role<forward>} : tensor<8xf32> -> tensor<4x8xf32>
  %s = net.add %a, %bb {net.role = #net.role<forward>} : tensor<4x8xf32>
  %c = net.dot %s, %w batch = [] x [] contract = [1] x [1] {net.role = #net.role<backward>} : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  return %c : tensor<4x8xf32>
}

// -----

// An owner's parameter is fetched like a sliced one. The optimizer reads what is kept, the results read by themselves; neither is of a segment.
dist.mesh @mesh <["dp" = 2]>
net.variable parameter @w : tensor<8x8xf32> {dist.mapping = #dist.mapping<dims = [[], []], on {"dp" = [1]}>}
// CHECK-LABEL: @owners_optimizer_and_results
func.func @owners_optimizer_and_results(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8x8xf32>) {
  // CHECK: %[[KEPT:.*]] = net.read @w {dist.results = [#dist.mapping<dims = {{\[\[\], \[\]\]}}, on {"dp" = [1]}>], net.role = #net.role<optimize>}
  %kept = net.read @w {dist.results = [#dist.mapping<dims = [[], []], on {"dp" = [1]}>], net.role = #net.role<optimize>} : tensor<8x8xf32>
  %w = net.read @w {dist.results = [#dist.mapping<dims = [[], []]>]} : tensor<8x8xf32>
  // CHECK-NEXT: net.read @w {dist.fetch_at = 0
  // CHECK-NEXT: net.dot
  %a = net.dot %x, %w batch = [] x [] contract = [1] x [0] {net.role = #net.role<forward>} : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  // CHECK-NEXT: net.add %[[KEPT]], %[[KEPT]] {net.role = #net.role<optimize>}
  %n = net.add %kept, %kept {net.role = #net.role<optimize>} : tensor<8x8xf32>
  net.assign @w, %n {net.role = #net.role<optimize>} : tensor<8x8xf32>
  // CHECK: %[[RESULT:.*]] = net.read @w {dist.results = [#dist.mapping<dims = {{\[\[\], \[\]\]}}>]}
  // CHECK-NEXT: return %{{.*}}, %[[RESULT]]
  return %a, %w : tensor<4x8xf32>, tensor<8x8xf32>
}

// -----

// Without a parameter that is kept elsewhere there is nothing to do.
dist.mesh @mesh <["dp" = 2]>
net.variable parameter @w : tensor<8x8xf32> {dist.mapping = #dist.mapping<dims = [[], []]>}
// CHECK-LABEL: @nothing_is_kept_elsewhere
// CHECK-NOT: dist.segment
// CHECK: return
func.func @nothing_is_kept_elsewhere(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %w = net.read @w {dist.results = [#dist.mapping<dims = [[], []]>]} : tensor<8x8xf32>
  %a = net.dot %x, %w batch = [] x [] contract = [1] x [0] {net.role = #net.role<forward>} : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  return %a : tensor<4x8xf32>
}
