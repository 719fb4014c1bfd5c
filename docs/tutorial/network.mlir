// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// loss = mean((relu(x · w1 + b1) · w2 + b2 - y)²), as JAX prints it.
module @jit_loss {
  func.func public @main(
      %w1: tensor<4x6xf32> loc("p['hidden']['kernel']"), %b1: tensor<6xf32> loc("p['hidden']['bias']"),
      %w2: tensor<6x2xf32> loc("p['out']['kernel']"), %b2: tensor<2xf32> loc("p['out']['bias']"),
      %x: tensor<8x4xf32> loc("x"), %y: tensor<8x2xf32> loc("y")) -> (tensor<f32> {jax.result_info = "loss"}) {
    %0 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32> loc("jit(loss)/hidden/dot_general")
    %1 = stablehlo.broadcast_in_dim %b1, dims = [1] : (tensor<6xf32>) -> tensor<8x6xf32> loc("jit(loss)/hidden/broadcast_in_dim")
    %2 = stablehlo.add %0, %1 : tensor<8x6xf32> loc("jit(loss)/hidden/add")
    %cst = stablehlo.constant dense<0.0> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x6xf32> loc("jit(loss)/hidden/broadcast_in_dim")
    %4 = stablehlo.maximum %2, %3 : tensor<8x6xf32> loc("jit(loss)/hidden/max")
    %5 = stablehlo.dot_general %4, %w2, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x2xf32>) -> tensor<8x2xf32> loc("jit(loss)/out/dot_general")
    %6 = stablehlo.broadcast_in_dim %b2, dims = [1] : (tensor<2xf32>) -> tensor<8x2xf32> loc("jit(loss)/out/broadcast_in_dim")
    %7 = stablehlo.add %5, %6 : tensor<8x2xf32> loc("jit(loss)/out/add")
    %8 = stablehlo.subtract %7, %y : tensor<8x2xf32> loc("jit(loss)/sub")
    %9 = stablehlo.multiply %8, %8 : tensor<8x2xf32> loc("jit(loss)/mul")
    %10 = stablehlo.reduce(%9 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x2xf32>, tensor<f32>) -> tensor<f32> loc("jit(loss)/reduce_sum")
    %n = stablehlo.constant dense<16.0> : tensor<f32>
    %11 = stablehlo.divide %10, %n : tensor<f32> loc("jit(loss)/div")
    return %11 : tensor<f32>
  }
}
