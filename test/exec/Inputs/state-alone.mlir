// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
module {
  func.func public @main(%w: tensor<4x6xf32> {tf.aliasing_output = 0 : i32} loc("p['w']")) -> (tensor<4x6xf32> {jax.result_info = "result['w']"}) {
    %0 = stablehlo.tanh %w : tensor<4x6xf32>
    %1 = stablehlo.add %w, %0 : tensor<4x6xf32>
    return %1 : tensor<4x6xf32>
  }
}
