// RUN: dist-opt %s --dist-import-convert-stablehlo -verify-diagnostics -split-input-file

// Tests that what an elementwise operation cannot be is an error at its line.

func.func @unknown(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{operation stablehlo.while is not supported; docs/design/import.md lists the supported operations}}
  %0 = "stablehlo.while"(%arg0) ({}, {}) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @unknown_chlo(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{custom op 'chlo.ragged_dot' is not supported; docs/design/import.md lists the supported operations}}
  %0 = chlo.ragged_dot %arg0 : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @unknown_short_form(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{custom op 'stablehlo.case' is not supported; docs/design/import.md lists the supported operations}}
  %0 = stablehlo.case(%iterArg = %arg0) : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @dynamic(%arg0: tensor<4x?xf32>) -> tensor<4x?xf32> {
  // expected-error @below {{stablehlo.negate has a value of 'tensor<4x?xf32>', whose dimension 1 has no size; export with static shapes}}
  %0 = stablehlo.negate %arg0 : tensor<4x?xf32>
  return %0 : tensor<4x?xf32>
}

// -----

func.func @complex(%arg0: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  // expected-error @below {{stablehlo.negate has a value of 'tensor<4xcomplex<f32>>', whose elements are not known; f64, f32, f16, bf16, floats of 8 bits with a mantissa, i1 and integers of 8, 16, 32 and 64 bits are}}
  %0 = stablehlo.negate %arg0 : tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}

// -----

func.func @tuple(%arg0: tuple<tensor<4xf32>>) -> tensor<4xf32> {
  // expected-error @below {{stablehlo.negate has a value of 'tuple<tensor<4xf32>>', which is not a tensor of static shape}}
  %0 = stablehlo.negate %arg0 : (tuple<tensor<4xf32>>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @encoded(%arg0: tensor<4xf32, 3>) -> tensor<4xf32, 3> {
  // expected-error @below {{stablehlo.negate has a value of 'tensor<4xf32, 3 : i64>', whose encoding is not known}}
  %0 = stablehlo.negate %arg0 : tensor<4xf32, 3>
  return %0 : tensor<4xf32, 3>
}

// -----

func.func @too_large(%arg0: tensor<4294967296x4294967296x0xf32>) -> tensor<4294967296x4294967296x0xf32> {
  // expected-error @below {{stablehlo.negate has a value of 'tensor<4294967296x4294967296x0xf32>', which has more elements than 60 bits count}}
  %0 = stablehlo.negate %arg0 : tensor<4294967296x4294967296x0xf32>
  return %0 : tensor<4294967296x4294967296x0xf32>
}

// -----

func.func @mixed_types(%arg0: tensor<4xf32>, %arg1: tensor<4xi32>) -> tensor<4xf32> {
  // expected-error @below {{stablehlo.add combines an operand of 'tensor<4xi32>' into a result of 'tensor<4xf32>'}}
  %0 = "stablehlo.add"(%arg0, %arg1) : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @wrong_count(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{stablehlo.add has 1 operands and 1 results, not 2 and 1}}
  %0 = "stablehlo.add"(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @convert_shape(%arg0: tensor<4xf32>) -> tensor<8xf64> {
  // expected-error @below {{stablehlo.convert combines an operand of 'tensor<4xf32>' into a result of 'tensor<8xf64>'}}
  %0 = stablehlo.convert %arg0 : (tensor<4xf32>) -> tensor<8xf64>
  return %0 : tensor<8xf64>
}

// -----

func.func @is_finite_of_integers(%arg0: tensor<4xi32>) -> tensor<4xi1> {
  // expected-error @below {{stablehlo.is_finite turns 'tensor<4xi32>' into 'tensor<4xi1>'}}
  %0 = stablehlo.is_finite %arg0 : (tensor<4xi32>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// -----

func.func @compare_kind(%arg0: tensor<4xi32>) -> tensor<4xi1> {
  // expected-error @below {{stablehlo.compare compares elements of 'i32' as UNSIGNED, not as SIGNED}}
  %0 = stablehlo.compare LT, %arg0, %arg0, UNSIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// -----

func.func @compare_direction(%arg0: tensor<4xi32>) -> tensor<4xi1> {
  // expected-error @below {{stablehlo.compare compares in direction NEAR, which is not EQ, NE, LT, LE, GT or GE}}
  %0 = stablehlo.compare NEAR, %arg0, %arg0 : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// -----

func.func @compare_without_direction(%arg0: tensor<4xi32>) -> tensor<4xi1> {
  // expected-error @below {{stablehlo.compare has no attribute "comparison_direction"}}
  %0 = "stablehlo.compare"(%arg0, %arg0) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// -----

func.func @compare_types(%arg0: tensor<4xi32>, %arg1: tensor<4xf32>) -> tensor<4xi1> {
  // expected-error @below {{stablehlo.compare compares 'tensor<4xi32>' with 'tensor<4xf32>' into 'tensor<4xi1>'}}
  %0 = stablehlo.compare LT, %arg0, %arg1 : (tensor<4xi32>, tensor<4xf32>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// -----

func.func @select_shape(%arg0: tensor<2xi1>, %arg1: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error @below {{stablehlo.select selects by 'tensor<2xi1>' among 'tensor<3xf32>' and 'tensor<3xf32>' for 'tensor<3xf32>'}}
  %0 = stablehlo.select %arg0, %arg1, %arg1 : tensor<2xi1>, tensor<3xf32>
  return %0 : tensor<3xf32>
}
