// What the program of a rank in collectives.partitioned.mlir means for the whole of its argument.
module {
  func.func public @main(%x: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xui32>, tensor<8x4xf32>, tensor<4x4xf32>, tensor<8x4xf32>) {
    %0 = stablehlo.slice %x [0:2, 0:4] : (tensor<8x4xf32>) -> tensor<2x4xf32>
    %1 = stablehlo.slice %x [2:4, 0:4] : (tensor<8x4xf32>) -> tensor<2x4xf32>
    %2 = stablehlo.slice %x [4:6, 0:4] : (tensor<8x4xf32>) -> tensor<2x4xf32>
    %3 = stablehlo.slice %x [6:8, 0:4] : (tensor<8x4xf32>) -> tensor<2x4xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<2x4xf32>
    %broadcast = stablehlo.concatenate %2, %1, %2, %1, dim = 0 : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
    %permuted = stablehlo.concatenate %zero, %0, %zero, %2, dim = 0 : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
    %ranks = stablehlo.iota dim = 0 : tensor<4xui32>
    %gathered = stablehlo.concatenate %0, %2, %1, %3, dim = 0 : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
    %upper = stablehlo.maximum %0, %1 : tensor<2x4xf32>
    %lower = stablehlo.maximum %2, %3 : tensor<2x4xf32>
    %scattered = stablehlo.concatenate %upper, %lower, dim = 0 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
    %parts = stablehlo.reshape %x : (tensor<8x4xf32>) -> tensor<4x2x4xf32>
    %turned = stablehlo.transpose %parts, dims = [2, 1, 0] : (tensor<4x2x4xf32>) -> tensor<4x2x4xf32>
    %exchanged = stablehlo.reshape %turned : (tensor<4x2x4xf32>) -> tensor<8x4xf32>
    return %broadcast, %permuted, %ranks, %gathered, %scattered, %exchanged : tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xui32>, tensor<8x4xf32>, tensor<4x4xf32>, tensor<8x4xf32>
  }
}
