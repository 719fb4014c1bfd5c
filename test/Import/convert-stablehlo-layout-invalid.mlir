// RUN: dist-opt %s --dist-import-convert-stablehlo -verify-diagnostics -split-input-file

func.func @constant_type() -> tensor<3xf32> {
  // expected-error @below {{stablehlo.constant of 'tensor<3xf32>' has a value of 'tensor<2xf32>'}}
  %0 = "stablehlo.constant"() <{value = dense<0.0> : tensor<2xf32>}> : () -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

func.func @constant_value() -> tensor<3xf32> {
  // expected-error @below {{stablehlo.constant has no dense value}}
  %0 = "stablehlo.constant"() <{value = 3.0 : f32}> : () -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

func.func @constant_form() -> tensor<f32> {
  // expected-error @below {{a constant is dense<...> of a tensor type, not 3.000000e+00 : f32}}
  %0 = stablehlo.constant 3.0 : f32
  return %0 : tensor<f32>
}

// -----

func.func @iota_dim() -> tensor<3xi32> {
  // expected-error @below {{stablehlo.iota has no integer "iota_dimension"}}
  %0 = "stablehlo.iota"() <{iota_dimension = "0"}> : () -> tensor<3xi32>
  return %0 : tensor<3xi32>
}

// -----

func.func @iota_range() -> tensor<3xi32> {
  // expected-error @below {{names dimension 1 of a tensor of rank 1}}
  %0 = stablehlo.iota dim = 1 : tensor<3xi32>
  return %0 : tensor<3xi32>
}

// -----

func.func @broadcast_count(%arg0: tensor<3xf32>) -> tensor<2x3xf32> {
  // expected-error @below {{stablehlo.broadcast_in_dim has 2 dims for an operand of rank 1}}
  %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1] : (tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @broadcast_size(%arg0: tensor<3xf32>) -> tensor<2x3xf32> {
  // expected-error @below {{stablehlo.broadcast_in_dim maps dimension 0 of size 3 to dimension 0 of size 2}}
  %0 = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @broadcast_range(%arg0: tensor<1x1xf32>) -> tensor<2x3xf32> {
  // expected-error @below {{stablehlo.broadcast_in_dim maps dimension 1 to 1, which is taken or not one of the 2 of the result}}
  %0 = stablehlo.broadcast_in_dim %arg0, dims = [1, 1] : (tensor<1x1xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @broadcast_list(%arg0: tensor<3xf32>) -> tensor<2x3xf32> {
  // expected-error @below {{stablehlo.broadcast_in_dim has "1" as "broadcast_dimensions", which is not a list of integers}}
  %0 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = "1"}> : (tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @broadcast_element(%arg0: tensor<3xf32>) -> tensor<2x3xf64> {
  // expected-error @below {{stablehlo.broadcast_in_dim turns 'tensor<3xf32>' into 'tensor<2x3xf64>'}}
  %0 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
}

// -----

func.func @reshape_size(%arg0: tensor<3xf32>) -> tensor<4xf32> {
  // expected-error @below {{stablehlo.reshape turns 3 elements into 4}}
  %0 = stablehlo.reshape %arg0 : (tensor<3xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @transpose_shape(%arg0: tensor<3x4xf32>) -> tensor<3x4xf32> {
  // expected-error @below {{has result shape [3, 4] but its operands and attributes make [4, 3]}}
  %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

func.func @slice_range(%arg0: tensor<3xf32>) -> tensor<4xf32> {
  // expected-error @below {{takes [0:4:1] of dimension 0 of size 3}}
  %0 = stablehlo.slice %arg0 [0:4] : (tensor<3xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @pad_list(%arg0: tensor<3xf32>, %arg1: tensor<f32>) -> tensor<4xf32> {
  // expected-error @below {{stablehlo.pad has no attribute "interior_padding"}}
  %0 = "stablehlo.pad"(%arg0, %arg1) <{edge_padding_low = array<i64: 0>, edge_padding_high = array<i64: 1>}> : (tensor<3xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @concatenate_size(%arg0: tensor<3xf32>) -> tensor<7xf32> {
  // expected-error @below {{has result shape [7] but its operands and attributes make [6]}}
  %0 = stablehlo.concatenate %arg0, %arg0, dim = 0 : (tensor<3xf32>, tensor<3xf32>) -> tensor<7xf32>
  return %0 : tensor<7xf32>
}

// -----

// Sixty bytes that would become 800 gigabytes.
func.func @list_of_any_length(%arg0: tensor<2x3xf32>) -> tensor<3x2xf32> {
  // expected-error @below {{stablehlo.transpose has a list of type 'tensor<100000000000xi64>' as "permutation", which is longer than the 4 numbers that tensors of rank 2 take at most}}
  %0 = "stablehlo.transpose"(%arg0) {permutation = dense<0> : tensor<100000000000xi64>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// -----

func.func @list_of_uncountable_length(%arg0: tensor<2x3xf32>) -> tensor<3x2xf32> {
  // expected-error @below {{has a list of type 'tensor<4294967296x4294967296xi64>' as "permutation", which is longer than the 4 numbers}}
  %0 = "stablehlo.transpose"(%arg0) {permutation = dense<0> : tensor<4294967296x4294967296xi64>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}
