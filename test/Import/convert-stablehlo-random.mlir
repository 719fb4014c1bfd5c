// RUN: dist-opt %s --dist-import-convert-stablehlo | FileCheck %s --implicit-check-not=stablehlo

// Tests that bits as another type, and random bits, become arithmetic on integers; what it computes is tested against JAX in
// random-numerics.test.

// CHECK-LABEL: func @bits_of_one_width
func.func @bits_of_one_width(%arg0: tensor<4xui32>, %arg1: tensor<4xui32>) -> (tensor<4xf32>, tensor<4xui32>) {
  // CHECK: %[[FLOATS:.*]] = net.bitcast_convert %arg0 : tensor<4xui32> -> tensor<4xf32>
  %0 = stablehlo.bitcast_convert %arg0 : (tensor<4xui32>) -> tensor<4xf32>
  %1 = stablehlo.bitcast_convert %arg1 : (tensor<4xui32>) -> tensor<4xui32>
  // CHECK: return %[[FLOATS]], %arg1
  return %0, %1 : tensor<4xf32>, tensor<4xui32>
}

// CHECK-LABEL: func @bits_joined_and_divided
func.func @bits_joined_and_divided(%arg0: tensor<3x2xi32>) -> tensor<3x4xi16> {
  // CHECK: %[[BITS:.*]] = net.bitcast_convert %arg0 : tensor<3x2xi32> -> tensor<3x2xui32>
  // CHECK: %[[LOW:.*]] = net.slice %[[BITS]] starts = [0, 0] limits = [3, 1]
  // CHECK: %[[HIGH:.*]] = net.slice %[[BITS]] starts = [0, 1] limits = [3, 2]
  // CHECK: net.shift_left
  // CHECK: %[[JOINED:.*]] = net.or
  // CHECK: %[[FLOATS:.*]] = net.bitcast_convert %[[JOINED]] : tensor<3xui64> -> tensor<3xf64>
  %0 = stablehlo.bitcast_convert %arg0 : (tensor<3x2xi32>) -> tensor<3xf64>
  // CHECK: %[[AGAIN:.*]] = net.bitcast_convert %[[FLOATS]] : tensor<3xf64> -> tensor<3xui64>
  // CHECK: %[[REPEATED:.*]] = net.broadcast %[[AGAIN]] dims = [0]
  // CHECK: net.iota dim = 1 : tensor<3x4xui64>
  // CHECK: net.shift_right_logical %[[REPEATED]], %{{.*}} : tensor<3x4xui64>
  // CHECK: net.convert %{{.*}} : tensor<3x4xui64> -> tensor<3x4xui16>
  // CHECK: net.bitcast_convert %{{.*}} : tensor<3x4xui16> -> tensor<3x4xi16>
  %1 = "stablehlo.bitcast_convert"(%0) : (tensor<3xf64>) -> tensor<3x4xi16>
  return %1 : tensor<3x4xi16>
}

// An element's number, in the order of rows, says what it draws: its block of four is the number divided by four.
// CHECK-LABEL: func @random_bits
func.func @random_bits(%arg0: tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui32>) {
  // CHECK: %[[COLUMN:.*]] = net.iota dim = 1 {net.scope = "drop"} : tensor<3x5xui64>
  // CHECK: %[[ROW:.*]] = net.iota dim = 0 {net.scope = "drop"} : tensor<3x5xui64>
  // CHECK: %[[FIVE:.*]] = net.constant {net.scope = "drop"} dense<5>
  // CHECK: %[[FIRST:.*]] = net.multiply %[[ROW]], %[[FIVE]]
  // CHECK: %[[NUMBER:.*]] = net.add %[[COLUMN]], %[[FIRST]]
  // CHECK: %[[TWO:.*]] = net.constant {net.scope = "drop"} dense<2>
  // CHECK: net.shift_right_logical %[[NUMBER]], %[[TWO]]
  // CHECK: %[[STATE:.*]] = net.concatenate
  // CHECK: return %[[STATE]], %{{.*}}
  %0, %1 = "stablehlo.rng_bit_generator"(%arg0) <{rng_algorithm = #stablehlo<rng_algorithm PHILOX>}> {net.scope = "drop"}
      : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui32>)
  return %0, %1 : tensor<2xui64>, tensor<3x5xui32>
}

// CHECK-LABEL: func @short_form
func.func @short_form(%arg0: tensor<2xui64>) -> tensor<ui64> {
  %0, %1 = stablehlo.rng_bit_generator %arg0, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<ui64>)
  return %1 : tensor<ui64>
}

// 16 bits are computed in f32, in two steps of two error functions each.
// CHECK-LABEL: func @inverse_of_the_error_function
func.func @inverse_of_the_error_function(%arg0: tensor<4xbf16>) -> tensor<4xbf16> {
  // CHECK: net.convert %arg0 : tensor<4xbf16> -> tensor<4xf32>
  // CHECK-COUNT-2: net.erfc
  // CHECK-NOT: net.erfc
  // CHECK: net.convert %{{.*}} : tensor<4xf32> -> tensor<4xbf16>
  %0 = chlo.erf_inv %arg0 : tensor<4xbf16> -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}
