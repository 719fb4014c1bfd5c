// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: dist-opt %s --dist-schedule-communicate="bucket-megabytes=0.0001 max-in-flight=3" --dist-schedule-assign-buffers --dist-schedule-verify --split-input-file | FileCheck %s --check-prefixes=CHECK,EARLY
// RUN: dist-opt %s --dist-schedule-communicate="bucket-megabytes=0.0001 max-in-flight=3 late-reductions" --dist-schedule-assign-buffers --dist-schedule-verify --split-input-file | FileCheck %s --check-prefixes=CHECK,LATE

// A bucket of 0.0001 megabytes is full with 100 bytes: two parts of 64.
dist.mesh @mesh <["dp" = 2, "out" = 2]>

// Tests where gradients leave, and that their updates wait for them where nothing is held up.

net.variable parameter @a : tensor<16xf32>
net.variable parameter @b : tensor<16xf32>
net.variable parameter @c : tensor<16xf32>

// CHECK-LABEL: @buckets
// CHECK: %[[A:.*]] = dist.matmul
// CHECK-NOT: dist.collective
// CHECK: %[[B:.*]] = dist.matmul
// EARLY-NEXT: %[[AB:.*]]:2 = dist.collective c_allreduce sum(%[[A]], %[[B]]) axes ["dp"] {{.*}}dist.parts = ["grad/a", "grad/b"]{{.*}} -> (!dist.handle<tensor<16xf32>>, !dist.handle<tensor<16xf32>>)
// CHECK: %[[C:.*]] = dist.matmul
// LATE-NEXT: %[[AB:.*]]:2 = dist.collective c_allreduce sum(%[[A]], %[[B]])
// CHECK-NEXT: %[[CF:.*]] = dist.collective c_allreduce sum(%[[C]])
// EARLY: %[[ABW:.*]]:2 = dist.wait %[[AB]]#0, %[[AB]]#1
// EARLY: dist.kernel(%{{.*}}, %[[ABW]]#0)
// EARLY: dist.kernel(%{{.*}}, %[[ABW]]#1)
// CHECK: %[[CW:.*]] = dist.wait %[[CF]]
// CHECK: dist.kernel(%{{.*}}, %[[CW]])
func.func @buckets(%x: tensor<16xf32>, %y: tensor<1x1xf32>) {
  %wa = net.read @a : tensor<16xf32>
  %wb = net.read @b : tensor<16xf32>
  %wc = net.read @c : tensor<16xf32>
  %0 = dist.matmul %x at 0 [1, 1], %y at 0 [1, 1] to [1, 1] batch [] m 16 n 1 k 1 {net.name = "grad/a", net.role = #net.role<backward>} : tensor<16xf32>, tensor<1x1xf32> -> tensor<16xf32>
  %1 = dist.collective c_allreduce sum(%0) axes ["dp"] {net.role = #net.role<backward>} : (tensor<16xf32>) -> tensor<16xf32>
  %2 = dist.kernel(%wa, %1) {
  ^bb0(%w: tensor<16xf32>, %g: tensor<16xf32>):
    %n = net.add %w, %g : tensor<16xf32>
    dist.yield %n : tensor<16xf32>
  } {net.role = #net.role<optimize>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  net.assign @a, %2 : tensor<16xf32>
  %3 = dist.matmul %x at 0 [1, 1], %y at 0 [1, 1] to [1, 1] batch [] m 16 n 1 k 1 {net.name = "grad/b", net.role = #net.role<backward>} : tensor<16xf32>, tensor<1x1xf32> -> tensor<16xf32>
  %4 = dist.collective c_allreduce sum(%3) axes ["dp"] {net.role = #net.role<backward>} : (tensor<16xf32>) -> tensor<16xf32>
  %5 = dist.kernel(%wb, %4) {
  ^bb0(%w: tensor<16xf32>, %g: tensor<16xf32>):
    %n = net.add %w, %g : tensor<16xf32>
    dist.yield %n : tensor<16xf32>
  } {net.role = #net.role<optimize>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  net.assign @b, %5 : tensor<16xf32>
  %6 = dist.matmul %x at 0 [1, 1], %y at 0 [1, 1] to [1, 1] batch [] m 16 n 1 k 1 {net.role = #net.role<backward>} : tensor<16xf32>, tensor<1x1xf32> -> tensor<16xf32>
  %7 = dist.collective c_allreduce sum(%6) axes ["dp"] {net.role = #net.role<backward>} : (tensor<16xf32>) -> tensor<16xf32>
  %8 = dist.kernel(%wc, %7) {
  ^bb0(%w: tensor<16xf32>, %g: tensor<16xf32>):
    %n = net.add %w, %g : tensor<16xf32>
    dist.yield %n : tensor<16xf32>
  } {net.role = #net.role<optimize>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  net.assign @c, %8 : tensor<16xf32>
  return
}

// -----

dist.mesh @mesh <["dp" = 2, "out" = 2]>
net.variable parameter @a : tensor<32xf32>

// A gradient reduced in the group and then over the outer axis stays in flight between the two, and the gathered new
// value comes at the end, in the variable's own memory.
// CHECK-LABEL: @chain
// EARLY: %[[G:.*]] = dist.matmul
// EARLY: %[[INNER:.*]] = dist.collective c_reducescatter sum(%[[G]]) axes ["dp"]
// EARLY-NEXT: %[[OUTER:.*]] = dist.collective c_allreduce sum(%[[INNER]]) axes ["out"]
// EARLY-SAME: (!dist.handle<tensor<16xf32>>) -> !dist.handle<tensor<16xf32>>
// EARLY-NEXT: %[[OTHER:.*]] = dist.matmul
// EARLY-NEXT: %[[W:.*]] = dist.wait %[[OUTER]]
// EARLY-NEXT: %[[G:.*]] = dist.view %[[W]]
// EARLY-NEXT: %[[NEXT:.*]] = dist.kernel({{.*}}%[[G]])
// EARLY: %[[PART:.*]] = dist.view %[[NEXT]]
// EARLY-NEXT: dist.collective c_allgather(%[[PART]]) axes ["dp"] {{.*}}dist.offsets = array<i64: 0>{{.*}}: (tensor<16xf32>) -> tensor<2x16xf32>
// EARLY: net.assign @a
func.func @chain(%x: tensor<32xf32>, %y: tensor<1x1xf32>) -> tensor<32xf32> {
  %wa = net.read @a : tensor<32xf32>
  %0 = dist.matmul %x at 0 [1, 1], %y at 0 [1, 1] to [1, 1] batch [] m 32 n 1 k 1 {net.role = #net.role<backward>} : tensor<32xf32>, tensor<1x1xf32> -> tensor<32xf32>
  %1 = dist.collective c_reducescatter sum(%0) axes ["dp"] {net.role = #net.role<backward>} : (tensor<32xf32>) -> tensor<16xf32>
  %2 = dist.view %1 at 0 : tensor<16xf32> -> tensor<4x4xf32>
  %3 = dist.collective c_allreduce sum(%2) axes ["out"] {net.role = #net.role<backward>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = dist.kernel(%wa, %3) {
  ^bb0(%w: tensor<32xf32>, %g: tensor<4x4xf32>):
    %n = net.exponential %g : tensor<4x4xf32>
    dist.yield %n : tensor<4x4xf32>
  } {net.role = #net.role<optimize>} : (tensor<32xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %5 = dist.view %4 at 0 : tensor<4x4xf32> -> tensor<16xf32>
  %6 = dist.collective c_allgather(%5) axes ["dp"] {net.role = #net.role<optimize>} : (tensor<16xf32>) -> tensor<2x16xf32>
  %7 = dist.view %6 at 0 : tensor<2x16xf32> -> tensor<32xf32>
  net.assign @a, %7 : tensor<32xf32>
  %8 = dist.matmul %x at 0 [1, 1], %y at 0 [1, 1] to [1, 1] batch [] m 32 n 1 k 1 {net.role = #net.role<backward>} : tensor<32xf32>, tensor<1x1xf32> -> tensor<32xf32>
  return %8 : tensor<32xf32>
}

// -----

dist.mesh @mesh <["dp" = 2, "out" = 2]>

// Any other collective starts where it stands and is waited for where it is used, if anything is computed between.
// CHECK-LABEL: @others
// CHECK: %[[F:.*]] = dist.collective c_allreduce sum(%{{.*}}) axes ["dp"] {{.*}} -> !dist.handle
// CHECK-NEXT: dist.matmul
// CHECK-NEXT: %[[W:.*]] = dist.wait %[[F]]
// CHECK-NEXT: %[[V:.*]] = dist.view %[[W]]
// CHECK-NEXT: dist.matmul %[[V]]
// CHECK-NEXT: %[[WHOLE:.*]] = dist.collective c_allreduce sum({{.*}}) -> tensor<16xf32>
// CHECK-NEXT: dist.matmul %[[WHOLE]]
func.func @others(%x: tensor<16xf32>, %y: tensor<1x1xf32>) -> (tensor<16xf32>, tensor<4x4xf32>) {
  %0 = dist.collective c_allreduce sum(%x) axes ["dp"] {net.role = #net.role<forward>} : (tensor<16xf32>) -> tensor<16xf32>
  %1 = dist.view %0 at 0 : tensor<16xf32> -> tensor<4x4xf32>
  %2 = dist.matmul %x at 0 [1, 1], %y at 0 [1, 1] to [1, 1] batch [] m 16 n 1 k 1 {net.role = #net.role<forward>} : tensor<16xf32>, tensor<1x1xf32> -> tensor<16xf32>
  %3 = dist.matmul %1 at 0 [1, 1], %2 at 0 [1, 1] to [1, 1] batch [] m 16 n 1 k 1 {net.role = #net.role<forward>} : tensor<4x4xf32>, tensor<16xf32> -> tensor<16xf32>
  %4 = dist.collective c_allreduce sum(%3) axes ["dp"] {net.role = #net.role<forward>} : (tensor<16xf32>) -> tensor<16xf32>
  %5 = dist.matmul %4 at 0 [1, 1], %y at 0 [1, 1] to [1, 1] batch [] m 16 n 1 k 1 {net.role = #net.role<forward>} : tensor<16xf32>, tensor<1x1xf32> -> tensor<16xf32>
  return %5, %1 : tensor<16xf32>, tensor<4x4xf32>
}

// -----

dist.mesh @mesh <["dp" = 2, "out" = 2]>
net.variable parameter @a : tensor<8xf32>
net.variable parameter @b : tensor<8xf32>
net.variable parameter @c : tensor<8xf32>

// Tests where fetches start: what segment 0 needs at its beginning, together, and with it what segment 1 needs; what
// segment 2 needs with segment 1. The copy of a fetched value comes before its user, and the kernel of an input
// that segment 2 reads starts nothing though it stands first.
// CHECK-LABEL: @fetches
// CHECK: %[[AB:.*]]:2 = dist.collective c_allgather(%{{.*}}, %{{.*}}) axes ["dp"] {dist.fetch_at = 0 : i64, {{.*}}dist.parts = ["a", "b"], dist.segment = 0 : i64} : {{.*}} -> (tensor<2x8xf32>, tensor<2x8xf32>)
// CHECK-NEXT: %[[C:.*]] = dist.collective c_allgather(%{{.*}}) axes ["dp"] {dist.fetch_at = 0 : i64, {{.*}}dist.segment = 1 : i64} : {{.*}} -> !dist.handle
// CHECK-NEXT: dist.matmul %[[AB]]#0
// CHECK-NEXT: %[[COPY:.*]] = dist.kernel(%[[AB]]#1)
// CHECK: dist.matmul %[[COPY]]
// CHECK-NEXT: %[[A:.*]] = dist.collective c_allgather(%{{.*}}) axes ["dp"] {dist.fetch_at = 1 : i64, {{.*}}dist.segment = 2 : i64} : {{.*}} -> !dist.handle
// CHECK-NEXT: %[[CW:.*]] = dist.wait %[[C]]
// CHECK-NEXT: dist.matmul %[[CW]]
// CHECK-NEXT: %[[INPUT:.*]] = dist.kernel
// CHECK: %[[AW:.*]] = dist.wait %[[A]]
// CHECK-NEXT: dist.matmul %[[AW]] {{.*}}, %[[INPUT]]
func.func @fetches(%x: tensor<16xf32>, %y: tensor<1x1xf32>) -> tensor<16xf32> {
  %wa = net.read @a : tensor<8xf32>
  %wb = net.read @b : tensor<8xf32>
  %wc = net.read @c : tensor<8xf32>
  %early = dist.kernel(%x) {
  ^bb0(%z: tensor<16xf32>):
    %e = net.exponential %z : tensor<16xf32>
    dist.yield %e : tensor<16xf32>
  } {dist.segment = 2 : i64} : (tensor<16xf32>) -> tensor<16xf32>
  %a0 = dist.collective c_allgather(%wa) axes ["dp"] {dist.segment = 0 : i64, dist.fetch_at = 0 : i64} : (tensor<8xf32>) -> tensor<2x8xf32>
  %c1 = dist.collective c_allgather(%wc) axes ["dp"] {dist.segment = 1 : i64, dist.fetch_at = 0 : i64} : (tensor<8xf32>) -> tensor<2x8xf32>
  %b0 = dist.collective c_allgather(%wb) axes ["dp"] {dist.segment = 0 : i64, dist.fetch_at = 0 : i64} : (tensor<8xf32>) -> tensor<2x8xf32>
  %a2 = dist.collective c_allgather(%wa) axes ["dp"] {dist.segment = 2 : i64, dist.fetch_at = 1 : i64} : (tensor<8xf32>) -> tensor<2x8xf32>
  %bt = dist.kernel(%b0) {
  ^bb0(%z: tensor<2x8xf32>):
    %t = net.transpose %z dims = [1, 0] : tensor<2x8xf32> -> tensor<8x2xf32>
    dist.yield %t : tensor<8x2xf32>
  } {dist.segment = 0 : i64} : (tensor<2x8xf32>) -> tensor<8x2xf32>
  %0 = dist.matmul %a0 at 0 [1, 1], %y at 0 [1, 1] to [1, 1] batch [] m 16 n 1 k 1 {dist.segment = 0 : i64} : tensor<2x8xf32>, tensor<1x1xf32> -> tensor<16xf32>
  %1 = dist.matmul %bt at 0 [1, 1], %0 at 0 [1, 1] to [1, 1] batch [] m 16 n 1 k 1 {dist.segment = 0 : i64} : tensor<8x2xf32>, tensor<16xf32> -> tensor<16xf32>
  %2 = dist.matmul %c1 at 0 [1, 1], %1 at 0 [1, 1] to [1, 1] batch [] m 16 n 1 k 1 {dist.segment = 1 : i64} : tensor<2x8xf32>, tensor<16xf32> -> tensor<16xf32>
  %3 = dist.matmul %a2 at 0 [1, 1], %early at 0 [1, 1] to [1, 1] batch [] m 16 n 1 k 1 {dist.segment = 2 : i64} : tensor<2x8xf32>, tensor<16xf32> -> tensor<16xf32>
  %4 = dist.matmul %2 at 0 [1, 1], %3 at 0 [1, 1] to [1, 1] batch [] m 16 n 1 k 1 {dist.segment = 2 : i64} : tensor<16xf32>, tensor<16xf32> -> tensor<16xf32>
  return %4 : tensor<16xf32>
}

// -----

dist.mesh @mesh <["dp" = 2, "out" = 2]>
net.variable parameter @a : tensor<8xf32>

// Tests that what an update waits for starts when another exchange of the update is over, though nothing else is left.
// CHECK-LABEL: @gathered_twice
// CHECK: %[[PART:.*]] = dist.kernel
// CHECK: %[[INNER:.*]] = dist.collective c_allgather(%[[PART]]) axes ["out"]
// CHECK: %[[ROWS:.*]] = dist.view %[[INNER]]
// CHECK: %[[OUTER:.*]] = dist.collective c_allgather(%[[ROWS]]) axes ["dp"]
// CHECK: %[[NEW:.*]] = dist.view %[[OUTER]]
// CHECK-NEXT: net.assign @a, %[[NEW]]
func.func @gathered_twice(%x: tensor<2xf32>) {
  %0 = dist.kernel(%x) {
  ^bb0(%z: tensor<2xf32>):
    %e = net.exponential %z : tensor<2xf32>
    dist.yield %e : tensor<2xf32>
  } {net.role = #net.role<optimize>} : (tensor<2xf32>) -> tensor<2xf32>
  %1 = dist.collective c_allgather(%0) axes ["out"] {net.role = #net.role<optimize>} : (tensor<2xf32>) -> tensor<2x2xf32>
  %2 = dist.view %1 at 0 : tensor<2x2xf32> -> tensor<4xf32>
  %3 = dist.collective c_allgather(%2) axes ["dp"] {net.role = #net.role<optimize>} : (tensor<4xf32>) -> tensor<2x4xf32>
  %4 = dist.view %3 at 0 : tensor<2x4xf32> -> tensor<8xf32>
  net.assign @a, %4 : tensor<8xf32>
  return
}
