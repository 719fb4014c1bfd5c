// RUN: dist-opt %s --dist-import-convert-stablehlo -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func @dot
func.func @dot(%arg0: tensor<8x16x32xf32>, %arg1: tensor<32x96xf32>, %arg2: tensor<8x4x16x16xf32>, %arg3: tensor<8x16x4x8xf32>)
    -> (tensor<8x16x96xf32>, tensor<8x4x8x16xf32>, tensor<8x16x32x32x96xf32>, tensor<f32>) {
  // CHECK-NEXT: net.dot %arg0, %arg1 batch = [] x [] contract = [2] x [0] : tensor<8x16x32xf32>, tensor<32x96xf32> -> tensor<8x16x96xf32>
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [2] x [0], precision = [DEFAULT, HIGHEST] : (tensor<8x16x32xf32>, tensor<32x96xf32>) -> tensor<8x16x96xf32>
  // CHECK-NEXT: net.dot %arg3, %arg2 batch = [0, 2] x [0, 1] contract = [1] x [3]
  %1 = stablehlo.dot_general %arg3, %arg2, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3] : (tensor<8x16x4x8xf32>, tensor<8x4x16x16xf32>) -> tensor<8x4x8x16xf32>
  // Neither: an outer product.
  // CHECK-NEXT: net.dot %arg0, %arg1 batch = [] x [] contract = [] x []
  %2 = stablehlo.dot_general %arg0, %arg1 : (tensor<8x16x32xf32>, tensor<32x96xf32>) -> tensor<8x16x32x32x96xf32>
  // CHECK-NEXT: net.dot %arg1, %arg1 batch = [] x [] contract = [0, 1] x [0, 1]
  %3 = "stablehlo.dot_general"(%arg1, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0, 1], rhs_contracting_dimensions = [0, 1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<32x96xf32>, tensor<32x96xf32>) -> tensor<f32>
  return %0, %1, %2, %3 : tensor<8x16x96xf32>, tensor<8x4x8x16xf32>, tensor<8x16x32x32x96xf32>, tensor<f32>
}

// Tests the older product, which TensorFlow's text has.

// CHECK-LABEL: func @plain_dot
func.func @plain_dot(%arg0: tensor<4x3xf32>, %arg1: tensor<3x5xf32>, %arg2: tensor<3xf32>) -> (tensor<4x5xf32>, tensor<4xf32>, tensor<5xf32>, tensor<f32>) {
  // CHECK-NEXT: net.dot %arg0, %arg1 batch = [] x [] contract = [1] x [0] : tensor<4x3xf32>, tensor<3x5xf32> -> tensor<4x5xf32>
  %0 = stablehlo.dot %arg0, %arg1, precision = [DEFAULT, DEFAULT] {mhlo.frontend_attributes = {grad_x = "false"}} : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
  // CHECK-NEXT: net.dot %arg0, %arg2 batch = [] x [] contract = [1] x [0]
  %1 = stablehlo.dot %arg0, %arg2 : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4xf32>
  // CHECK-NEXT: net.dot %arg2, %arg1 batch = [] x [] contract = [0] x [0]
  %2 = "stablehlo.dot"(%arg2, %arg1) : (tensor<3xf32>, tensor<3x5xf32>) -> tensor<5xf32>
  // CHECK-NEXT: net.dot %arg2, %arg2 batch = [] x [] contract = [0] x [0]
  %3 = stablehlo.dot %arg2, %arg2 : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
  return %0, %1, %2, %3 : tensor<4x5xf32>, tensor<4xf32>, tensor<5xf32>, tensor<f32>
}

// Tests that a product may be of another type than its operands.

// CHECK-LABEL: func @dot_widens
func.func @dot_widens(%arg0: tensor<4x3xbf16>, %arg1: tensor<3xbf16>) -> tensor<4xf32> {
  // CHECK-NEXT: net.dot %arg0, %arg1 batch = [] x [] contract = [1] x [0] : tensor<4x3xbf16>, tensor<3xbf16> -> tensor<4xf32>
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<4x3xbf16>, tensor<3xbf16>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @dot_shape(%arg0: tensor<4x3xf32>, %arg1: tensor<5xf32>) -> tensor<4xf32> {
  // expected-error @below {{pairs dimension 1 of size 3 with dimension 0 of size 5}}
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<4x3xf32>, tensor<5xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @dot_algorithm(%arg0: tensor<4x3xf32>, %arg1: tensor<3xf32>) -> tensor<4xf32> {
  // expected-error @below {{stablehlo.dot_general asks for algorithm "dot_algorithm<lhs_precision_type = tf32>"; only products without one are known}}
  %0 = "stablehlo.dot_general"(%arg0, %arg1) <{algorithm = #stablehlo.dot_algorithm<lhs_precision_type = tf32>, dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @dot_without_numbers(%arg0: tensor<4x3xf32>, %arg1: tensor<3xf32>) -> tensor<4xf32> {
  // expected-error @below {{stablehlo.dot_general has no attribute "dot_dimension_numbers"}}
  %0 = "stablehlo.dot_general"(%arg0, %arg1) : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @dot_number(%arg0: tensor<4x3xf32>, %arg1: tensor<3xf32>) -> tensor<4xf32> {
  // expected-error @below {{stablehlo.dot_general has 1 : i64 as "lhs_contracting_dimensions", which is not a list of integers}}
  %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = 1, rhs_contracting_dimensions = [0]>}> : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @plain_dot_of_batches(%arg0: tensor<2x4x3xf32>, %arg1: tensor<3xf32>) -> tensor<2x4xf32> {
  // expected-error @below {{stablehlo.dot multiplies 'tensor<2x4x3xf32>' and 'tensor<3xf32>', which are not matrices or vectors}}
  %0 = stablehlo.dot %arg0, %arg1 : (tensor<2x4x3xf32>, tensor<3xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

func.func @plain_dot_with_dimensions(%arg0: tensor<4x3xf32>, %arg1: tensor<4xf32>) -> tensor<3xf32> {
  // expected-error @below {{stablehlo.dot says which dimensions it sums over, which dot_general does}}
  %0 = stablehlo.dot %arg0, %arg1, contracting_dims = [0] x [0] : (tensor<4x3xf32>, tensor<4xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
