// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: dist-opt %s --dist-schedule-form-kernels --split-input-file | FileCheck %s
// RUN: dist-opt %s --dist-schedule-form-kernels="library-convolutions=false" --split-input-file | FileCheck %s --check-prefix=KERNELS

// Tests that operations become few kernels, and layout operations none.

// The example of the pass: the product reads through the transposition.
// CHECK-LABEL: @product_reads_through_a_transposition
// CHECK-NOT: net.transpose
// CHECK: dist.matmul %arg0 at 0 [8, 1], %arg1 at 0 [1, 8] to [4, 1] batch [] m 2 n 4 k 8
// CHECK-NOT: dist.kernel
func.func @product_reads_through_a_transposition(%x: tensor<2x8xf32>, %w: tensor<4x8xf32>) -> tensor<2x4xf32> {
  %0 = net.transpose %w dims = [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %1 = net.dot %x, %0 batch = [] x [] contract = [1] x [0] : tensor<2x8xf32>, tensor<8x4xf32> -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// -----

// Heads of a fused projection: slices of 16 elements start at multiples of 64 bytes.
// CHECK-LABEL: @product_reads_heads_of_a_fused_projection
// CHECK: dist.matmul %arg0 at 0 [{{.*}}], %arg0 at 16 [
// CHECK-SAME: batch [2, 4] m 3 n 3 k 4
// CHECK-NOT: dist.kernel
func.func @product_reads_heads_of_a_fused_projection(%qkv: tensor<2x3x48xf32>) -> tensor<2x4x3x3xf32> {
  %q = net.slice %qkv starts = [0, 0, 0] limits = [2, 3, 16] steps = [1, 1, 1] : tensor<2x3x48xf32> -> tensor<2x3x16xf32>
  %k = net.slice %qkv starts = [0, 0, 16] limits = [2, 3, 32] steps = [1, 1, 1] : tensor<2x3x48xf32> -> tensor<2x3x16xf32>
  %0 = net.reshape %q : tensor<2x3x16xf32> -> tensor<2x3x4x4xf32>
  %1 = net.reshape %k : tensor<2x3x16xf32> -> tensor<2x3x4x4xf32>
  %2 = net.dot %0, %1 batch = [0, 2] x [0, 2] contract = [3] x [3] : tensor<2x3x4x4xf32>, tensor<2x3x4x4xf32> -> tensor<2x4x3x3xf32>
  return %2 : tensor<2x4x3x3xf32>
}

// -----

// CHECK-LABEL: @product_writes_in_the_order_of_its_user
// CHECK: dist.matmul {{.*}} to [5, 10, 1] batch [2] m 4 n 5 k 3
// CHECK-SAME: -> tensor<4x2x5xf32>
// CHECK-NOT: dist.kernel
func.func @product_writes_in_the_order_of_its_user(%x: tensor<2x4x3xf32>, %y: tensor<2x3x5xf32>) -> tensor<4x2x5xf32> {
  %0 = net.dot %x, %y batch = [0] x [0] contract = [2] x [1] : tensor<2x4x3xf32>, tensor<2x3x5xf32> -> tensor<2x4x5xf32>
  %1 = net.transpose %0 dims = [1, 0, 2] : tensor<2x4x5xf32> -> tensor<4x2x5xf32>
  return %1 : tensor<4x2x5xf32>
}

// -----

// CHECK-LABEL: @operand_that_no_strides_reach_is_copied
// CHECK: %[[COPY:.*]] = dist.kernel(%arg0)
// CHECK: net.transpose
// CHECK: dist.matmul %[[COPY]]
func.func @operand_that_no_strides_reach_is_copied(%x: tensor<2x3x4xf32>, %w: tensor<8x5xf32>) -> tensor<3x5xf32> {
  %0 = net.transpose %x dims = [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  %1 = net.reshape %0 : tensor<3x4x2xf32> -> tensor<3x8xf32>
  %2 = net.dot %1, %w batch = [] x [] contract = [1] x [0] : tensor<3x8xf32>, tensor<8x5xf32> -> tensor<3x5xf32>
  return %2 : tensor<3x5xf32>
}

// -----

// CHECK-LABEL: @integers_are_multiplied_by_a_kernel
// CHECK-NOT: dist.matmul
// CHECK: dist.kernel
func.func @integers_are_multiplied_by_a_kernel(%x: tensor<2x8xi32>, %y: tensor<8x4xi32>) -> tensor<2x4xi32> {
  %1 = net.dot %x, %y batch = [] x [] contract = [1] x [0] : tensor<2x8xi32>, tensor<8x4xi32> -> tensor<2x4xi32>
  return %1 : tensor<2x4xi32>
}

// -----

// CHECK-LABEL: @softmax_is_one_kernel
// CHECK: dist.kernel(%arg0) {
// CHECK: net.reduce max
// CHECK: net.reduce sum
// CHECK: net.divide
// CHECK: } : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NOT: dist.kernel
func.func @softmax_is_one_kernel(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = net.reduce max %x dims = [1] : tensor<4x8xf32> -> tensor<4xf32>
  %1 = net.broadcast %0 dims = [0] : tensor<4xf32> -> tensor<4x8xf32>
  %2 = net.subtract %x, %1 : tensor<4x8xf32>
  %3 = net.exponential %2 : tensor<4x8xf32>
  %4 = net.reduce sum %3 dims = [1] : tensor<4x8xf32> -> tensor<4xf32>
  %5 = net.broadcast %4 dims = [0] : tensor<4xf32> -> tensor<4x8xf32>
  %6 = net.divide %3, %5 : tensor<4x8xf32>
  return %6 : tensor<4x8xf32>
}

// -----

// Sums over columns and the gradient of the operand leave one kernel; what the sums go into is another.
// CHECK-LABEL: @column_sums_join_but_are_read_later
// CHECK: %[[FIRST:.*]]:2 = dist.kernel(%arg0)
// CHECK: dist.kernel(%[[FIRST]]#1)
// CHECK: net.sqrt
func.func @column_sums_join_but_are_read_later(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
  %0 = net.exponential %x : tensor<4x8xf32>
  %1 = net.reduce sum %0 dims = [0] : tensor<4x8xf32> -> tensor<8xf32>
  %2 = net.sqrt %1 : tensor<8xf32>
  return %0, %2 : tensor<4x8xf32>, tensor<8xf32>
}

// -----

net.variable parameter @w : tensor<8xf32>
net.variable optimizer_state @m : tensor<8xf32>

// The decayed moment has no producer in the step; it is computed where it is added.
// CHECK-LABEL: @update_is_one_kernel
// CHECK: dist.kernel
// CHECK-NOT: dist.kernel
func.func @update_is_one_kernel(%x: tensor<8x4xf32>, %y: tensor<4xf32>) {
  %w = net.read @w : tensor<8xf32>
  %m = net.read @m : tensor<8xf32>
  %g = net.dot %x, %y batch = [] x [] contract = [1] x [0] : tensor<8x4xf32>, tensor<4xf32> -> tensor<8xf32>
  %decay = net.constant dense<0.9> : tensor<8xf32>
  %0 = net.multiply %decay, %m : tensor<8xf32>
  %1 = net.add %0, %g : tensor<8xf32>
  %2 = net.subtract %w, %1 : tensor<8xf32>
  net.assign @m, %1 : tensor<8xf32>
  net.assign @w, %2 : tensor<8xf32>
  return
}

// -----

// The square is recomputed after the product; the hyperbolic tangent is stored.
// CHECK-LABEL: @cheap_values_are_computed_again
// CHECK: %[[FIRST:.*]] = dist.kernel(%arg0)
// CHECK: net.tanh
// CHECK: %[[DOT:.*]] = dist.matmul %[[FIRST]]
// CHECK: dist.kernel(%[[DOT]], %arg0)
// CHECK: net.multiply %[[X:.*]], %[[X]]
func.func @cheap_values_are_computed_again(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = net.multiply %x, %x : tensor<4x4xf32>
  %1 = net.tanh %0 : tensor<4x4xf32>
  %2 = net.dot %1, %w batch = [] x [] contract = [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %3 = net.multiply %2, %0 : tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

// -----

// A result has to be contiguous: a contiguous part stays in place, another is copied.
// CHECK-LABEL: @returned_parts
// CHECK: %[[SUM:.*]] = dist.kernel(%arg0)
// CHECK: dist.kernel(%[[SUM]])
// CHECK: net.slice
// CHECK: dist.view %[[SUM]] at 16 : tensor<4x16xf32> -> tensor<16xf32>
func.func @returned_parts(%x: tensor<4x16xf32>) -> (tensor<16xf32>, tensor<4x1xf32>) {
  %0 = net.exponential %x : tensor<4x16xf32>
  %1 = net.slice %0 starts = [1, 0] limits = [2, 16] steps = [1, 1] : tensor<4x16xf32> -> tensor<1x16xf32>
  %2 = net.reshape %1 : tensor<1x16xf32> -> tensor<16xf32>
  %3 = net.slice %0 starts = [0, 3] limits = [4, 4] steps = [1, 1] : tensor<4x16xf32> -> tensor<4x1xf32>
  return %2, %3 : tensor<16xf32>, tensor<4x1xf32>
}

// -----

// A kernel computes integers without sign, so that one that only changes it copies; a view of other elements there is not.
// CHECK-LABEL: @other_sign_is_no_view
// CHECK-NOT: dist.view
// CHECK: dist.kernel(%arg0)
// CHECK: net.bitcast_convert
func.func @other_sign_is_no_view(%x: tensor<4xi32>) -> (tensor<4xui32>, tensor<4xui32>) {
  %0 = net.bitcast_convert %x : tensor<4xi32> -> tensor<4xui32>
  %1 = net.convert %0 : tensor<4xui32> -> tensor<4xi32>
  %2 = net.convert %1 : tensor<4xi32> -> tensor<4xui32>
  return %0, %2 : tensor<4xui32>, tensor<4xui32>
}

// -----

// An input is not returned itself: it may be overwritten before the step ends.
// CHECK-LABEL: @returned_input_is_copied
// CHECK: %[[COPY:.*]] = dist.kernel(%arg0)
// CHECK: return %[[COPY]]
func.func @returned_input_is_copied(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// A scatter is a kernel of its own, and fills its operand itself.
// CHECK-LABEL: @scatter_stands_alone
// CHECK: dist.kernel(%arg0, %arg1) {
// CHECK: net.constant dense<0.000000e+00>
// CHECK: net.scatter
// CHECK: dist.kernel
// CHECK: net.exponential
func.func @scatter_stands_alone(%ids: tensor<3x1xi32>, %x: tensor<3x4xf32>) -> tensor<9x4xf32> {
  %0 = net.constant dense<0.0> : tensor<9x4xf32>
  %1 = net.scatter add %0, %ids, %x <updateWindowDims = [1], insertedDims = [0], operandBatchingDims = [], indicesBatchingDims = [], scatterDimsToOperandDims = [0], indexVectorDim = 1>
     : tensor<9x4xf32>, tensor<3x1xi32>, tensor<3x4xf32> -> tensor<9x4xf32>
  %2 = net.exponential %1 : tensor<9x4xf32>
  return %2 : tensor<9x4xf32>
}

// -----

// A kernel that looks through nothing gets a view.
// CHECK-LABEL: @scatter_reads_a_view
// CHECK: %[[IDS:.*]] = dist.view %arg0 at 0 : tensor<3xi32> -> tensor<3x1xi32>
// CHECK: dist.kernel(%arg2, %[[IDS]], %arg1)
func.func @scatter_reads_a_view(%ids: tensor<3xi32>, %x: tensor<3x4xf32>, %y: tensor<9x4xf32>) -> tensor<9x4xf32> {
  %0 = net.reshape %ids : tensor<3xi32> -> tensor<3x1xi32>
  %1 = net.scatter add %y, %0, %x <updateWindowDims = [1], insertedDims = [0], operandBatchingDims = [], indicesBatchingDims = [], scatterDimsToOperandDims = [0], indexVectorDim = 1>
     : tensor<9x4xf32>, tensor<3x1xi32>, tensor<3x4xf32> -> tensor<9x4xf32>
  return %1 : tensor<9x4xf32>
}

// -----

// A part of a product is no other order of it.
// CHECK-LABEL: @part_of_a_product
// CHECK: %[[DOT:.*]] = dist.matmul {{.*}} -> tensor<4x4xf32>
// CHECK: dist.kernel(%[[DOT]])
// CHECK: net.slice
func.func @part_of_a_product(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>) -> tensor<3x4xf32> {
  %0 = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  %1 = net.slice %0 starts = [0, 0] limits = [3, 4] steps = [1, 1] : tensor<4x4xf32> -> tensor<3x4xf32>
  %2 = net.exponential %1 : tensor<3x4xf32>
  return %2 : tensor<3x4xf32>
}

// -----

// However often a variable is read, it is one piece of memory.
net.variable parameter @w : tensor<4xf32>
// CHECK-LABEL: @variable_read_twice
// CHECK: %[[OLD:.*]] = net.read @w
// CHECK-NOT: net.read
// CHECK: %[[NEW:.*]] = dist.kernel(%[[OLD]])
// CHECK: net.assign @w, %[[NEW]]
func.func @variable_read_twice() {
  %0 = net.read @w : tensor<4xf32>
  %1 = net.read @w : tensor<4xf32>
  %2 = net.exponential %0 : tensor<4xf32>
  %3 = net.add %1, %2 : tensor<4xf32>
  net.assign @w, %3 : tensor<4xf32>
  return
}

// -----

// A gather along the outermost dimension yields the value in place, without a copy.

dist.mesh @mesh <["dp" = 4]>
net.variable parameter @gathered : tensor<8x6xf32>

// CHECK-LABEL: @gathered_rows
// CHECK: %[[PARTS:.*]] = dist.collective {{.*}} -> tensor<4x2x6xf32>
// CHECK-NEXT: %[[WHOLE:.*]] = dist.view %[[PARTS]] at 0 : tensor<4x2x6xf32> -> tensor<8x6xf32>
// CHECK-NEXT: net.assign @gathered, %[[WHOLE]]
func.func @gathered_rows(%x: tensor<4x2x6xf32>) {
  %0 = dist.collective c_allgather (%x) axes [] : (tensor<4x2x6xf32>) -> tensor<4x2x6xf32>
  %1 = net.reshape %0 : tensor<4x2x6xf32> -> tensor<4x1x2x6xf32>
  %2 = net.reshape %1 : tensor<4x1x2x6xf32> -> tensor<1x4x2x6xf32>
  %3 = net.reshape %2 : tensor<1x4x2x6xf32> -> tensor<1x8x6xf32>
  %4 = net.reshape %3 : tensor<1x8x6xf32> -> tensor<8x6xf32>
  net.assign @gathered, %4 : tensor<8x6xf32>
  return
}

// -----

dist.mesh @mesh <["zero" = 2]>

// Operations of different ranks share no kernel.
// CHECK-LABEL: @members_apart
// CHECK: %[[ALL:.*]] = dist.kernel(%arg0)
// CHECK: net.exponential
// CHECK-NOT: net.tanh
// CHECK: } : (tensor<64xf32>) -> tensor<64xf32>
// CHECK: %[[FIRST:.*]] = dist.kernel(%[[ALL]])
// CHECK: net.tanh
// CHECK-NOT: net.sine
// CHECK: } {dist.on = {zero = array<i64: 0>}}
// CHECK: %[[SECOND:.*]] = dist.kernel(%[[ALL]])
// CHECK: net.sine
// CHECK: } {dist.on = {zero = array<i64: 1>}}
// CHECK: return %[[FIRST]], %[[SECOND]]
func.func @members_apart(%x: tensor<64xf32>) -> (tensor<64xf32> {dist.mapping = #dist.mapping<dims = [[]], on {"zero" = [0]}>}, tensor<64xf32> {dist.mapping = #dist.mapping<dims = [[]], on {"zero" = [1]}>}) {
  %0 = net.exponential %x : tensor<64xf32>
  %1 = net.tanh %0 {dist.on = {zero = array<i64: 0>}} : tensor<64xf32>
  %2 = net.sine %0 {dist.on = {zero = array<i64: 1>}} : tensor<64xf32>
  return %1, %2 : tensor<64xf32>, tensor<64xf32>
}

// -----

// Tests that convolutions of floats are left to the library, on operands that are contiguous, and others are kernels.

// CHECK-LABEL: func.func @convolutions
// CHECK: %[[COPY:.*]] = dist.kernel(%arg0)
// CHECK: net.convolution %[[COPY]], %arg1
// CHECK: dist.kernel(%arg2, %arg3)
// CHECK: net.convolution
// CHECK: return
// KERNELS-LABEL: func.func @convolutions
// KERNELS: dist.kernel({{.*}}%arg1
// KERNELS: net.convolution
// KERNELS: dist.yield
func.func @convolutions(%x: tensor<2x8x3xf32>, %w: tensor<3x2x4xf32>, %i: tensor<8x3x2xi32>, %j: tensor<3x2x4xi32>) -> (tensor<8x3x4xf32>, tensor<8x3x4xi32>) {
  %t = net.transpose %x dims = [1, 2, 0] : tensor<2x8x3xf32> -> tensor<8x3x2xf32>
  %0 = net.convolution %t, %w <lhsBatch = 0, lhsFeature = 2, lhsSpatial = [1], rhsInput = 1, rhsOutput = 2, rhsSpatial = [0], outBatch = 0, outFeature = 2, outSpatial = [1]> strides = [1] low = [1] high = [1] lhs_dilation = [1] rhs_dilation = [1] reversed = [false] groups = 1 x 1 : tensor<8x3x2xf32>, tensor<3x2x4xf32> -> tensor<8x3x4xf32>
  %1 = net.convolution %i, %j <lhsBatch = 0, lhsFeature = 2, lhsSpatial = [1], rhsInput = 1, rhsOutput = 2, rhsSpatial = [0], outBatch = 0, outFeature = 2, outSpatial = [1]> strides = [1] low = [1] high = [1] lhs_dilation = [1] rhs_dilation = [1] reversed = [false] groups = 1 x 1 : tensor<8x3x2xi32>, tensor<3x2x4xi32> -> tensor<8x3x4xi32>
  return %0, %1 : tensor<8x3x4xf32>, tensor<8x3x4xi32>
}
