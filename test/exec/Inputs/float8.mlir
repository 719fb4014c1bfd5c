// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
module {
  func.func public @main(%w: tensor<8x6xf8E4M3FN> {tf.aliasing_output = 0 : i32} loc("p['w']"), %x: tensor<4x8xf32> loc("x")) -> (tensor<8x6xf8E4M3FN> {jax.result_info = "result['w']"}, tensor<4x6xf32>, tensor<8x6xf8E5M2>) {
    %0 = stablehlo.convert %w : (tensor<8x6xf8E4M3FN>) -> tensor<8x6xf32>
    %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
    %2 = stablehlo.reverse %w, dims = [0] : tensor<8x6xf8E4M3FN>
    %3 = stablehlo.add %w, %2 : tensor<8x6xf8E4M3FN>
    %4 = stablehlo.convert %0 : (tensor<8x6xf32>) -> tensor<8x6xf8E5M2>
    return %3, %1, %4 : tensor<8x6xf8E4M3FN>, tensor<4x6xf32>, tensor<8x6xf8E5M2>
  }
}
