// RUN: dist-opt %s --dist-import-convert-stablehlo -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func @gather
func.func @gather(%arg0: tensor<97x32xf32>, %arg1: tensor<8x16x1xi32>, %arg2: tensor<8x10xf32>, %arg3: tensor<8x1x1xui32>) -> (tensor<8x16x32xf32>, tensor<8x1xf32>) {
  // CHECK-NEXT: net.gather %arg0, %arg1 <offsetDims = [2], collapsedDims = [0], startIndexMap = [0], indexVectorDim = 2> sizes = [1, 32] : tensor<97x32xf32>, tensor<8x16x1xi32> -> tensor<8x16x32xf32>
  %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 32>}> : (tensor<97x32xf32>, tensor<8x16x1xi32>) -> tensor<8x16x32xf32>
  // CHECK-NEXT: net.gather %arg2, %arg3 <collapsedDims = [1], operandBatchingDims = [0], indicesBatchingDims = [0], startIndexMap = [1], indexVectorDim = 2> sizes = [1, 1]
  %1 = "stablehlo.gather"(%arg2, %arg3) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<8x10xf32>, tensor<8x1x1xui32>) -> tensor<8x1xf32>
  return %0, %1 : tensor<8x16x32xf32>, tensor<8x1xf32>
}

// CHECK-LABEL: func @scatter
func.func @scatter(%arg0: tensor<16x8xf32>, %arg1: tensor<4x1xi32>, %arg2: tensor<4x8xf32>) -> (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>) {
  // CHECK-NEXT: net.scatter assign %arg0, %arg1, %arg2 <updateWindowDims = [1], insertedDims = [0], scatterDimsToOperandDims = [0], indexVectorDim = 1>
  %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
    stablehlo.return %arg4 : tensor<f32>
  }) : (tensor<16x8xf32>, tensor<4x1xi32>, tensor<4x8xf32>) -> tensor<16x8xf32>
  // CHECK-NEXT: net.scatter add
  %1 = "stablehlo.scatter"(%0, %arg1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
    %3 = stablehlo.add %arg3, %arg4 : tensor<f32>
    stablehlo.return %3 : tensor<f32>
  }) : (tensor<16x8xf32>, tensor<4x1xi32>, tensor<4x8xf32>) -> tensor<16x8xf32>
  // CHECK-NEXT: net.scatter max
  %2 = "stablehlo.scatter"(%1, %arg1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
    %3 = stablehlo.maximum %arg4, %arg3 : tensor<f32>
    stablehlo.return %3 : tensor<f32>
  }) : (tensor<16x8xf32>, tensor<4x1xi32>, tensor<4x8xf32>) -> tensor<16x8xf32>
  return %0, %1, %2 : tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>
}

// Tests that several scatters written as one are several, and that a sum of booleans is their maximum.

// CHECK-LABEL: func @scatter_several
func.func @scatter_several(%arg0: tensor<16xf32>, %arg1: tensor<16xi1>, %arg2: tensor<4x1xi32>, %arg3: tensor<4xf32>, %arg4: tensor<4xi1>) -> (tensor<16xf32>, tensor<16xi1>) {
  // CHECK-NEXT: %[[FIRST:.*]] = net.scatter multiply %arg0, %arg2, %arg3
  // CHECK-NEXT: %[[SECOND:.*]] = net.scatter max %arg1, %arg2, %arg4
  %0:2 = "stablehlo.scatter"(%arg0, %arg1, %arg2, %arg3, %arg4) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<i1>, %c: tensor<f32>, %d: tensor<i1>):
    %1 = stablehlo.multiply %a, %c : tensor<f32>
    %2 = stablehlo.add %b, %d : tensor<i1>
    stablehlo.return %1, %2 : tensor<f32>, tensor<i1>
  }) : (tensor<16xf32>, tensor<16xi1>, tensor<4x1xi32>, tensor<4xf32>, tensor<4xi1>) -> (tensor<16xf32>, tensor<16xi1>)
  // CHECK-NEXT: return %[[FIRST]], %[[SECOND]]
  return %0#0, %0#1 : tensor<16xf32>, tensor<16xi1>
}

// -----

func.func @gather_without_numbers(%arg0: tensor<97xf32>, %arg1: tensor<8x1xi32>) -> tensor<8xf32> {
  // expected-error @below {{stablehlo.gather has no attribute "dimension_numbers"}}
  %0 = "stablehlo.gather"(%arg0, %arg1) <{slice_sizes = array<i64: 1>}> : (tensor<97xf32>, tensor<8x1xi32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @gather_vector(%arg0: tensor<97xf32>, %arg1: tensor<8x1xi32>) -> tensor<8xf32> {
  // expected-error @below {{stablehlo.gather has no integer "index_vector_dim" in "dimension_numbers"}}
  %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = [1]>, slice_sizes = array<i64: 1>}> : (tensor<97xf32>, tensor<8x1xi32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @gather_positions(%arg0: tensor<97xf32>, %arg1: tensor<8x1xf32>) -> tensor<8xf32> {
  // expected-error @below {{stablehlo.gather has positions of 'tensor<8x1xf32>', which are not integers}}
  %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<97xf32>, tensor<8x1xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @scatter_body(%arg0: tensor<16xf32>, %arg1: tensor<4x1xi32>, %arg2: tensor<4xf32>) -> tensor<16xf32> {
  // expected-error @below {{stablehlo.scatter has a body that is not known; assigning, add, multiply, maximum and minimum are}}
  %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.power %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<16xf32>, tensor<4x1xi32>, tensor<4xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

func.func @scatter_results(%arg0: tensor<16xf32>, %arg1: tensor<4x1xi32>) {
  // expected-error @below {{stablehlo.scatter has no results}}
  "stablehlo.scatter"(%arg0, %arg1) : (tensor<16xf32>, tensor<4x1xi32>) -> ()
  return
}
