// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: split-file %s %t
// RUN: dist-opt %t/model.mlir --dist-annotate-placements="strategy=%t/two.textproto ranks=2" | FileCheck %s
// RUN: dist-opt %t/model.mlir --dist-annotate-placements="strategy=%t/two.textproto ranks=1" | FileCheck %s --check-prefix=ALONE

// Tests that blocks are cut into stages, and that what lies between two of them goes where least is sent: the sum that is
// used twice is made before it is sent, the wider type after, the sum of cotangents before, and the copy of the tied
// weight in the narrower type. Backward has the stages of forward; inputs, constants and the update have none.

// CHECK: dist.mesh @mesh <["pp" = 2, slices "micro" = 4]> {dist.stage_axis = "pp", dist.task_order = "0F0,0F1,0B0,0F2,0B1,0F3,0B2,0B3\0A1F0,1B0,1F1,1B1,1F2,1B2,1F3,1B3\0A"}
// CHECK: @p.table : tensor<6x4xf32> {dist.mapping = #dist.mapping<dims = {{\[\[}}], []], on {"pp" = [0]}>}
// CHECK: @p.w0 : tensor<4x4xf16> {dist.mapping = #dist.mapping<dims = {{\[\[}}], []], on {"pp" = [0]}>}
// CHECK: @p.w1 : tensor<4x4xf16> {dist.mapping = #dist.mapping<dims = {{\[\[}}], []], on {"pp" = [1]}>}
// CHECK: counter @step : tensor<i32>{{$}}
// CHECK: @"adamw.m/p.w1" : tensor<4x4xf16> like @p.w1 {dist.mapping = #dist.mapping<dims = {{\[\[}}], []], on {"pp" = [1]}>}
// CHECK: %[[TABLE:.*]] = net.read @p.table {dist.stage = 0 : i64}
// CHECK: %[[NARROW:.*]] = net.convert %[[TABLE]] {dist.stage = 0 : i64}
// CHECK: net.read @p.w0 {dist.stage = 0 : i64}
// CHECK: net.read @p.w1 {dist.stage = 1 : i64}
// CHECK: net.read @step :
// CHECK: net.convert %arg0 {net.role = #net.role<forward>}
// CHECK: %[[EMBEDDED:.*]] = net.dot {{.*}}dist.stage = 0
// CHECK: %[[PRODUCT:.*]] = net.dot %[[EMBEDDED]], {{.*}}dist.stage = 0
// CHECK: %[[SENT:.*]] = net.add %[[PRODUCT]], %[[EMBEDDED]] {dist.stage = 0
// CHECK: net.convert %[[SENT]] {dist.stage = 1
// CHECK: net.multiply {{.*}}dist.stage = 1
// CHECK: net.convert {{.*}}dist.stage = 1
// CHECK: net.dot {{.*}}dist.stage = 1
// CHECK: net.add {{.*}}, %[[SENT]] {dist.stage = 1
// CHECK: %[[LOGITS:.*]] = net.dot {{.*}}, %[[NARROW]] {{.*}}dist.stage = 1
// CHECK: net.reduce sum {{.*}}dist.stage = 1
// CHECK: net.constant {net.role = #net.role<backward>}
// CHECK: net.dot {{.*}}dist.stage = 1
// CHECK: %[[CONTRIBUTION:.*]] = net.dot {{.*}}dist.stage = 1
// CHECK: net.convert %[[CONTRIBUTION]] {dist.stage = 1
// CHECK: %[[COTANGENT:.*]] = net.add {{.*}} {dist.stage = 1
// CHECK: net.dot %[[COTANGENT]], {{.*}}dist.stage = 0
// CHECK: net.dot %{{.*}}, %[[COTANGENT]] {{.*}}dist.stage = 0
// CHECK: net.add {{.*}}, %[[COTANGENT]] {dist.stage = 0
// CHECK: net.dot {{.*}}dist.stage = 0
// CHECK: net.convert {{.*}}dist.stage = 0
// CHECK: net.add {{.*}} {dist.stage = 0
// CHECK-NOT: dist.stage

// Tests that an axis of size 1 is no pipeline: the micro-batches are slices of the batch.
// ALONE: dist.mesh @mesh <["pp" = 1, slices "micro" = 4]>{{$}}
// ALONE-NOT: dist.stage

//--- two.textproto
mesh { axes { name: "pp" size: 0 } }
model { batch { inputs: "x" } }
train { sgd {} }
pipeline { axis: "pp" micro_batches: 4 }

//--- model.mlir
net.variable parameter @p.table : tensor<6x4xf32>
net.variable parameter @p.w0 : tensor<4x4xf16>
net.variable parameter @p.w1 : tensor<4x4xf16>
net.variable counter @step : tensor<i32>
net.variable optimizer_state @"adamw.m/p.w1" : tensor<4x4xf16> like @p.w1
func.func @step_once(%x: tensor<8x6xf32> {net.name = "x"}) -> tensor<f16> {
  %table = net.read @p.table : tensor<6x4xf32>
  %narrow = net.convert %table : tensor<6x4xf32> -> tensor<6x4xf16>
  %w0 = net.read @p.w0 : tensor<4x4xf16>
  %w1 = net.read @p.w1 : tensor<4x4xf16>
  %count = net.read @step : tensor<i32>
  %ids = net.convert %x {net.role = #net.role<forward>} : tensor<8x6xf32> -> tensor<8x6xf16>
  %in = net.dot %ids, %narrow batch = [] x [] contract = [1] x [0] {net.role = #net.role<forward>} : tensor<8x6xf16>, tensor<6x4xf16> -> tensor<8x4xf16>
  %a = net.dot %in, %w0 batch = [] x [] contract = [1] x [0] {net.role = #net.role<forward>, net.scope = "layer0"} : tensor<8x4xf16>, tensor<4x4xf16> -> tensor<8x4xf16>
  %h0 = net.add %a, %in {net.role = #net.role<forward>, net.scope = "layer0"} : tensor<8x4xf16>
  %wide = net.convert %h0 {net.role = #net.role<forward>, net.scope = "layer0"} : tensor<8x4xf16> -> tensor<8x4xf32>
  %square = net.multiply %wide, %wide {net.role = #net.role<forward>, net.scope = "layer1"} : tensor<8x4xf32>
  %small = net.convert %square {net.role = #net.role<forward>, net.scope = "layer1"} : tensor<8x4xf32> -> tensor<8x4xf16>
  %b = net.dot %small, %w1 batch = [] x [] contract = [1] x [0] {net.role = #net.role<forward>, net.scope = "layer1"} : tensor<8x4xf16>, tensor<4x4xf16> -> tensor<8x4xf16>
  %h1 = net.add %b, %h0 {net.role = #net.role<forward>, net.scope = "layer1"} : tensor<8x4xf16>
  %logits = net.dot %h1, %narrow batch = [] x [] contract = [1] x [1] {net.role = #net.role<forward>} : tensor<8x4xf16>, tensor<6x4xf16> -> tensor<8x6xf16>
  %loss = net.reduce sum %logits dims = [0, 1] {net.role = #net.role<forward>} : tensor<8x6xf16> -> tensor<f16>
  %seed = net.constant {net.role = #net.role<backward>} dense<1.0> : tensor<8x6xf16>
  %dh1 = net.dot %seed, %narrow batch = [] x [] contract = [1] x [0] {net.role = #net.role<backward>} : tensor<8x6xf16>, tensor<6x4xf16> -> tensor<8x4xf16>
  %dlate = net.dot %seed, %h1 batch = [] x [] contract = [0] x [0] {net.role = #net.role<backward>} : tensor<8x6xf16>, tensor<8x4xf16> -> tensor<6x4xf16>
  %dlateWide = net.convert %dlate {net.role = #net.role<backward>} : tensor<6x4xf16> -> tensor<6x4xf32>
  %dsmall = net.dot %dh1, %w1 batch = [] x [] contract = [1] x [1] {net.role = #net.role<backward>, net.scope = "layer1"} : tensor<8x4xf16>, tensor<4x4xf16> -> tensor<8x4xf16>
  %dw1 = net.dot %small, %dh1 batch = [] x [] contract = [0] x [0] {net.role = #net.role<backward>, net.scope = "layer1"} : tensor<8x4xf16>, tensor<8x4xf16> -> tensor<4x4xf16>
  %dh0 = net.add %dsmall, %dh1 {net.role = #net.role<backward>, net.scope = "layer0"} : tensor<8x4xf16>
  %din = net.dot %dh0, %w0 batch = [] x [] contract = [1] x [1] {net.role = #net.role<backward>, net.scope = "layer0"} : tensor<8x4xf16>, tensor<4x4xf16> -> tensor<8x4xf16>
  %dw0 = net.dot %in, %dh0 batch = [] x [] contract = [0] x [0] {net.role = #net.role<backward>, net.scope = "layer0"} : tensor<8x4xf16>, tensor<8x4xf16> -> tensor<4x4xf16>
  %dsum = net.add %din, %dh0 {net.role = #net.role<backward>} : tensor<8x4xf16>
  %dearly = net.dot %ids, %dsum batch = [] x [] contract = [0] x [0] {net.role = #net.role<backward>} : tensor<8x6xf16>, tensor<8x4xf16> -> tensor<6x4xf16>
  %dearlyWide = net.convert %dearly {net.role = #net.role<backward>} : tensor<6x4xf16> -> tensor<6x4xf32>
  %dtable = net.add %dlateWide, %dearlyWide {net.role = #net.role<backward>} : tensor<6x4xf32>
  %new = net.subtract %table, %dtable {net.role = #net.role<optimize>} : tensor<6x4xf32>
  %new0 = net.subtract %w0, %dw0 {net.role = #net.role<optimize>} : tensor<4x4xf16>
  %new1 = net.subtract %w1, %dw1 {net.role = #net.role<optimize>} : tensor<4x4xf16>
  net.assign @p.table, %new : tensor<6x4xf32>
  net.assign @p.w0, %new0 : tensor<4x4xf16>
  net.assign @p.w1, %new1 : tensor<4x4xf16>
  return %loss : tensor<f16>
}
