// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s --dist-import-convert-stablehlo | FileCheck %s

// Tests that upper triangular factors are those of the transposed matrices, and that there is none, but NaN, where an element of the diagonal is not
// positive.
// CHECK-LABEL: func @cholesky
// CHECK-SAME: %[[X:.*]]: tensor<2x4x4xf32>
func.func @cholesky(%x: tensor<2x4x4xf32>) -> (tensor<2x4x4xf32>, tensor<2x4x4xf32>) {
  // CHECK: %[[F:.*]] = net.cholesky %[[X]]
  // CHECK: %[[POSITIVE:.*]] = net.compare gt, %[[F]], %{{.*}} : tensor<2x4x4xf32>
  // CHECK: %[[NOT:.*]] = net.not %[[POSITIVE]]
  // CHECK: %[[FAILS:.*]] = net.and %{{.*}}, %[[NOT]]
  // CHECK: %[[ORDERS:.*]] = net.select %[[FAILS]]
  // CHECK: %[[FIRST:.*]] = net.reduce min %[[ORDERS]] dims = [1, 2] : tensor<2x4x4xi32> -> tensor<2xi32>
  // CHECK: %[[INFO:.*]] = net.select %{{.*}}, %{{.*}}, %[[FIRST]]
  // CHECK: %[[DONE:.*]] = net.compare eq, %[[INFO]]
  // CHECK: %[[ALL:.*]] = net.broadcast %[[DONE]] dims = [0] : tensor<2xi1> -> tensor<2x4x4xi1>
  // CHECK: %[[NAN:.*]] = net.constant dense<0x7FC00000>
  // CHECK: net.select %[[ALL]], %[[F]], %[[NAN]]
  %0 = stablehlo.cholesky %x, lower = true : tensor<2x4x4xf32>
  // CHECK: %[[T:.*]] = net.transpose %[[X]] dims = [0, 2, 1]
  // CHECK: %[[L:.*]] = net.cholesky %[[T]]
  // CHECK: net.transpose %[[L]] dims = [0, 2, 1]
  %1 = stablehlo.cholesky %x : tensor<2x4x4xf32>
  return %0, %1 : tensor<2x4x4xf32>, tensor<2x4x4xf32>
}

// CHECK-LABEL: func @lower
// CHECK-SAME: %[[A:.*]]: tensor<4x4xf32>, %[[B:.*]]: tensor<4x3xf32>
func.func @lower(%a: tensor<4x4xf32>, %b: tensor<4x3xf32>) -> tensor<4x3xf32> {
  // CHECK-NEXT: net.triangular_solve %[[A]], %[[B]]
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// Tests that a transposed lower triangular matrix is solved from the last row to the first.
// CHECK-LABEL: func @transposed
// CHECK-SAME: %[[A:.*]]: tensor<4x4xf32>, %[[B:.*]]: tensor<4x3xf32>
func.func @transposed(%a: tensor<4x4xf32>, %b: tensor<4x3xf32>) -> tensor<4x3xf32> {
  // CHECK: %[[UPPER:.*]] = net.transpose %[[A]] dims = [1, 0]
  // CHECK: %[[LHS:.*]] = net.reverse %[[UPPER]] dims = [0, 1]
  // CHECK: %[[RHS:.*]] = net.reverse %[[B]] dims = [0]
  // CHECK: %[[X:.*]] = net.triangular_solve %[[LHS]], %[[RHS]]
  // CHECK: net.reverse %[[X]] dims = [0]
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false}> : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// Tests that X A = B is solved for the transposed X, and that a diagonal of ones is not read.
// CHECK-LABEL: func @right
// CHECK-SAME: %[[A:.*]]: tensor<4x4xf32>, %[[B:.*]]: tensor<3x4xf32>
func.func @right(%a: tensor<4x4xf32>, %b: tensor<3x4xf32>) -> tensor<3x4xf32> {
  // CHECK: %[[ONES:.*]] = net.select %{{.*}}, %{{.*}}, %[[A]]
  // CHECK: %[[LHS:.*]] = net.transpose %[[ONES]] dims = [1, 0]
  // CHECK: %[[RHS:.*]] = net.transpose %[[B]] dims = [1, 0]
  // CHECK: %[[X:.*]] = net.triangular_solve %[[LHS]], %[[RHS]]
  // CHECK: net.transpose %[[X]] dims = [1, 0]
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = false, lower = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = true}> : (tensor<4x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// Tests LAPACK's Cholesky factors and triangular systems, as JAX calls them on a CPU.
// CHECK-LABEL: func @lapack
// CHECK-SAME: %[[A:.*]]: tensor<4x4xf64>, %[[B:.*]]: tensor<4x3xf64>
func.func @lapack(%a: tensor<4x4xf64>, %b: tensor<4x3xf64>) -> (tensor<4x3xf64>, tensor<i32>) {
  // CHECK: %[[L:.*]] = net.cholesky %[[A]]
  // CHECK: %[[FIRST:.*]] = net.reduce min {{.*}} dims = [0, 1] : tensor<4x4xi32> -> tensor<i32>
  // CHECK: %[[INFO:.*]] = net.select %{{.*}}, %{{.*}}, %[[FIRST]]
  %0:2 = stablehlo.custom_call @lapack_dpotrf_ffi(%a) {backend_config = "", mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([k, l], []) {i=4, j=4, k=4, l=4}, custom>} : (tensor<4x4xf64>) -> (tensor<4x4xf64>, tensor<i32>)
  // CHECK: %[[X:.*]] = net.triangular_solve %[[L]], %[[B]]
  %1 = stablehlo.custom_call @lapack_dtrsm_ffi(%0#0, %b) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}} : (tensor<4x4xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
  // CHECK: return %[[X]], %[[INFO]]
  return %1, %0#1 : tensor<4x3xf64>, tensor<i32>
}
