// RUN: dist-opt %s -verify-diagnostics -split-input-file

// Tests that text that no exporter writes is an error at its place.

func.func @entry_twice(%arg0: tensor<97xf32>, %arg1: tensor<8x1xi32>) {
  // expected-error @below {{"index_vector_dim" is given twice}}
  %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<index_vector_dim = 1, index_vector_dim = 2>}> : (tensor<97xf32>, tensor<8x1xi32>) -> tensor<8xf32>
  return
}

// -----

func.func @dot_keyword(%arg0: tensor<3xf32>) {
  // expected-error @below {{"algorithm" of a product is not known; batching_dims, contracting_dims and precision are}}
  %0 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = tf32> : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
  return
}

// -----

func.func @applies_to_two(%arg0: tensor<3xf32>, %arg1: tensor<f32>) {
  // expected-error @below {{"applies stablehlo.add" is for one tensor, with an operation of stablehlo}}
  %0:2 = stablehlo.reduce(%arg0 init: %arg1), (%arg0 init: %arg1) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @applies_other(%arg0: tensor<3xf32>, %arg1: tensor<f32>) {
  // expected-error @below {{"applies func.call" is for one tensor, with an operation of stablehlo}}
  %0 = stablehlo.reduce(%arg0 init: %arg1) applies func.call across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @without_types(%arg0: tensor<3xf32>) {
  // expected-error @below {{expected ':'}}
  %0 = stablehlo.add %arg0, %arg0
  return
}

// -----

func.func @operand_count(%arg0: tensor<3xf32>) {
  // expected-error @below {{number of operands and types do not match: got 2 operands and 3 types}}
  %0 = stablehlo.add %arg0, %arg0 : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @gather_has_no_short_form(%arg0: tensor<3xf32>, %arg1: tensor<1xi32>) {
  // expected-error @below {{custom op 'stablehlo.gather' only has the generic form}}
  %0 = stablehlo.gather %arg0, %arg1 : (tensor<3xf32>, tensor<1xi32>) -> tensor<f32>
  return
}
