// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s | dist-opt - | FileCheck %s
// RUN: dist-opt %s --mlir-print-op-generic | dist-opt - | FileCheck %s

// Tests that every operation of the dialect prints as it is written.

// CHECK: net.variable parameter @p.w : tensor<4x8xf32> = <normal, {{.*}}> {dist.mapping = #dist.mapping<dims = {{\[}}[], []]>}
net.variable parameter @p.w : tensor<4x8xf32> = <normal, 0.0, 0.02> {dist.mapping = #dist.mapping<dims = [[], []]>}
// CHECK: net.variable optimizer_state @"adamw.m/p.w" : tensor<4x8xf32> = <constant, {{.*}}> like @p.w
net.variable optimizer_state @"adamw.m/p.w" : tensor<4x8xf32> = <constant, 0.0, 0.0> like @p.w
// CHECK: net.variable counter @step : tensor<i32>
net.variable counter @step : tensor<i32>
// CHECK: net.variable buffer @mean : tensor<8xf32> = <uniform
net.variable buffer @mean : tensor<8xf32> = <uniform, -1.0, 1.0>
// CHECK: net.variable accumulator @acc : tensor<8xf32> = <truncated_normal
net.variable accumulator @acc : tensor<8xf32> = <truncated_normal, 0.0, 1.0>

// CHECK-LABEL: @state
func.func @state() {
  // CHECK: %[[W:.*]] = net.read @p.w : tensor<4x8xf32>
  %0 = net.read @p.w : tensor<4x8xf32>
  // CHECK: net.assign @p.w, %[[W]] : tensor<4x8xf32>
  net.assign @p.w, %0 : tensor<4x8xf32>
  return
}

// CHECK-LABEL: @attributes
// CHECK-SAME: net.name = "x"
func.func @attributes(%arg0: tensor<4xf32> {net.name = "x"}) -> (tensor<4xf32> {net.name = "y"}) {
  // CHECK: net.abs %{{.*}} {net.name = "grad/p.w", net.role = #net.role<backward>, net.scope = "h.3.attn"}
  %0 = net.abs %arg0 {net.name = "grad/p.w", net.role = #net.role<backward>, net.scope = "h.3.attn"} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @unary
func.func @unary(%x: tensor<4xf32>, %i: tensor<4xi32>) {
  // CHECK: net.abs %{{.*}} : tensor<4xf32>
  %0 = net.abs %x : tensor<4xf32>
  // CHECK: net.cbrt %{{.*}} : tensor<4xf32>
  %1 = net.cbrt %x : tensor<4xf32>
  // CHECK: net.ceil %{{.*}} : tensor<4xf32>
  %2 = net.ceil %x : tensor<4xf32>
  // CHECK: net.cosine %{{.*}} : tensor<4xf32>
  %3 = net.cosine %x : tensor<4xf32>
  // CHECK: net.erf %{{.*}} : tensor<4xf32>
  %4 = net.erf %x : tensor<4xf32>
  // CHECK: net.erfc %{{.*}} : tensor<4xf32>
  %5 = net.erfc %x : tensor<4xf32>
  // CHECK: net.exponential %{{.*}} : tensor<4xf32>
  %6 = net.exponential %x : tensor<4xf32>
  // CHECK: net.exponential_minus_one %{{.*}} : tensor<4xf32>
  %7 = net.exponential_minus_one %x : tensor<4xf32>
  // CHECK: net.floor %{{.*}} : tensor<4xf32>
  %8 = net.floor %x : tensor<4xf32>
  // CHECK: net.log %{{.*}} : tensor<4xf32>
  %9 = net.log %x : tensor<4xf32>
  // CHECK: net.log_plus_one %{{.*}} : tensor<4xf32>
  %10 = net.log_plus_one %x : tensor<4xf32>
  // CHECK: net.logistic %{{.*}} : tensor<4xf32>
  %11 = net.logistic %x : tensor<4xf32>
  // CHECK: net.negate %{{.*}} : tensor<4xf32>
  %12 = net.negate %x : tensor<4xf32>
  // CHECK: net.not %{{.*}} : tensor<4xi32>
  %13 = net.not %i : tensor<4xi32>
  // CHECK: net.round_nearest_even %{{.*}} : tensor<4xf32>
  %14 = net.round_nearest_even %x : tensor<4xf32>
  // CHECK: net.rsqrt %{{.*}} : tensor<4xf32>
  %15 = net.rsqrt %x : tensor<4xf32>
  // CHECK: net.sign %{{.*}} : tensor<4xf32>
  %16 = net.sign %x : tensor<4xf32>
  // CHECK: net.sine %{{.*}} : tensor<4xf32>
  %17 = net.sine %x : tensor<4xf32>
  // CHECK: net.sqrt %{{.*}} : tensor<4xf32>
  %18 = net.sqrt %x : tensor<4xf32>
  // CHECK: net.tan %{{.*}} : tensor<4xf32>
  %19 = net.tan %x : tensor<4xf32>
  // CHECK: net.tanh %{{.*}} : tensor<4xf32>
  %20 = net.tanh %x : tensor<4xf32>
  return
}

// CHECK-LABEL: @binary
func.func @binary(%x: tensor<4xf32>, %i: tensor<4xi32>) {
  // CHECK: net.add %{{.*}}, %{{.*}} : tensor<4xf32>
  %0 = net.add %x, %x : tensor<4xf32>
  // CHECK: net.and %{{.*}}, %{{.*}} : tensor<4xi32>
  %1 = net.and %i, %i : tensor<4xi32>
  // CHECK: net.atan2 %{{.*}}, %{{.*}} : tensor<4xf32>
  %2 = net.atan2 %x, %x : tensor<4xf32>
  // CHECK: net.divide %{{.*}}, %{{.*}} : tensor<4xf32>
  %3 = net.divide %x, %x : tensor<4xf32>
  // CHECK: net.maximum %{{.*}}, %{{.*}} : tensor<4xf32>
  %4 = net.maximum %x, %x : tensor<4xf32>
  // CHECK: net.minimum %{{.*}}, %{{.*}} : tensor<4xf32>
  %5 = net.minimum %x, %x : tensor<4xf32>
  // CHECK: net.multiply %{{.*}}, %{{.*}} : tensor<4xf32>
  %6 = net.multiply %x, %x : tensor<4xf32>
  // CHECK: net.or %{{.*}}, %{{.*}} : tensor<4xi32>
  %7 = net.or %i, %i : tensor<4xi32>
  // CHECK: net.power %{{.*}}, %{{.*}} : tensor<4xf32>
  %8 = net.power %x, %x : tensor<4xf32>
  // CHECK: net.remainder %{{.*}}, %{{.*}} : tensor<4xf32>
  %9 = net.remainder %x, %x : tensor<4xf32>
  // CHECK: net.shift_left %{{.*}}, %{{.*}} : tensor<4xi32>
  %10 = net.shift_left %i, %i : tensor<4xi32>
  // CHECK: net.shift_right_arithmetic %{{.*}}, %{{.*}} : tensor<4xi32>
  %11 = net.shift_right_arithmetic %i, %i : tensor<4xi32>
  // CHECK: net.shift_right_logical %{{.*}}, %{{.*}} : tensor<4xi32>
  %12 = net.shift_right_logical %i, %i : tensor<4xi32>
  // CHECK: net.subtract %{{.*}}, %{{.*}} : tensor<4xf32>
  %13 = net.subtract %x, %x : tensor<4xf32>
  // CHECK: net.xor %{{.*}}, %{{.*}} : tensor<4xi32>
  %14 = net.xor %i, %i : tensor<4xi32>
  return
}

// CHECK-LABEL: @elementwise_of_mixed_types
func.func @elementwise_of_mixed_types(%x: tensor<4xf32>) {
  // CHECK: %[[P:.*]] = net.compare lt, %{{.*}}, %{{.*}} : tensor<4xf32> -> tensor<4xi1>
  %0 = net.compare lt, %x, %x : tensor<4xf32> -> tensor<4xi1>
  // CHECK: net.compare eq, %{{.*}}, %{{.*}} total_order : tensor<4xf32> -> tensor<4xi1>
  %1 = net.compare eq, %x, %x total_order : tensor<4xf32> -> tensor<4xi1>
  // CHECK: net.select %[[P]], %{{.*}}, %{{.*}} : tensor<4xi1>, tensor<4xf32>
  %2 = net.select %0, %x, %x : tensor<4xi1>, tensor<4xf32>
  // CHECK: net.convert %{{.*}} : tensor<4xf32> -> tensor<4xbf16>
  %3 = net.convert %x : tensor<4xf32> -> tensor<4xbf16>
  // CHECK: net.is_finite %{{.*}} : tensor<4xf32> -> tensor<4xi1>
  %4 = net.is_finite %x : tensor<4xf32> -> tensor<4xi1>
  // CHECK: net.reduce_precision %{{.*}} exponent = 5 mantissa = 10 : tensor<4xf32>
  %6 = net.reduce_precision %x exponent = 5 mantissa = 10 : tensor<4xf32>
  // CHECK: net.bitcast_convert %{{.*}} : tensor<4xf32> -> tensor<4xui32>
  %5 = net.bitcast_convert %x : tensor<4xf32> -> tensor<4xui32>
  return
}

// CHECK-LABEL: @constants
func.func @constants() {
  // CHECK: net.constant dense<1.000000e+00> : tensor<4xf32>
  %0 = net.constant dense<1.0> : tensor<4xf32>
  // CHECK: net.iota dim = 1 : tensor<2x4xi32>
  %1 = net.iota dim = 1 : tensor<2x4xi32>
  return
}

// CHECK-LABEL: @layout
func.func @layout(%x: tensor<4x8xf32>, %s: tensor<f32>) {
  // CHECK: net.broadcast %{{.*}} dims = [2, 0] : tensor<4x8xf32> -> tensor<8x2x4xf32>
  %0 = net.broadcast %x dims = [2, 0] : tensor<4x8xf32> -> tensor<8x2x4xf32>
  // CHECK: net.broadcast %{{.*}} dims = [] : tensor<f32> -> tensor<3xf32>
  %1 = net.broadcast %s dims = [] : tensor<f32> -> tensor<3xf32>
  // CHECK: net.reshape %{{.*}} : tensor<4x8xf32> -> tensor<2x16xf32>
  %2 = net.reshape %x : tensor<4x8xf32> -> tensor<2x16xf32>
  // CHECK: net.transpose %{{.*}} dims = [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %3 = net.transpose %x dims = [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  // CHECK: net.slice %{{.*}} starts = [0, 2] limits = [4, 7] steps = [1, 2] : tensor<4x8xf32> -> tensor<4x3xf32>
  %4 = net.slice %x starts = [0, 2] limits = [4, 7] steps = [1, 2] : tensor<4x8xf32> -> tensor<4x3xf32>
  // CHECK: net.slice %{{.*}} : tensor<4x8xf32> -> tensor<0x8xf32>
  %5 = net.slice %x starts = [2, 0] limits = [2, 8] steps = [1, 1] : tensor<4x8xf32> -> tensor<0x8xf32>
  // CHECK: net.pad %{{.*}}, %{{.*}} low = [-1, 0] high = [2, 0] interior = [0, 1] : tensor<4x8xf32>, tensor<f32> -> tensor<5x15xf32>
  %6 = net.pad %x, %s low = [-1, 0] high = [2, 0] interior = [0, 1] : tensor<4x8xf32>, tensor<f32> -> tensor<5x15xf32>
  // CHECK: net.concatenate %{{.*}}, %{{.*}} dim = 1 : tensor<4x8xf32>, tensor<4x3xf32> -> tensor<4x11xf32>
  %7 = net.concatenate %x, %4 dim = 1 : tensor<4x8xf32>, tensor<4x3xf32> -> tensor<4x11xf32>
  return
}

// CHECK-LABEL: @dynamic
func.func @dynamic(%x: tensor<4x8xf32>, %row: tensor<1x8xf32>, %i: tensor<i32>, %s: tensor<f32>) {
  // CHECK: net.dynamic_slice %{{.*}}[%[[I:.*]], %[[I]]] : tensor<4x8xf32>, tensor<i32>, tensor<i32> -> tensor<1x8xf32>
  %0 = net.dynamic_slice %x[%i, %i] : tensor<4x8xf32>, tensor<i32>, tensor<i32> -> tensor<1x8xf32>
  // CHECK: net.dynamic_slice %{{.*}}[] : tensor<f32> -> tensor<f32>
  %1 = net.dynamic_slice %s[] : tensor<f32> -> tensor<f32>
  // CHECK: net.dynamic_update_slice %{{.*}}, %{{.*}}[%[[I]], %[[I]]] : tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>
  %2 = net.dynamic_update_slice %x, %row[%i, %i] : tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>
  return
}

// CHECK-LABEL: @order
func.func @order(%x: tensor<4x8xf32>, %n: tensor<4x8xui8>) {
  // CHECK: net.reverse %{{.*}} dims = [1] : tensor<4x8xf32>
  %0 = net.reverse %x dims = [1] : tensor<4x8xf32>
  // CHECK: net.arg_sort %{{.*}}, %{{.*}} dim = 1 descending total_order : tensor<4x8xui8>, tensor<4x8xf32> -> tensor<4x8xi32>
  %1 = net.arg_sort %n, %x dim = 1 descending total_order : tensor<4x8xui8>, tensor<4x8xf32> -> tensor<4x8xi32>
  return
}

// CHECK-LABEL: @matrices
func.func @matrices(%a: tensor<2x4x4xf32>, %b: tensor<2x4x3xf32>) {
  // CHECK: net.cholesky %{{.*}} : tensor<2x4x4xf32>
  %0 = net.cholesky %a : tensor<2x4x4xf32>
  // CHECK: net.triangular_solve %{{.*}}, %{{.*}} : tensor<2x4x4xf32>, tensor<2x4x3xf32>
  %1 = net.triangular_solve %a, %b : tensor<2x4x4xf32>, tensor<2x4x3xf32>
  return
}

// CHECK-LABEL: @contraction
func.func @contraction(%a: tensor<5x2x3xf32>, %b: tensor<3x4x5xbf16>) {
  // CHECK: net.dot %{{.*}}, %{{.*}} batch = [0] x [2] contract = [2] x [0] : tensor<5x2x3xf32>, tensor<3x4x5xbf16> -> tensor<5x2x4xf32>
  %0 = net.dot %a, %b batch = [0] x [2] contract = [2] x [0] : tensor<5x2x3xf32>, tensor<3x4x5xbf16> -> tensor<5x2x4xf32>
  return
}

// CHECK-LABEL: @reduction
func.func @reduction(%x: tensor<4x8xf32>, %p: tensor<4x8xi1>) {
  // CHECK: net.reduce sum %{{.*}} dims = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  %0 = net.reduce sum %x dims = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  // CHECK: net.reduce and %{{.*}} dims = [] : tensor<4x8xi1> -> tensor<4x8xi1>
  %1 = net.reduce and %p dims = [] : tensor<4x8xi1> -> tensor<4x8xi1>
  // CHECK: net.arg_reduce min %{{.*}} dim = 1 : tensor<4x8xf32> -> tensor<4xf32>, tensor<4xi32>
  %2, %3 = net.arg_reduce min %x dim = 1 : tensor<4x8xf32> -> tensor<4xf32>, tensor<4xi32>
  return
}

// CHECK-LABEL: @indexing
func.func @indexing(%table: tensor<100x64xf32>, %ids: tensor<8x16x1xi32>, %updates: tensor<8x16x64xf32>) {
  // CHECK: net.gather %{{.*}}, %{{.*}} <offsetDims = [2], collapsedDims = [0], startIndexMap = [0], indexVectorDim = 2> sizes = [1, 64]
  %0 = net.gather %table, %ids <offsetDims = [2], collapsedDims = [0], startIndexMap = [0], indexVectorDim = 2> sizes = [1, 64]
     : tensor<100x64xf32>, tensor<8x16x1xi32> -> tensor<8x16x64xf32>
  // CHECK: net.scatter add %{{.*}}, %{{.*}}, %{{.*}} <updateWindowDims = [2], insertedDims = [0], scatterDimsToOperandDims = [0], indexVectorDim = 2>
  %1 = net.scatter add %table, %ids, %updates <updateWindowDims = [2], insertedDims = [0], scatterDimsToOperandDims = [0], indexVectorDim = 2>
     : tensor<100x64xf32>, tensor<8x16x1xi32>, tensor<8x16x64xf32> -> tensor<100x64xf32>
  return
}

// Tests batching dimensions, which pair a dimension of the operand with one of the indices.
// CHECK-LABEL: @indexing_in_batches
func.func @indexing_in_batches(%x: tensor<8x10xf32>, %ids: tensor<8x3x1xi32>, %updates: tensor<8x3xf32>) {
  // CHECK: net.gather %{{.*}}, %{{.*}} <collapsedDims = [1], operandBatchingDims = [0], indicesBatchingDims = [0], startIndexMap = [1], indexVectorDim = 2> sizes = [1, 1]
  %0 = net.gather %x, %ids <collapsedDims = [1], operandBatchingDims = [0], indicesBatchingDims = [0], startIndexMap = [1], indexVectorDim = 2> sizes = [1, 1]
     : tensor<8x10xf32>, tensor<8x3x1xi32> -> tensor<8x3xf32>
  // CHECK: net.scatter assign %{{.*}}, %{{.*}}, %{{.*}} <insertedDims = [1], operandBatchingDims = [0], indicesBatchingDims = [0], scatterDimsToOperandDims = [1], indexVectorDim = 2>
  %1 = net.scatter assign %x, %ids, %updates <insertedDims = [1], operandBatchingDims = [0], indicesBatchingDims = [0], scatterDimsToOperandDims = [1], indexVectorDim = 2>
     : tensor<8x10xf32>, tensor<8x3x1xi32>, tensor<8x3xf32> -> tensor<8x10xf32>
  return
}

// CHECK-LABEL: @loops
func.func @loops(%x: tensor<4xf32>, %w: tensor<3x4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>, tensor<4xf32>) {
  // CHECK: %[[I:.*]] = net.loop count = 3 reverse
  %i = net.loop count = 3 reverse
  // CHECK: %[[C:.*]] = net.carry %{{.*}} in %[[I]] : tensor<4xf32>
  %c = net.carry %x in %i : tensor<4xf32>
  // CHECK: net.take %{{.*}} in %[[I]] : tensor<3x4xf32> -> tensor<4xf32>
  %t = net.take %w in %i : tensor<3x4xf32> -> tensor<4xf32>
  // CHECK: net.next %{{.*}} for %[[C]] : tensor<4xf32>
  %y = net.next %t for %c : tensor<4xf32>
  // CHECK: net.stack %{{.*}} in %[[I]] : tensor<4xf32> -> tensor<3x4xf32>
  %s = net.stack %c in %i : tensor<4xf32> -> tensor<3x4xf32>
  // CHECK: net.total %{{.*}} in %[[I]] : tensor<4xf32>
  %a = net.total %t in %i : tensor<4xf32>
  // CHECK: net.end_loop %[[I]]
  net.end_loop %i
  return %y, %s, %a : tensor<4xf32>, tensor<3x4xf32>, tensor<4xf32>
}
