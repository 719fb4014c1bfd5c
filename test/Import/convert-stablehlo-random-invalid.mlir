// RUN: dist-opt %s --dist-import-convert-stablehlo -verify-diagnostics -split-input-file

func.func @another_shape(%arg0: tensor<4xui32>) -> tensor<2x2xf32> {
  // expected-error @below {{stablehlo.bitcast_convert reads the bits of 'tensor<4xui32>' as 'tensor<2x2xf32>'}}
  %0 = stablehlo.bitcast_convert %arg0 : (tensor<4xui32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// -----

func.func @three_halves(%arg0: tensor<4x3xui32>) -> tensor<4xui64> {
  // expected-error @below {{stablehlo.bitcast_convert reads the bits of 'tensor<4x3xui32>' as 'tensor<4xui64>'}}
  %0 = stablehlo.bitcast_convert %arg0 : (tensor<4x3xui32>) -> tensor<4xui64>
  return %0 : tensor<4xui64>
}

// -----

func.func @scalar_joined(%arg0: tensor<ui32>) -> tensor<ui64> {
  // expected-error @below {{stablehlo.bitcast_convert reads the bits of 'tensor<ui32>' as 'tensor<ui64>'}}
  %0 = stablehlo.bitcast_convert %arg0 : (tensor<ui32>) -> tensor<ui64>
  return %0 : tensor<ui64>
}

// -----

func.func @truth_values(%arg0: tensor<8xi1>) -> tensor<ui8> {
  // expected-error @below {{stablehlo.bitcast_convert reads the bits of 'tensor<8xi1>' as 'tensor<ui8>'}}
  %0 = stablehlo.bitcast_convert %arg0 : (tensor<8xi1>) -> tensor<ui8>
  return %0 : tensor<ui8>
}

// -----

func.func @another_algorithm(%arg0: tensor<2xui64>) -> tensor<4xui32> {
  // expected-error @below {{stablehlo.rng_bit_generator draws by MERSENNE, which is not DEFAULT, PHILOX or THREE_FRY}}
  %0, %1 = stablehlo.rng_bit_generator %arg0, algorithm = MERSENNE : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  return %1 : tensor<4xui32>
}

// -----

func.func @another_state(%arg0: tensor<3xui64>) -> tensor<4xui32> {
  // expected-error @below {{stablehlo.rng_bit_generator has a state of 'tensor<3xui64>', not of tensor<2xui64>}}
  %0, %1 = stablehlo.rng_bit_generator %arg0, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4xui32>)
  return %1 : tensor<4xui32>
}

// -----

func.func @random_floats(%arg0: tensor<2xui64>) -> tensor<4xf32> {
  // expected-error @below {{stablehlo.rng_bit_generator turns a state of 'tensor<2xui64>' into 'tensor<2xui64>' and bits of 'tensor<4xf32>'}}
  %0, %1 = stablehlo.rng_bit_generator %arg0, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xf32>)
  return %1 : tensor<4xf32>
}

// -----

func.func @towards_another_type(%arg0: tensor<4xf32>, %arg1: tensor<4xf64>) -> tensor<4xf32> {
  // expected-error @below {{chlo.next_after goes from 'tensor<4xf32>' towards 'tensor<4xf64>' into 'tensor<4xf32>'}}
  %0 = chlo.next_after %arg0, %arg1 : tensor<4xf32>, tensor<4xf64> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @inverse_of_integers(%arg0: tensor<4xi32>) -> tensor<4xi32> {
  // expected-error @below {{chlo.erf_inv is of 'tensor<4xi32>', not of floats}}
  %0 = chlo.erf_inv %arg0 : tensor<4xi32> -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
