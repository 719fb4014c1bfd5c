// RUN: dist-opt %s --dist-import-convert-stablehlo | FileCheck %s

// Tests that constants keep their bits in every spelling.

// CHECK-LABEL: func @constants
func.func @constants() -> (tensor<3xui8>, tensor<2x2xbf16>, tensor<2xi1>, tensor<f16>, tensor<f32>, tensor<f64>, tensor<2xf32>, tensor<0x3xf32>, tensor<2x2xi32>, tensor<i1>) {
  // CHECK-NEXT: net.constant dense<[1, 2, 255]> : tensor<3xui8>
  %0 = stablehlo.constant dense<[1, 2, 255]> : tensor<3xui8>
  // CHECK-NEXT: net.constant dense<{{\[}}[1.500000e+00, 0x7FC0], [0x7F80, 0xFF80]]> : tensor<2x2xbf16>
  %1 = stablehlo.constant dense<[[1.500000e+00, 0x7FC0], [0x7F80, 0xFF80]]> : tensor<2x2xbf16>
  // CHECK-NEXT: net.constant dense<[true, false]> : tensor<2xi1>
  %2 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  // CHECK-NEXT: net.constant dense<0x7C00> : tensor<f16>
  %3 = stablehlo.constant dense<0x7C00> : tensor<f16>
  // CHECK-NEXT: net.constant dense<0xFF800000> : tensor<f32>
  %4 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  // CHECK-NEXT: net.constant dense<-1.7976931348623157E+308> : tensor<f64>
  %5 = stablehlo.constant dense<-1.7976931348623157E+308> : tensor<f64>
  // CHECK-NEXT: net.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  %6 = stablehlo.constant dense<"0x0000803F00000040"> : tensor<2xf32>
  // CHECK-NEXT: net.constant dense<> : tensor<0x3xf32>
  %7 = stablehlo.constant dense<> : tensor<0x3xf32>
  // CHECK-NEXT: net.constant dense<-7> : tensor<2x2xi32>
  %8 = "stablehlo.constant"() <{value = dense<-7> : tensor<2x2xi32>}> : () -> tensor<2x2xi32>
  // CHECK-NEXT: net.constant dense<true> : tensor<i1>
  %9 = stablehlo.constant dense<true> : tensor<i1>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9 : tensor<3xui8>, tensor<2x2xbf16>, tensor<2xi1>, tensor<f16>, tensor<f32>, tensor<f64>, tensor<2xf32>, tensor<0x3xf32>, tensor<2x2xi32>, tensor<i1>
}

// CHECK-LABEL: func @iota
func.func @iota() -> (tensor<4x8xi32>, tensor<40xf32>) {
  // CHECK-NEXT: net.iota dim = 1 : tensor<4x8xi32>
  %0 = stablehlo.iota dim = 1 : tensor<4x8xi32>
  // CHECK-NEXT: net.iota dim = 0 : tensor<40xf32>
  %1 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<40xf32>
  return %0, %1 : tensor<4x8xi32>, tensor<40xf32>
}

// CHECK-LABEL: func @broadcast
func.func @broadcast(%arg0: tensor<f32>, %arg1: tensor<8xf32>, %arg2: tensor<4x2xf32>) -> (tensor<4xf32>, tensor<3x8xf32>, tensor<2x3x4xf32>) {
  // CHECK-NEXT: net.broadcast %arg0 dims = [] : tensor<f32> -> tensor<4xf32>
  %0 = stablehlo.broadcast_in_dim %arg0, dims = [] : (tensor<f32>) -> tensor<4xf32>
  // CHECK-NEXT: net.broadcast %arg1 dims = [1] : tensor<8xf32> -> tensor<3x8xf32>
  %1 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64: 1>}> : (tensor<8xf32>) -> tensor<3x8xf32>
  // CHECK-NEXT: net.broadcast %arg2 dims = [2, 0] : tensor<4x2xf32> -> tensor<2x3x4xf32>
  %2 = stablehlo.broadcast_in_dim %arg2, dims = [2, 0] : (tensor<4x2xf32>) -> tensor<2x3x4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<3x8xf32>, tensor<2x3x4xf32>
}

// Tests that a dimension of size 1 that becomes larger is reshaped away.

// CHECK-LABEL: func @broadcast_expands
func.func @broadcast_expands(%arg0: tensor<8x1x4xf32>) -> tensor<8x16x4xf32> {
  // CHECK-NEXT: %[[SQUEEZED:.*]] = net.reshape %arg0 : tensor<8x1x4xf32> -> tensor<8x4xf32>
  // CHECK-NEXT: net.broadcast %[[SQUEEZED]] dims = [0, 2] : tensor<8x4xf32> -> tensor<8x16x4xf32>
  %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1, 2] : (tensor<8x1x4xf32>) -> tensor<8x16x4xf32>
  return %0 : tensor<8x16x4xf32>
}

// Tests that what repeats nothing is a reshape, and that it is not one where it transposes.

// CHECK-LABEL: func @broadcast_repeats_nothing
func.func @broadcast_repeats_nothing(%arg0: tensor<8x4xf32>) -> (tensor<8x4x1xf32>, tensor<4x8xf32>, tensor<8x4xf32>) {
  // CHECK-NEXT: %[[UNIT:.*]] = net.reshape %arg0 : tensor<8x4xf32> -> tensor<8x4x1xf32>
  %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1] : (tensor<8x4xf32>) -> tensor<8x4x1xf32>
  // CHECK-NEXT: %[[TURNED:.*]] = net.broadcast %arg0 dims = [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
  %1 = stablehlo.broadcast_in_dim %arg0, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %2 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1] : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: return %[[UNIT]], %[[TURNED]], %arg0
  return %0, %1, %2 : tensor<8x4x1xf32>, tensor<4x8xf32>, tensor<8x4xf32>
}

// Tests that JAX's two steps, to rank and then to size, are joined.

// CHECK-LABEL: func @broadcast_of_broadcast
func.func @broadcast_of_broadcast(%arg0: tensor<96xf32>, %arg1: tensor<i32>) -> (tensor<8x16x96xf32>, tensor<2x5x3xi32>) {
  // CHECK-NEXT: net.broadcast %arg0 dims = [2] : tensor<96xf32> -> tensor<8x16x96xf32>
  %0 = stablehlo.broadcast_in_dim %arg0, dims = [2] : (tensor<96xf32>) -> tensor<1x1x96xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2] : (tensor<1x1x96xf32>) -> tensor<8x16x96xf32>
  // CHECK-NEXT: net.broadcast %arg1 dims = [] : tensor<i32> -> tensor<2x5x3xi32>
  %2 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<i32>) -> tensor<3x2xi32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [2, 0] : (tensor<3x2xi32>) -> tensor<2x5x3xi32>
  // CHECK-NEXT: return
  return %1, %3 : tensor<8x16x96xf32>, tensor<2x5x3xi32>
}

// CHECK-LABEL: func @broadcast_of_transposing_broadcast
func.func @broadcast_of_transposing_broadcast(%arg0: tensor<3x2xf32>) -> tensor<7x2x5x3xf32> {
  // CHECK-NEXT: net.broadcast %arg0 dims = [3, 1] : tensor<3x2xf32> -> tensor<7x2x5x3xf32>
  %0 = stablehlo.broadcast_in_dim %arg0, dims = [2, 0] : (tensor<3x2xf32>) -> tensor<2x5x3xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [1, 2, 3] : (tensor<2x5x3xf32>) -> tensor<7x2x5x3xf32>
  return %1 : tensor<7x2x5x3xf32>
}

// CHECK-LABEL: func @broadcast_of_nothing
func.func @broadcast_of_nothing(%arg0: tensor<0xf32>, %arg1: tensor<f32>) -> (tensor<2x0xf32>, tensor<0x3xf32>) {
  // CHECK-NEXT: net.broadcast %arg0 dims = [1] : tensor<0xf32> -> tensor<2x0xf32>
  %0 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<0xf32>) -> tensor<2x0xf32>
  // CHECK-NEXT: net.broadcast %arg1 dims = [] : tensor<f32> -> tensor<0x3xf32>
  %1 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<0x3xf32>
  return %0, %1 : tensor<2x0xf32>, tensor<0x3xf32>
}

// CHECK-LABEL: func @reshape
func.func @reshape(%arg0: tensor<2x6xf32>) -> (tensor<12xf32>, tensor<2x6xf32>) {
  // CHECK-NEXT: %[[FLAT:.*]] = net.reshape %arg0 : tensor<2x6xf32> -> tensor<12xf32>
  %0 = stablehlo.reshape %arg0 : (tensor<2x6xf32>) -> tensor<3x4xf32>
  %1 = stablehlo.reshape %0 : (tensor<3x4xf32>) -> tensor<12xf32>
  %2 = stablehlo.reshape %1 : (tensor<12xf32>) -> tensor<2x6xf32>
  // CHECK-NEXT: return %[[FLAT]], %arg0
  return %1, %2 : tensor<12xf32>, tensor<2x6xf32>
}

// CHECK-LABEL: func @moves
func.func @moves(%arg0: tensor<4x8xf32>, %arg1: tensor<f32>) -> (tensor<8x4xf32>, tensor<4x3xf32>, tensor<0x8xf32>, tensor<7x9xf32>, tensor<12x8xf32>) {
  // CHECK-NEXT: net.transpose %arg0 dims = [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: net.slice %arg0 starts = [0, 2] limits = [4, 8] steps = [1, 2]
  %1 = stablehlo.slice %arg0 [0:4, 2:8:2] : (tensor<4x8xf32>) -> tensor<4x3xf32>
  // CHECK-NEXT: net.slice %arg0 starts = [0, 0] limits = [0, 8] steps = [1, 1]
  %2 = "stablehlo.slice"(%arg0) <{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 0, 8>, strides = array<i64: 1, 1>}> : (tensor<4x8xf32>) -> tensor<0x8xf32>
  // CHECK-NEXT: net.pad %arg0, %arg1 low = [0, -1] high = [0, 2] interior = [1, 0]
  %3 = stablehlo.pad %arg0, %arg1, low = [0, -1], high = [0, 2], interior = [1, 0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<7x9xf32>
  // CHECK-NEXT: net.concatenate %arg0, %arg0, %arg0 dim = 0
  %4 = stablehlo.concatenate %arg0, %arg0, %arg0, dim = 0 : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<12x8xf32>
  return %0, %1, %2, %3, %4 : tensor<8x4xf32>, tensor<4x3xf32>, tensor<0x8xf32>, tensor<7x9xf32>, tensor<12x8xf32>
}
