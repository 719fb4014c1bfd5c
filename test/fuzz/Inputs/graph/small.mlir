// A loss with a little of everything that Import reads, in both forms, for the strategies beside it.
#loc1 = loc("p['layer0']['kernel']")
#loc2 = loc("jit(loss)/layer0/dot_general"("model.py":12:3 to :17))
#loc3 = loc(callsite(#loc2 at "model.py":30:1))
module @jit_loss attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<4x8xf32> loc(#loc1), %arg1: tensor<8xf32> loc("p['layer0']['bias']"), %arg2: tensor<8x4xf32> loc("p['layer1']['kernel']"), %arg3: tensor<8x4xf32> loc("x"), %arg4: tensor<8xi32> loc("y")) -> (tensor<f32> {jax.result_info = "loss"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %cst_1 = stablehlo.constant dense<"0x0000803F000000400000404000008040"> : tensor<4xf32>
    %c = stablehlo.constant dense<[0, 3]> : tensor<2xi32>
    %0 = stablehlo.dot_general %arg3, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32> loc(#loc2)
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<8xf32>) -> tensor<8x8xf32>
    %2 = stablehlo.add %0, %1 : tensor<8x8xf32> loc(#loc3)
    %3 = call @relu(%2) : (tensor<8x8xf32>) -> tensor<8x8xf32> loc(#loc4)
    %4 = stablehlo.dot_general %3, %arg2, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %5 = stablehlo.reduce(%4 init: %cst_0) applies stablehlo.maximum across dimensions = [1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<8xf32>) -> tensor<8x4xf32>
    %7 = stablehlo.subtract %4, %6 : tensor<8x4xf32>
    %8 = "stablehlo.exponential"(%7) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %9 = "stablehlo.reduce"(%8, %cst) <{dimensions = array<i64: 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
    %10 = stablehlo.iota dim = 1 : tensor<8x4xi32>
    %11 = stablehlo.broadcast_in_dim %arg4, dims = [0] : (tensor<8xi32>) -> tensor<8x4xi32>
    %12 = stablehlo.compare EQ, %10, %11, SIGNED : (tensor<8x4xi32>, tensor<8x4xi32>) -> tensor<8x4xi1>
    %13 = stablehlo.broadcast_in_dim %cst_1, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
    %14 = stablehlo.multiply %7, %13 : tensor<8x4xf32>
    %15 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x4xf32>
    %16 = stablehlo.select %12, %14, %15 : tensor<8x4xi1>, tensor<8x4xf32>
    %17 = stablehlo.transpose %16, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
    %18 = stablehlo.slice %17 [0:4, 2:8:2] : (tensor<4x8xf32>) -> tensor<4x3xf32>
    %19 = stablehlo.pad %18, %cst, low = [0, 1], high = [0, 1], interior = [0, 1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x7xf32>
    %20 = stablehlo.concatenate %18, %19, dim = 1 : (tensor<4x3xf32>, tensor<4x7xf32>) -> tensor<4x10xf32>
    %21 = stablehlo.reshape %c : (tensor<2xi32>) -> tensor<2x1xi32>
    %22 = "stablehlo.gather"(%20, %21) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 10>}> : (tensor<4x10xf32>, tensor<2x1xi32>) -> tensor<2x10xf32>
    %23 = stablehlo.reduce(%22 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x10xf32>, tensor<f32>) -> tensor<f32>
    %24 = stablehlo.log %9 : tensor<8xf32>
    %25 = stablehlo.reduce(%24 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %c_3 = stablehlo.constant dense<3> : tensor<i32>
    %c_4 = stablehlo.constant dense<1> : tensor<i32>
    %26:2 = stablehlo.while(%iter = %c_2, %sum = %23) : tensor<i32>, tensor<f32>
     cond {
      %28 = stablehlo.compare LT, %iter, %c_3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %28 : tensor<i1>
    } do {
      %28 = stablehlo.convert %iter : (tensor<i32>) -> tensor<f32>
      %29 = func.call @step(%sum, %28) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %30 = stablehlo.add %iter, %c_4 : tensor<i32>
      stablehlo.return %30, %29 : tensor<i32>, tensor<f32>
    }
    %27 = stablehlo.subtract %25, %26#1 : tensor<f32>
    return %27 : tensor<f32>
  }
  func.func private @relu(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<8x8xf32> loc(#loc5)
    return %1 : tensor<8x8xf32>
  }
  func.func private @step(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<f32> {
    %cst = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %0 = stablehlo.multiply %arg0, %cst : tensor<f32>
    %1 = chlo.square %arg1 : tensor<f32> -> tensor<f32>
    %2 = stablehlo.add %0, %1 : tensor<f32>
    return %2 : tensor<f32>
  }
}
#loc = loc(unknown)
#loc4 = loc("jit(loss)/act/jit(relu)"(#loc))
#loc5 = loc(fused["jit(relu)/max", "model.py":5:1])
