// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: dist-opt %s --dist-schedule-specialize --split-input-file | FileCheck %s

// Tests that programs are made for the ranks that differ in what they run.

#r = #dist.mapping<dims = [[]]>
#first = #dist.mapping<dims = [[]], on {"zero" = [0]}>
#second = #dist.mapping<dims = [[]], on {"zero" = [1]}>
dist.mesh @mesh <["dp" = 2, "zero" = 4]>
net.variable parameter @v : tensor<4xf32> {dist.mapping = #first}
net.variable parameter @w : tensor<4xf32> {dist.mapping = #second}

// The first rank has @v, and sends it; it takes part in what it gets nothing from.
// CHECK-LABEL: func.func @step_zero0
// CHECK-SAME: attributes {dist.on = {zero = array<i64: 0>}}
// CHECK-NEXT: %[[V:.*]] = net.read @v : tensor<4xf32>
// CHECK-NEXT: %[[ALLV:.*]] = dist.collective c_broadcast(%[[V]]) roots [0] axes ["zero"] {dist.tag = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %[[ALLW:.*]] = dist.collective c_broadcast() roots [1] elsewhere [0] axes ["zero"] {dist.tag = 1 : i64} : () -> tensor<4xf32>
// CHECK-NEXT: %[[SUM:.*]] = net.add %[[ALLV]], %[[ALLW]]
// CHECK-NEXT: dist.collective c_reduce sum(%[[SUM]]) roots [1] elsewhere [0] axes ["zero"] {dist.tag = 2 : i64} : (tensor<4xf32>) -> ()
// CHECK-NEXT: %[[ABSENT:.*]] = dist.absent : tensor<4xf32>
// CHECK-NEXT: return %[[SUM]], %[[ABSENT]]

// CHECK-LABEL: func.func @step_zero1
// CHECK-SAME: attributes {dist.on = {zero = array<i64: 1>}}
// CHECK-NEXT: %[[W:.*]] = net.read @w : tensor<4xf32>
// CHECK-NEXT: %[[ALLV:.*]] = dist.collective c_broadcast() roots [0] elsewhere [0]
// CHECK-NEXT: %[[ALLW:.*]] = dist.collective c_broadcast(%[[W]]) roots [1] axes ["zero"]
// CHECK-NEXT: %[[SUM:.*]] = net.add %[[ALLV]], %[[ALLW]]
// CHECK-NEXT: %[[OWNED:.*]] = dist.collective c_reduce sum(%[[SUM]]) roots [1] axes ["zero"]
// CHECK-NEXT: %[[OUTER:.*]] = dist.collective c_allreduce sum(%[[OWNED]]) axes ["dp"] {dist.tag = 3 : i64} : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %[[NEW:.*]] = net.subtract %[[W]], %[[OUTER]]
// CHECK-NEXT: net.assign @w, %[[NEW]] : tensor<4xf32>
// CHECK-NEXT: return %[[SUM]], %[[NEW]]

// The others are alike: one program.
// CHECK-LABEL: func.func @step_zero2
// CHECK-SAME: attributes {dist.on = {zero = array<i64: 2, 3>}}
// CHECK-NOT: net.read
// CHECK: dist.collective c_broadcast() roots [0] elsewhere [0]
// CHECK: dist.collective c_broadcast() roots [1] elsewhere [0]
// CHECK-NOT: c_allreduce
// CHECK: dist.absent
// CHECK-NOT: func.func
func.func @step() -> (tensor<4xf32> {dist.mapping = #r}, tensor<4xf32> {dist.mapping = #second}) {
  %v = net.read @v {dist.on = {zero = array<i64: 0>}} : tensor<4xf32>
  %w = net.read @w {dist.on = {zero = array<i64: 1>}} : tensor<4xf32>
  %0 = dist.collective c_broadcast(%v) roots [0] axes ["zero"] : (tensor<4xf32>) -> tensor<4xf32>
  %1 = dist.collective c_broadcast(%w) roots [1] axes ["zero"] : (tensor<4xf32>) -> tensor<4xf32>
  %2 = net.add %0, %1 : tensor<4xf32>
  %3 = dist.collective c_reduce sum(%2) roots [1] axes ["zero"] : (tensor<4xf32>) -> tensor<4xf32>
  %4 = dist.collective c_allreduce sum(%3) axes ["dp"] {dist.on = {zero = array<i64: 1>}} : (tensor<4xf32>) -> tensor<4xf32>
  %5 = net.subtract %w, %4 {dist.on = {zero = array<i64: 1>}} : tensor<4xf32>
  net.assign @w, %5 {dist.on = {zero = array<i64: 1>}} : tensor<4xf32>
  return %2, %5 : tensor<4xf32>, tensor<4xf32>
}

// -----

dist.mesh @mesh <["zero" = 2]>

// Started parts whose root is elsewhere are not waited for, but for what is all of a launch; of two values a rank takes the one that it has, and what
// only others use it does not compute.
// CHECK-LABEL: func.func @parts_zero0
// CHECK-NEXT: %[[A:.*]] = net.tanh %arg0
// CHECK-NEXT: %[[FLIGHT:.*]] = dist.collective c_reduce sum(%[[A]], %arg0) roots [0, 1] elsewhere [1] axes ["zero"] {dist.tag = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> !dist.handle<tensor<4xf32>>
// CHECK-NEXT: %[[SUM:.*]] = dist.wait %[[FLIGHT]] : (!dist.handle<tensor<4xf32>>) -> tensor<4xf32>
// CHECK-NEXT: %[[TOKEN:.*]] = dist.collective c_reduce sum(%[[A]]) roots [1] elsewhere [0] axes ["zero"] {dist.tag = 1 : i64} : (tensor<4xf32>) -> !dist.handle<tensor<0xf32>>
// CHECK-NEXT: dist.wait %[[TOKEN]]
// CHECK-NEXT: return %[[SUM]]
// CHECK-LABEL: func.func @parts_zero1
// CHECK-NEXT: %[[A:.*]] = net.tanh %arg0
// CHECK-NEXT: %[[B:.*]] = net.sine %arg0
// CHECK-NEXT: dist.collective c_reduce sum(%[[A]], %arg0) roots [0, 1] elsewhere [0]
// CHECK-NEXT: dist.wait
// CHECK-NEXT: dist.collective c_reduce sum(%[[A]]) roots [1] axes ["zero"] {dist.tag = 1 : i64} :
// CHECK-NEXT: dist.wait
// CHECK-NEXT: return %[[B]]
func.func @parts(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = net.tanh %x : tensor<4xf32>
  %1 = net.sine %x : tensor<4xf32>
  %2:2 = dist.collective c_reduce sum(%0, %x) roots [0, 1] axes ["zero"] : (tensor<4xf32>, tensor<4xf32>) -> (!dist.handle<tensor<4xf32>>, !dist.handle<tensor<4xf32>>)
  %3:2 = dist.wait %2#0, %2#1 : (!dist.handle<tensor<4xf32>>, !dist.handle<tensor<4xf32>>) -> (tensor<4xf32>, tensor<4xf32>)
  %5 = dist.collective c_reduce sum(%0) roots [1] axes ["zero"] : (tensor<4xf32>) -> !dist.handle<tensor<4xf32>>
  %6 = dist.wait %5 : (!dist.handle<tensor<4xf32>>) -> tensor<4xf32>
  %4 = dist.either %3#0 on {zero = array<i64: 0>} else %1 : tensor<4xf32>
  return %4 : tensor<4xf32>
}

// -----

dist.mesh @mesh <["zero" = 2]>

// If all ranks run everything there is one program.
// CHECK-LABEL: func.func @one(
// CHECK-NOT: dist.on
func.func @one(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = dist.collective c_allreduce sum(%x) axes ["zero"] : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Tests the programs of the first, the last, and the other steps of an accumulation, for either owner. Those of different times have what others
// return then absent, and number collectives alike.

#r = #dist.mapping<dims = [[]]>
#first = #dist.mapping<dims = [[]], on {"zero" = [0]}>
dist.mesh @mesh <["zero" = 2, steps "accumulation" = 4]>
net.variable parameter @w : tensor<4xf32> {dist.mapping = #first}
net.variable accumulator @a : tensor<4xf32> {dist.mapping = #r}

// CHECK-LABEL: func.func @merge_accumulation0_zero0
// CHECK-SAME: attributes {dist.on = {accumulation = array<i64: 0>, zero = array<i64: 0>}}
// CHECK-NEXT: %[[G:.*]] = net.negate
// CHECK-NEXT: net.assign @a, %[[G]] : tensor<4xf32>
// CHECK-NEXT: %[[ABSENT:.*]] = dist.absent
// CHECK-NEXT: return %[[G]], %[[ABSENT]]

// CHECK-LABEL: func.func @merge_accumulation1_zero0
// CHECK-SAME: attributes {dist.on = {accumulation = array<i64: 1, 2>, zero = array<i64: 0>}}
// CHECK-NEXT: %[[A:.*]] = net.read @a
// CHECK-NEXT: %[[G:.*]] = net.negate
// CHECK-NEXT: %[[SUM:.*]] = net.add %[[A]], %[[G]]
// CHECK-NEXT: net.assign @a, %[[SUM]]
// CHECK-NEXT: dist.absent
// CHECK-NEXT: return

// CHECK-LABEL: func.func @merge_accumulation3_zero0
// CHECK-SAME: attributes {dist.on = {accumulation = array<i64: 3>, zero = array<i64: 0>}}
// CHECK: %[[SUM:.*]] = net.add
// CHECK-NEXT: %[[ALL:.*]] = dist.collective c_reduce sum(%[[SUM]]) roots [0] axes ["zero"] {dist.tag = 0 : i64}
// CHECK-NEXT: net.assign @w, %[[ALL]]
// CHECK-NEXT: return %{{.*}}, %[[SUM]]

// CHECK-LABEL: func.func @merge_accumulation0_zero1
// CHECK-NOT: dist.collective
// CHECK-LABEL: func.func @merge_accumulation1_zero1
// CHECK-NOT: dist.collective
// CHECK-LABEL: func.func @merge_accumulation3_zero1
// CHECK: dist.collective c_reduce sum(%{{.*}}) roots [0] elsewhere [0] axes ["zero"] {dist.tag = 0 : i64}
// CHECK-NOT: net.assign
func.func @merge(%x: tensor<4xf32>) -> (tensor<4xf32> {dist.mapping = #r}, tensor<4xf32> {dist.during = {accumulation = array<i64: 3>}, dist.mapping = #r}) {
  %a = net.read @a : tensor<4xf32>
  %g = net.negate %x : tensor<4xf32>
  %s = net.add %a, %g {dist.on = {accumulation = array<i64: 1, 2, 3>}} : tensor<4xf32>
  %m = dist.either %g on {accumulation = array<i64: 0>} else %s : tensor<4xf32>
  %all = dist.collective c_reduce sum(%m) roots [0] axes ["zero"] {dist.on = {accumulation = array<i64: 3>}} : (tensor<4xf32>) -> tensor<4xf32>
  net.assign @a, %m {dist.on = {accumulation = array<i64: 0, 1, 2>}} : tensor<4xf32>
  net.assign @w, %all {dist.on = {accumulation = array<i64: 3>, zero = array<i64: 0>}} : tensor<4xf32>
  return %g, %m : tensor<4xf32>, tensor<4xf32>
}

// -----

// Tests that the sender has no result, the receiver no operand, and that no other rank takes part.

#first = #dist.mapping<dims = [[]], on {"pp" = [0]}>
#last = #dist.mapping<dims = [[]], on {"pp" = [2]}>
dist.mesh @mesh <["pp" = 4]>
net.variable parameter @w : tensor<4xf32> {dist.mapping = #first}

// CHECK-LABEL: func.func @sends_pp0
// CHECK: %[[W:.*]] = net.read @w
// CHECK-NEXT: dist.collective c_send(%[[W]]) roots [0] to 2 axes ["pp"] {dist.tag = 0 : i64} : (tensor<4xf32>) -> ()
// CHECK-NEXT: %[[TOKEN:.*]] = dist.collective c_send(%[[W]]) roots [0] to 2 axes ["pp"] {dist.tag = 1 : i64} : (tensor<4xf32>) -> !dist.handle<tensor<0xf32>>
// CHECK-NEXT: dist.wait %[[TOKEN]]

// CHECK-LABEL: func.func @sends_pp2
// CHECK-NEXT: %[[NOW:.*]] = dist.collective c_send() roots [0] to 2 axes ["pp"] {dist.tag = 0 : i64} : () -> tensor<4xf32>
// CHECK-NEXT: %[[LATER:.*]] = dist.collective c_send() roots [0] to 2 axes ["pp"] {dist.tag = 1 : i64} : () -> !dist.handle<tensor<4xf32>>
// CHECK-NEXT: %[[GOT:.*]] = dist.wait %[[LATER]]
// CHECK-NEXT: net.add %[[NOW]], %[[GOT]]

// CHECK-LABEL: func.func @sends_pp1
// CHECK-SAME: dist.on = {pp = array<i64: 1, 3>}
// CHECK-NOT: collective
// CHECK: dist.absent
func.func @sends() -> (tensor<4xf32> {dist.mapping = #last}) {
  %w = net.read @w {dist.on = {pp = array<i64: 0>}} : tensor<4xf32>
  %0 = dist.collective c_send(%w) roots [0] to 2 axes ["pp"] {dist.on = {pp = array<i64: 0, 2>}} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = dist.collective c_send(%w) roots [0] to 2 axes ["pp"] {dist.on = {pp = array<i64: 0, 2>}} : (tensor<4xf32>) -> !dist.handle<tensor<4xf32>>
  %2 = dist.wait %1 : (!dist.handle<tensor<4xf32>>) -> tensor<4xf32>
  %3 = net.add %0, %2 {dist.on = {pp = array<i64: 2>}} : tensor<4xf32>
  return %3 : tensor<4xf32>
}
