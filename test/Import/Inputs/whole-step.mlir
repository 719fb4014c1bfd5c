func.func public @main(%arg0: tensor<4xf32> {net.name = "state.params.w"}, %arg1: tensor<4xf32> {net.name = "state.opt.mu.w"}, %arg2: tensor<2xui32> {net.name = "key"}, %arg3: tensor<4xf32> {net.name = "x"})
    -> (tensor<4xf32> {net.name = "0.params.w"}, tensor<4xf32> {net.name = "0.opt.mu.w"}, tensor<2xui32> {net.name = "1"}, tensor<f32> {net.name = "2.loss"}) {
  %0 = net.add %arg1, %arg3 : tensor<4xf32>
  %1 = net.subtract %arg0, %0 : tensor<4xf32>
  %2 = net.reduce sum %1 dims = [0] : tensor<4xf32> -> tensor<f32>
  %3 = net.add %arg2, %arg2 : tensor<2xui32>
  return %1, %0, %3, %2 : tensor<4xf32>, tensor<4xf32>, tensor<2xui32>, tensor<f32>
}
