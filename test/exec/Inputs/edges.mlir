module @edges {
  func.func public @main(
      %table: tensor<64xf32> loc("table"), %at: tensor<3xi32> loc("at"), %x: tensor<8xf32> loc("x"), %half: tensor<8xf16> loc("half"), %wide: tensor<8x37xf32> loc("wide"),
      %far: tensor<4xui64> loc("far"), %rows: tensor<5xui8> loc("rows"), %updates: tensor<5x2xf32> loc("updates"), %a: tensor<4x2x2xf64> loc("a"))
      -> (tensor<3xf32> {jax.result_info = "taken"}, tensor<f32> {jax.result_info = "most"}, tensor<f32> {jax.result_info = "least"},
          tensor<8xf32> {jax.result_info = "most_wide"}, tensor<8xf32> {jax.result_info = "least_wide"}, tensor<f16> {jax.result_info = "most_half"}, tensor<4xf32> {jax.result_info = "clamped"}, tensor<300x2xf32> {jax.result_info = "scattered"},
          tensor<4x2x2xf64> {jax.result_info = "factor"}, tensor<4xi32> {jax.result_info = "info"}, tensor<4x2x2xf64> {jax.result_info = "upper"}) {
    // -0 comes out of a table whose rows other ranks hold.
    %at1 = stablehlo.reshape %at : (tensor<3xi32>) -> tensor<3x1xi32>
    %taken = "stablehlo.gather"(%table, %at1) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<64xf32>, tensor<3x1xi32>) -> tensor<3xf32>
    // +0 is above -0 whichever rank has it.
    %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %highest = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %most = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
    %negated = stablehlo.negate %x : tensor<8xf32>
    %least = stablehlo.reduce(%negated init: %highest) applies stablehlo.minimum across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
    // NaN is above and below all numbers, wherever it is.
    %most_wide = stablehlo.reduce(%wide init: %lowest) applies stablehlo.maximum across dimensions = [1] : (tensor<8x37xf32>, tensor<f32>) -> tensor<8xf32>
    %least_wide = stablehlo.reduce(%wide init: %highest) applies stablehlo.minimum across dimensions = [1] : (tensor<8x37xf32>, tensor<f32>) -> tensor<8xf32>
    %lowest_half = stablehlo.constant dense<0xFC00> : tensor<f16>
    %most_half = stablehlo.reduce(%half init: %lowest_half) applies stablehlo.maximum across dimensions = [0] : (tensor<8xf16>, tensor<f16>) -> tensor<f16>
    // Positions from 2^63 on are beyond the table, not before it.
    %far1 = stablehlo.reshape %far : (tensor<4xui64>) -> tensor<4x1xui64>
    %clamped = "stablehlo.gather"(%table, %far1) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<64xf32>, tensor<4x1xui64>) -> tensor<4xf32>
    // The last rank has no update, and every position that 8 bits can name is a row.
    %zero = stablehlo.constant dense<0.0> : tensor<300x2xf32>
    %one = stablehlo.constant dense<1.0> : tensor<5x2xf32>
    %more = stablehlo.add %updates, %one : tensor<5x2xf32>
    %rows1 = stablehlo.reshape %rows : (tensor<5xui8>) -> tensor<5x1xui8>
    %scattered = "stablehlo.scatter"(%zero, %rows1, %more) <{indices_are_sorted = false, unique_indices = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<300x2xf32>, tensor<5x1xui8>, tensor<5x2xf32>) -> tensor<300x2xf32>
    // A matrix that is not positive definite has no factor, as JAX asks LAPACK on a CPU and as XLA computes it.
    %0:2 = stablehlo.custom_call @lapack_dpotrf_ffi(%a) {mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>], api_version = 4 : i32} : (tensor<4x2x2xf64>) -> (tensor<4x2x2xf64>, tensor<4xi32>)
    %none = stablehlo.constant dense<0> : tensor<4xi32>
    %ok = stablehlo.compare EQ, %0#1, %none, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %all = stablehlo.broadcast_in_dim %ok, dims = [0] : (tensor<4xi1>) -> tensor<4x2x2xi1>
    %nan = stablehlo.constant dense<0x7FF8000000000000> : tensor<4x2x2xf64>
    %factor = stablehlo.select %all, %0#0, %nan : tensor<4x2x2xi1>, tensor<4x2x2xf64>
    %upper = stablehlo.cholesky %a, lower = false : tensor<4x2x2xf64>
    return %taken, %most, %least, %most_wide, %least_wide, %most_half, %clamped, %scattered, %factor, %0#1, %upper : tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<8xf32>, tensor<8xf32>, tensor<f16>, tensor<4xf32>, tensor<300x2xf32>, tensor<4x2x2xf64>, tensor<4xi32>, tensor<4x2x2xf64>
  }
}
