// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: foreign-opt %s --split-input-file --dist-complete-propagate --dist-complete-verify | FileCheck %s --check-prefix=COMPLETE
// RUN: foreign-opt %s --split-input-file --dist-complete-propagate --dist-partition-materialize-reshards \
// RUN:     --dist-partition-localize-shapes --dist-partition-verify | FileCheck %s --check-prefix=PARTITION

// Tests that operations which Meshwright does not know, with interfaces attached from outside, are completed and partitioned
// as its own are.

dist.mesh @mesh <["dp" = 2, "tp" = 3]>

// COMPLETE-LABEL: func.func @step
// PARTITION-LABEL: func.func @step
func.func @step(%x: tensor<8x10xf32> {net.name = "x", dist.mapping = #dist.mapping<dims = [["dp"], []]>},
                %w: tensor<12x10xf32> {net.name = "w", dist.mapping = #dist.mapping<dims = [["tp"], []]>},
                %v: tensor<5x12xf32> {net.name = "v", dist.mapping = #dist.mapping<dims = [[], ["tp"]]>})
    -> (tensor<8xf32> {net.name = "y"}, tensor<8x5xf32> {net.name = "z"}) {
  // PARTITION-DAG: %[[TP:.*]] = dist.coordinate "tp"
  // PARTITION-DAG: %[[DP:.*]] = dist.coordinate "dp"
  // COMPLETE: foreign.scale {{.*}} dist.results = [#dist.mapping<dims = {{\[}}["dp"], []]>]
  // PARTITION: foreign.scale {{.*}} : tensor<4x10xf32>
  %0 = foreign.scale %x by 0.5 : tensor<8x10xf32>
  // Column-parallel: the result is split where the weight is.
  // COMPLETE: foreign.matmul {{.*}} dist.results = [#dist.mapping<dims = {{\[}}["dp"], ["tp"]]>]
  // PARTITION: foreign.matmul {{.*}} : tensor<4x10xf32>, tensor<4x10xf32> -> tensor<4x4xf32>
  %1 = foreign.matmul %0, %w : tensor<8x10xf32>, tensor<12x10xf32> -> tensor<8x12xf32>
  // An operation that knows where its part lies: coordinate c begins at 4·c.
  // PARTITION: %[[RAMP:.*]] = foreign.ramp {{.*}} dim 1 step 2.5{{0*}}e-01 at(%[[TP]] : tensor<i32>) {coordinate_strides = array<i64: 4>, sizes = array<i64: 4>, strides = array<i64: 1>}
  %2 = foreign.ramp %1 dim 1 step 0.25 : tensor<8x12xf32>
  // COMPLETE: foreign.row_sum {{.*}}dist.computes = [#dist.mapping<dims = {{\[}}["dp"]], partial = sum ["tp"]>]
  // PARTITION: %[[SUM:.*]] = foreign.row_sum %[[RAMP]] : tensor<4x4xf32> -> tensor<4xf32>
  // PARTITION: dist.c_allreduce %[[SUM]] axes ["tp"]
  %3 = foreign.row_sum %2 : tensor<8x12xf32> -> tensor<8xf32>
  // Row-parallel: a partial sum.
  // COMPLETE: foreign.matmul {{.*}}dist.computes = [#dist.mapping<dims = {{\[}}["dp"], []], partial = sum ["tp"]>]
  // PARTITION: %[[PRODUCT:.*]] = foreign.matmul %[[RAMP]], {{.*}} -> tensor<4x5xf32>
  // PARTITION: %[[REDUCED:.*]] = dist.c_allreduce %[[PRODUCT]] axes ["tp"]
  %4 = foreign.matmul %2, %v : tensor<8x12xf32>, tensor<5x12xf32> -> tensor<8x5xf32>
  // PARTITION: foreign.scale
  %5 = foreign.scale %4 by 2.0 : tensor<8x5xf32>
  // PARTITION: foreign.ramp {{.*}} dim 0 step 1.0{{0*}}e+00 at(%[[DP]] : tensor<i32>)
  %6 = foreign.ramp %5 dim 0 step 1.0 : tensor<8x5xf32>
  return %3, %6 : tensor<8xf32>, tensor<8x5xf32>
}

// -----

// Tests sizes that do not divide: what lies beyond a part is masked before it is summed, on both sides of a product.

dist.mesh @mesh <["tp" = 2]>

// PARTITION-LABEL: func.func @step
func.func @step(%x: tensor<4x7xf32> {net.name = "x", dist.mapping = #dist.mapping<dims = [[], ["tp"]]>},
                %w: tensor<3x7xf32> {net.name = "w", dist.mapping = #dist.mapping<dims = [[], ["tp"]]>})
    -> (tensor<4x3xf32> {net.name = "y"}) {
  // PARTITION: %[[LHS:.*]] = dist.mask %{{.*}} dims [1]
  // PARTITION: %[[RHS:.*]] = dist.mask %{{.*}} dims [1]
  // PARTITION: foreign.matmul %[[LHS]], %[[RHS]] : tensor<4x4xf32>, tensor<3x4xf32>
  %0 = foreign.matmul %x, %w : tensor<4x7xf32>, tensor<3x7xf32> -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

// Tests digits: three pieces of eight, each split over four ranks.

dist.mesh @mesh <["tp" = 4]>

// PARTITION-LABEL: func.func @step
func.func @step(%x: tensor<24xf32> {net.name = "x", dist.mapping = #dist.mapping<dims = [[3, "tp"]]>})
    -> (tensor<f32> {net.name = "y"}) {
  // PARTITION: foreign.ramp {{.*}} {coordinate_strides = array<i64: 2>, sizes = array<i64: 3, 2>, strides = array<i64: 8, 1>} : tensor<6xf32>
  %0 = foreign.ramp %x dim 0 step 1.0 : tensor<24xf32>
  // PARTITION: foreign.row_sum {{.*}} : tensor<6xf32> -> tensor<f32>
  %1 = foreign.row_sum %0 : tensor<24xf32> -> tensor<f32>
  return %1 : tensor<f32>
}
