// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-optimize-split-sends --dist-partition-verify | FileCheck %s
// RUN: dist-opt %s --dist-optimize-split-sends=least-kilobytes=20 | FileCheck %s --check-prefix=SMALL

dist.mesh @mesh <["dp" = 2, "pp" = 2, "tp" = 2, slices "micro" = 2]> {dist.stage_axis = "pp",
    dist.task_order = "0F0,0F1,0B0,0B1\0A1F0,1F1,1B0,1B1\0A"}

// Tests that a value which is split over the batch and replicated over `tp` is sent in halves and gathered where it is read.
net.variable accumulator @"accumulator/x" : tensor<8x512xf32> {dist.within_step, dist.mapping = #dist.mapping<dims = [["dp", "micro"], []], on {"pp" = [0]}>, net.global_type = tensor<32x512xf32>}
// CHECK-LABEL: @activation
// CHECK: %[[TP:.*]] = dist.coordinate "tp"
// CHECK-NEXT: %[[X:.*]] = net.read
// CHECK-NEXT: %[[PIECE:.*]] = dist.shard %[[X]] at(%[[TP]]) axes ["tp"] from <dims = {{\[}}["dp", "micro"], []], on {"pp" = [0]}> to <dims = {{\[}}["dp", "micro", "tp"], []], on {"pp" = [0]}> shape [32, 512] {dist.on = {pp = array<i64: 0>}, dist.stage = 0 : i64, net.role = #net.role<forward>}
// CHECK-NEXT: %[[SENT:.*]] = dist.c_send %[[PIECE]] axes ["pp"] from <dims = {{\[}}["dp", "micro", "tp"], []], on {"pp" = [0]}> to <dims = {{\[}}["dp", "micro", "tp"], []], on {"pp" = [1]}> shape [32, 512] {dist.on = {pp = array<i64: 0, 1>}, dist.stage = 0 : i64, net.role = #net.role<forward>} : tensor<4x512xf32> -> tensor<4x512xf32>
// CHECK-NEXT: %[[WHOLE:.*]] = dist.c_allgather %[[SENT]] axes ["tp"] {{.*}} {dist.on = {pp = array<i64: 1>}, dist.reason = "sent in 2 pieces, one from each rank that has it", dist.stage = 1 : i64, net.role = #net.role<backward>}
// CHECK-NEXT: net.tanh %[[WHOLE]]
// SMALL-LABEL: @activation
// SMALL-NOT: dist.shard
func.func @activation() {
  %x = net.read @"accumulator/x" {dist.on = {pp = array<i64: 0>}} : tensor<8x512xf32>
  %0 = dist.c_send %x axes ["pp"] from <dims = [["dp", "micro"], []], on {"pp" = [0]}> to <dims = [["dp", "micro"], []], on {"pp" = [1]}> shape [32, 512]
      {dist.on = {pp = array<i64: 0, 1>}, dist.stage = 0 : i64, net.role = #net.role<forward>} : tensor<8x512xf32> -> tensor<8x512xf32>
  %1 = net.tanh %0 {dist.on = {pp = array<i64: 1>}, dist.stage = 1 : i64, net.role = #net.role<backward>} : tensor<8x512xf32>
  return
}

// Tests that a sum over the micro-batches goes in as many pieces as there are ranks that have it, and that what is done
// once per step has no stage.
net.variable accumulator @"accumulator/g" : tensor<8192xf32> {dist.within_step, dist.mapping = #dist.mapping<dims = [[]], on {"pp" = [0]}>, net.global_type = tensor<8192xf32>}
// CHECK-LABEL: @sum
// CHECK: dist.c_send {{.*}} to <dims = {{\[}}["dp", "tp"]], on {"pp" = [1]}>
// CHECK-NEXT: dist.c_allgather {{.*}} axes ["dp", "tp"] {{.*}} shape [8192] {dist.on = {pp = array<i64: 1>}, dist.reason = "sent in 4 pieces, one from each rank that has it"}
// SMALL-LABEL: @sum
// SMALL: dist.c_allgather
func.func @sum() {
  %sum = net.read @"accumulator/g" {dist.on = {pp = array<i64: 0>}} : tensor<8192xf32>
  %0 = dist.c_send %sum axes ["pp"] from <dims = [[]], on {"pp" = [0]}> to <dims = [[]], on {"pp" = [1]}> shape [8192]
      {dist.on = {pp = array<i64: 0, 1>}, dist.stage = 0 : i64} : tensor<8192xf32> -> tensor<8192xf32>
  %1 = net.tanh %0 {dist.on = {pp = array<i64: 1>}, dist.stage = 1 : i64} : tensor<8192xf32>
  return
}

// Tests that a parameter, which is sent before the first micro-batch, is sent as it is.
net.variable parameter @w : tensor<8192xf32> {dist.mapping = #dist.mapping<dims = [[]], on {"pp" = [0]}>, net.global_type = tensor<8192xf32>}
// CHECK-LABEL: @parameter
// CHECK: dist.c_send {{.*}} : tensor<8192xf32> -> tensor<8192xf32>
func.func @parameter() {
  %w = net.read @w {dist.on = {pp = array<i64: 0>}} : tensor<8192xf32>
  %0 = dist.c_send %w axes ["pp"] from <dims = [[]], on {"pp" = [0]}> to <dims = [[]], on {"pp" = [1]}> shape [8192]
      {dist.on = {pp = array<i64: 0, 1>}, dist.stage = 0 : i64} : tensor<8192xf32> -> tensor<8192xf32>
  return
}

// Tests that the fastest axes take part where not all divide, along the first dimension that they do.
net.variable accumulator @"accumulator/h" : tensor<1025x6xf32> {dist.within_step, dist.mapping = #dist.mapping<dims = [[], []], on {"pp" = [0]}>, net.global_type = tensor<1025x6xf32>}
// CHECK-LABEL: @some_axes
// CHECK: dist.c_send {{.*}} to <dims = {{\[}}[], ["tp"]], on {"pp" = [1]}>
// CHECK-NEXT: dist.c_allgather {{.*}} axes ["tp"]
func.func @some_axes() {
  %x = net.read @"accumulator/h" {dist.on = {pp = array<i64: 0>}} : tensor<1025x6xf32>
  %0 = dist.c_send %x axes ["pp"] from <dims = [[], []], on {"pp" = [0]}> to <dims = [[], []], on {"pp" = [1]}> shape [1025, 6]
      {dist.on = {pp = array<i64: 0, 1>}} : tensor<1025x6xf32> -> tensor<1025x6xf32>
  return
}

// Tests that a value is sent as it is where it is split or partial over all other axes, or does not divide, or is small.
net.variable accumulator @"accumulator/split" : tensor<8192xf32> {dist.within_step, dist.mapping = #dist.mapping<dims = [["tp"]], partial = sum ["dp"], on {"pp" = [0]}>, net.global_type = tensor<16384xf32>}
net.variable accumulator @"accumulator/odd" : tensor<5001xf32> {dist.within_step, dist.mapping = #dist.mapping<dims = [[]], on {"pp" = [0]}>, net.global_type = tensor<5001xf32>}
net.variable accumulator @"accumulator/small" : tensor<64xf32> {dist.within_step, dist.mapping = #dist.mapping<dims = [[]], on {"pp" = [0]}>, net.global_type = tensor<64xf32>}
// CHECK-LABEL: @as_they_are
// CHECK-NOT: dist.shard
// CHECK-NOT: dist.c_allgather
// CHECK: return
func.func @as_they_are() {
  %split = net.read @"accumulator/split" {dist.on = {pp = array<i64: 0>}} : tensor<8192xf32>
  %odd = net.read @"accumulator/odd" {dist.on = {pp = array<i64: 0>}} : tensor<5001xf32>
  %small = net.read @"accumulator/small" {dist.on = {pp = array<i64: 0>}} : tensor<64xf32>
  %0 = dist.c_send %split axes ["pp"] from <dims = [["tp"]], partial = sum ["dp"], on {"pp" = [0]}> to <dims = [["tp"]], partial = sum ["dp"], on {"pp" = [1]}> shape [16384]
      {dist.on = {pp = array<i64: 0, 1>}} : tensor<8192xf32> -> tensor<8192xf32>
  %1 = dist.c_send %odd axes ["pp"] from <dims = [[]], on {"pp" = [0]}> to <dims = [[]], on {"pp" = [1]}> shape [5001] {dist.on = {pp = array<i64: 0, 1>}} : tensor<5001xf32> -> tensor<5001xf32>
  %2 = dist.c_send %small axes ["pp"] from <dims = [[]], on {"pp" = [0]}> to <dims = [[]], on {"pp" = [1]}> shape [64] {dist.on = {pp = array<i64: 0, 1>}} : tensor<64xf32> -> tensor<64xf32>
  return
}
